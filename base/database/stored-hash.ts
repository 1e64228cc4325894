import { createHash } from 'node:crypto'

/**
 * The hash that the database stores for a random secret, such as a session cookie: enough to find the row, but not to
 * sign in. SHA-256, hexadecimal; not for passwords, which can be guessed.
 */
export function storedHash(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
