import { pageText } from './notices.ts'

let shown: HTMLDialogElement | null = null

/**
 * Asks the user whether to leave without saving.
 * @param leave called if they agree
 */
export function askToLeave(leave: () => void): void {
  closeLeaveDialog()
  const dialog = document.createElement('dialog')
  const title = document.createElement('h2')
  title.id = 'client-leave'
  title.textContent = pageText('leave')
  dialog.setAttribute('aria-labelledby', title.id)
  const stay = answer('stay', 'primary')
  const go = answer('goaway', 'danger')
  const buttons = document.createElement('div')
  buttons.append(stay, go)
  dialog.append(title, buttons)
  stay.addEventListener('click', () => dialog.close())
  go.addEventListener('click', () => {
    dialog.close()
    leave()
  })
  dialog.addEventListener('close', () => {
    dialog.remove()
    if (shown === dialog) shown = null
  })
  shown = dialog
  document.body.append(dialog)
  dialog.showModal()
}

/**
 * Call this when the form is replaced or the client has ended: closes the dialog, because there is nothing left to
 * decide.
 */
export function closeLeaveDialog(): void {
  shown?.close()
}

function answer(text: string, style: 'primary' | 'danger'): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = `button ${style}`
  button.textContent = pageText(text)
  return button
}
