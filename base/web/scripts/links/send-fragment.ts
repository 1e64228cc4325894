/**
 * Fills a form with `data-from-fragment` from the fragment of the URL, as `name=value`, and sends the form. It also
 * removes the fragment from the URL, so that the token isn't left in the history or on the screen.
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

/**
 * Loads the page again when its fragment changes. If the user opens a second link while the page is still open,
 * browsers change only the fragment and don't load the page.
 */
function askAgain(): void {
  if (location.hash.startsWith('#token=')) location.replace(`${location.pathname}?again${location.hash}`)
}
