import { pageText, showMessage } from './notices.ts'

type Answer = (proof: string | null) => void

let question: { readonly dialog: HTMLDialogElement; readonly listening: AbortController } | null = null
/**
 * The path in the last `confirm` frame. After a reconnect, the host may send the same frame again, although the user
 * has already answered it.
 */
let lastHref = ''

/**
 * Shows the platform's page for confirming the user's identity. The page is in an iframe, where the solution's style
 * sheet doesn't apply. This script doesn't read what the user enters there.
 * @param answer called once: with the proof from the iframe, or with null if the user closed the dialog
 */
export function askToConfirm(href: string, answer: Answer): void {
  if (href === lastHref) return
  closeConfirmDialog()
  lastHref = href
  const dialog = document.createElement('dialog')
  dialog.className = 'confirm'
  dialog.ariaLabel = pageText('confirm')
  const frame = document.createElement('iframe')
  frame.title = pageText('confirm')
  frame.src = href
  const close = document.createElement('button')
  close.type = 'button'
  close.className = 'dismiss'
  close.ariaLabel = pageText('cancel')
  close.textContent = '×'
  dialog.append(close, frame)

  /** Closing the dialog returns the focus to the button that was pressed. */
  const end = (proof: string | null) => {
    if (question?.dialog !== dialog) return
    closeConfirmDialog()
    answer(proof)
  }
  const resize = () => fitFrame(frame)
  close.addEventListener('click', () => end(null))
  dialog.addEventListener('close', () => end(null))
  frame.addEventListener('load', () => {
    const page = frame.contentDocument
    const proof = page?.querySelector<HTMLElement>('[data-confirmed]')?.dataset.confirmed
    if (proof !== undefined) return end(proof)
    if (page === null || page.querySelector('[data-confirming]') === null) {
      showMessage(pageText('notconfirmed'), 'error')
      return end(null)
    }
    page.querySelector('[data-cancel]')?.addEventListener('click', () => end(null))
    page.addEventListener('keydown', ({ key }) => key === 'Escape' && end(null))
    resize()
    page.querySelector<HTMLElement>('input:not([type=hidden], [hidden]), button')?.focus()
  })
  const listening = new AbortController()
  addEventListener('resize', resize, listening)
  question = { dialog, listening }
  document.body.append(dialog)
  dialog.showModal()
}

/** Call this when the client or the page has ended: closes the dialog, because there is nothing left to confirm. */
export function closeConfirmDialog(): void {
  const before = question
  question = null
  before?.listening.abort()
  before?.dialog.close()
  before?.dialog.remove()
}

/** Makes the iframe as high as its page, so that only the dialog scrolls. */
function fitFrame(frame: HTMLIFrameElement): void {
  const body = frame.contentDocument?.body
  if (body) frame.style.height = `${Math.ceil(body.getBoundingClientRect().height)}px`
}
