import { randomUUID } from 'node:crypto'

/** Crockford's base 32, which has no letters that are easily confused when read aloud. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * An id such as `K7Q2M-9XD4A` that a person can read out to support: 50 random bits, from the cheapest secure source.
 */
export function createCorrelationId(): string {
  const digits = randomUUID()
  return `${fiveLetters(digits.slice(0, 7))}-${fiveLetters(digits.slice(24, 31))}`
}

/** @param digits seven hexadecimal digits */
function fiveLetters(digits: string): string {
  let bits = Number.parseInt(digits, 16)
  let letters = ''
  for (let letter = 0; letter < 5; letter++) {
    letters += ALPHABET[bits & 31]
    bits >>= 5
  }
  return letters
}
