import { type Control, controlsIn, isChanged, isControl, isOfTable } from './controls.ts'
import { pageText } from './notices.ts'

/** Whether the user has changed an input since the host last received all input. */
let isTyped = false
/** Whether the page may be left without asking, because a script or the user has decided to leave. */
let isLetGo = false

/** Shows "Unsaved changes" in forms that a button saves, as soon as the user changes an input. */
export function watchInput(root: HTMLElement): void {
  root.addEventListener('input', ({ target }) => {
    if (!isControl(target) || !isSavedInput(target)) return
    isTyped = true
    isLetGo = false
    showUnsaved(root)
  })
}

/** Call this when the host has received everything that was sent. Input that is still being typed was not sent. */
export function settleInput(root: HTMLElement): void {
  isTyped = controlsIn(root).some((control) => isSavedInput(control) && isChanged(control))
  showUnsaved(root)
}

/** Call this when another form is shown: forgets that the previous one has unsaved input. */
export function forgetInput(): void {
  isTyped = false
}

/** Call this before a script or the user leaves the page on purpose. The browser then shows no warning. */
export function letGo(): void {
  isLetGo = true
  removeEventListener('beforeunload', askBrowser)
}

/** Call this when the client has ended: removes the text "Unsaved changes", because nothing can be saved any more. */
export function endUnsaved(root: HTMLElement): void {
  letGo()
  root.querySelector('form[data-saves]')?.removeAttribute('data-saves')
  root.querySelector('.unsaved')?.remove()
}

export function isUnsaved(root: HTMLElement): boolean {
  const form = root.querySelector<HTMLElement>('form[data-saves]')
  return form !== null && (isTyped || form.dataset.unsaved !== undefined)
}

/** Updates the text in the form, and whether the browser asks before the page is closed or reloaded. */
export function showUnsaved(root: HTMLElement): void {
  const isShown = isUnsaved(root)
  const text = isShown ? pageText('unsaved') : ''
  const place = root.querySelector('.unsaved')
  // Don't set the same text again, because screen readers would repeat it.
  if (place !== null && place.textContent !== text) place.textContent = text
  // Browsers don't put a page with this listener into the back/forward cache, so add it only while it is needed.
  if (isShown && !isLetGo) addEventListener('beforeunload', askBrowser)
  else removeEventListener('beforeunload', askBrowser)
}

function askBrowser(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

function isSavedInput(control: Control): boolean {
  return control.dataset.element !== undefined && !isOfTable(control)
}
