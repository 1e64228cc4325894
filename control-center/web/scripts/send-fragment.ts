/**
 * Fills a form with `data-from-fragment` from the address's fragment, as `name=value`, and sends it. The fragment is
 * removed from the address, so that it stays neither in the history nor on the screen.
 */
export function sendFragment(): void {
  addEventListener('hashchange', askAgain)
  const form = document.querySelector<HTMLFormElement>('form[data-from-fragment]')
  if (form === null || location.hash.length < 2) return
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const field = form.elements.namedItem(name)
    if (field instanceof HTMLInputElement) field.value = value
  }
  history.replaceState(null, '', location.pathname)
  form.submit()
}

/** If an earlier link's page is still open, opening another link changes only the fragment, which loads no page. */
function askAgain(): void {
  if (location.hash.startsWith('#token=')) location.replace(`${location.pathname}?again${location.hash}`)
}
