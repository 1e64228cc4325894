import { createHash } from 'node:crypto'

/**
 * What the database keeps of a random secret, such as a session's cookie: it finds the row and signs nobody in. SHA-256,
 * hexadecimal; not for passwords, which can be guessed.
 */
export function storedHash(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
