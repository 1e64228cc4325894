const KEPT = 'solhost-said'

/** Announces a success message on this page. */
export function say(text: string): void {
  const place = document.querySelector('#admin-said')
  if (place !== null) place.textContent = text
}

export function sayAfterLoad(text: string): void {
  sessionStorage.setItem(KEPT, text)
}

/**
 * Announces the message that `sayAfterLoad` stored on the previous page. A live region announces only changes, so the
 * message is inserted after the page has loaded.
 */
export function showWhatWasSaid(): void {
  const text = sessionStorage.getItem(KEPT)
  sessionStorage.removeItem(KEPT)
  if (text !== null) setTimeout(say, 100, text)
}
