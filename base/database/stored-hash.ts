import { hash } from 'node:crypto'

/**
 * Returns the hash that the database stores for a random secret, such as a session cookie. It is enough to find the
 * row, but not to sign in. It is a plain SHA-256 in hexadecimal. Don't use it for passwords, because they can be
 * guessed.
 */
export function storedHash(secret: string): string {
  return hash('sha256', secret, 'hex')
}
