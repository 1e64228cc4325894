import { randomLetters } from '../program/random-text.ts'

/** Crockford's base 32, which has no letters that look like digits. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Returns an id with 50 random bits, such as `K7Q2M-9XD4A`, which users can read out to support. */
export function createCorrelationId(): string {
  const letters = randomLetters(10, ALPHABET)
  return `${letters.slice(0, 5)}-${letters.slice(5)}`
}
