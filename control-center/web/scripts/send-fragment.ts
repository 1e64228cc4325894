/**
 * A form with `data-from-fragment` is filled with what stands behind the "#" of the address, as `name=value`, and sent. The
 * address loses it, so that it stays neither in the history nor on the screen.
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

/** A link that is opened where the page of an earlier one is shown changes nothing but the fragment, which loads no page. */
function askAgain(): void {
  if (location.hash.startsWith('#token=')) location.replace(`${location.pathname}?again${location.hash}`)
}
