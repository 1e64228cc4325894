const KEPT = 'solhost-said'

/** Announces a success message, on this page or, if the page reloads, on the next one. */
export function say(text: string): void {
  const place = document.querySelector('#admin-said')
  if (place !== null) place.textContent = text
}

export function sayAfterLoad(text: string): void {
  sessionStorage.setItem(KEPT, text)
}

/** A live region announces only changes, so the message of the previous page is inserted after the page has loaded. */
export function showWhatWasSaid(): void {
  const text = sessionStorage.getItem(KEPT)
  sessionStorage.removeItem(KEPT)
  if (text !== null) setTimeout(say, 100, text)
}
