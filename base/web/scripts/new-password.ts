/**
 * Letters and digits that are not easily confused. There are 32, so that the lowest five bits of a random byte select
 * each one with the same probability.
 */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789'

/** The "generate" and "show" buttons beside the field for a user's new password. */
export function takeOverNewPasswords(): void {
  for (const place of document.querySelectorAll<HTMLElement>('[data-password]')) {
    const field = place.querySelector('input')
    const show = place.querySelector<HTMLElement>('[data-show-password]')
    if (field === null || show === null) continue
    const setShown = (isShown: boolean) => {
      field.type = isShown ? 'text' : 'password'
      show.setAttribute('aria-pressed', String(isShown))
    }
    show.addEventListener('click', () => setShown(field.type === 'password'))
    place.querySelector('[data-make-password]')?.addEventListener('click', () => {
      field.value = randomPassword()
      setShown(true)
      field.select()
    })
  }
}

/** Returns a password with 100 random bits that is easy to read out: `abcde-fghij-…`. */
function randomPassword(): string {
  const letters = [...crypto.getRandomValues(new Uint8Array(20))].map((byte) => ALPHABET[byte & 31])
  return [0, 5, 10, 15].map((from) => letters.slice(from, from + 5).join('')).join('-')
}
