import { randomUUID } from 'node:crypto'

/** Crockford's base 32, which has no letters that look like digits. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * Returns an id such as `K7Q2M-9XD4A`, which users can read out to support. It contains 50 random bits from
 * `randomUUID`, the fastest secure source.
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
