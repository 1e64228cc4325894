/** Reloads the previewed login page when one of the options beside it changes, without moving the focus. */
export function takeOverLoginPreview(): void {
  const form = document.querySelector<HTMLFormElement>('#login-preview-form')
  const frame = document.querySelector<HTMLIFrameElement>('#login-preview')
  if (form === null || frame === null) return
  const show = () => showPreview(form, frame)
  form.addEventListener('change', show)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    show()
  })
  // When the user navigates back to the page, the browser restores the options but loads the frame's original URL. So
  // show the preview again.
  show()
}

function showPreview(form: HTMLFormElement, frame: HTMLIFrameElement): void {
  const chosen = new URLSearchParams()
  for (const [name, value] of new FormData(form)) chosen.set(name, String(value))
  history.replaceState(null, '', `?${chosen}`)
  frame.className = `preview preview-${chosen.get('width')} preview-${chosen.get('scheme')}`
  chosen.delete('width')
  chosen.delete('scheme')
  const address = new URL(frame.src)
  address.search = chosen.toString()
  if (address.href === (frame.dataset.shown ?? frame.src)) return
  frame.dataset.shown = address.href
  // Don't use `src`, which would add each change to the browser's history.
  frame.contentWindow?.location.replace(address.href)
}
