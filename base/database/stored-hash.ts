import { hash } from 'node:crypto'

/**
 * Returns the hash that the database stores for a random secret, such as a session cookie: enough to find the row, but
 * not to sign in. It is SHA-256 in hexadecimal, so don't use it for passwords, which can be guessed.
 */
export function storedHash(secret: string): string {
  return hash('sha256', secret, 'hex')
}
