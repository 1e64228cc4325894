const KEPT = 'solhost-said'

/** Tells what was done, now or, when the page is loaded anew, on the next one. */
export function say(text: string): void {
  const place = document.querySelector('#admin-said')
  if (place !== null) place.textContent = text
}

export function sayAfterLoad(text: string): void {
  sessionStorage.setItem(KEPT, text)
}

/** A live region tells what changes in it: what the page before left to say is put in once the page stands. */
export function showWhatWasSaid(): void {
  const text = sessionStorage.getItem(KEPT)
  sessionStorage.removeItem(KEPT)
  if (text !== null) setTimeout(say, 100, text)
}
