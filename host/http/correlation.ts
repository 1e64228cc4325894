import { randomBytes } from 'node:crypto'

/** Crockford's base 32: no letters that are mistaken for others when read aloud. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** An id such as `K7Q2M-9XD4A` that a person can read to support; 50 random bits. */
export function createCorrelationId(): string {
  const letters = Array.from(randomBytes(10), (byte) => ALPHABET[byte & 31])
  return `${letters.slice(0, 5).join('')}-${letters.slice(5).join('')}`
}
