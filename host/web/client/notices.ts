import type { ClosedWhy, MessageLevel } from '../frames.ts'

/** Maximum messages on the page; the oldest is removed first. */
const MOST_MESSAGES = 4
/** Time in ms to wait for a response before the progress bar is shown. */
const PATIENCE = 300

let progressTimer: ReturnType<typeof setTimeout> | undefined
/** Whether the message that the client was reopened is shown, and the user has done nothing since. */
let isReopened = false

/** One of the platform's texts in the user's language, from `client-texts` in the page. */
export function pageText(name: string): string {
  return place('client-texts').dataset[name] ?? ''
}

export function showMessage(text: string, level: MessageLevel): void {
  const region = place(level === 'error' ? 'client-alerts' : 'client-messages')
  removeMessages(text)
  const message = document.createElement('div')
  message.className = `message ${level}`
  message.dataset.text = text
  const words = document.createElement('p')
  const isolated = document.createElement('bdi')
  isolated.textContent = text
  words.append(isolated)
  const close = document.createElement('button')
  close.type = 'button'
  close.className = 'dismiss'
  close.setAttribute('aria-label', pageText('dismiss'))
  close.textContent = '×'
  close.addEventListener('click', () => {
    message.remove()
    document.querySelector<HTMLElement>('form[data-form] h1')?.focus({ preventScroll: true })
  })
  message.append(words, close)
  region.append(message)
  while (region.childElementCount > MOST_MESSAGES) region.firstElementChild?.remove()
}

function removeMessages(text: string): void {
  for (const one of document.querySelectorAll<HTMLElement>('.message')) if (one.dataset.text === text) one.remove()
}

/** Call this when a new version is loaded: removes error messages. */
export function clearAlerts(): void {
  place('client-alerts').replaceChildren()
}

/** Call this when the user does something: removes info and success messages. */
export function clearOldMessages(): void {
  for (const one of document.querySelectorAll('.message.info, .message.success')) one.remove()
}

/** Shows that the connection was lost, or is back. */
export function showConnection(isOnline: boolean): void {
  const status = place('client-connection')
  const isLost = status.dataset.state === 'lost'
  // Don't set the same text again, because screen readers would repeat it.
  if (isLost !== isOnline) return
  if (!isOnline) setText(status, 'lost', pageText('offline'))
  else {
    removeMessages(pageText('notnow'))
    if (isReopened) showReopened()
    else setText(status, 'back', pageText('online'))
  }
}

/** Shows that the client was reopened and that the user's work was lost. */
export function showReopened(): void {
  isReopened = true
  setText(place('client-connection'), 'reopened', pageText('reopened'))
}

/** Call this when the user does something. Clears the connection's status, unless the connection is lost. */
export function clearConnection(): void {
  const status = place('client-connection')
  isReopened = false
  if (['back', 'reopened'].includes(status.dataset.state ?? '')) setText(status, '', '')
}

/** Applies a change of language that a script made. */
export function takeLanguage(): void {
  const { documentElement } = document
  documentElement.lang = pageText('locale')
  documentElement.dir = pageText('direction')
  place('client-progress').ariaLabel = pageText('working')
}

export function showProgress(isWaiting: boolean): void {
  const bar = place('client-progress')
  if (!isWaiting) {
    clearTimeout(progressTimer)
    progressTimer = undefined
    bar.hidden = true
  } else {
    progressTimer ??= setTimeout(() => {
      bar.hidden = false
    }, PATIENCE)
  }
}

/** Shows why the client ended, with a link to reopen it. */
export function showClosed(why: ClosedWhy): void {
  const status = place('client-connection')
  setText(
    status,
    'closed',
    pageText(`closed${why.replace(/(^|-)(\w)/g, (_all, _dash, letter: string) => letter.toUpperCase())}`),
  )
  const again = document.createElement('a')
  again.href = location.href
  again.textContent = pageText('again')
  status.append(' ', again)
  // A user who is signed out needs no sign-out button.
  if (why === 'signed-out') document.querySelector('#client-top form.account')?.remove()
  // Disable everything else, but let users read and copy what they typed, and open tabs.
  const form = place('client-form')
  form.inert = false
  form.removeAttribute('aria-busy')
  form.dataset.over = ''
  for (const one of form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('input, textarea'))
    one.readOnly = true
  const others = form.querySelectorAll<HTMLButtonElement | HTMLInputElement>(
    'button:not([role=tab]), select, input[type=checkbox], input[type=radio]',
  )
  for (const one of others) one.disabled = true
  again.focus()
}

function setText(status: HTMLElement, state: string, text: string): void {
  status.dataset.state = state
  status.textContent = text
}

function place(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new TypeError(`the page has no element with the id "${id}"`)
  return found
}
