import { randomBytes } from 'node:crypto'
import { storedHash } from './stored-hash.ts'

/** One kind of token: 256 random bits. The database stores only the hash. */
export interface TokenForm {
  make(): { readonly token: string; readonly hash: string }
  /** Returns the hash to store for the token; null if the text does not have this format. */
  hashOf(text: string): string | null
}

/**
 * @param prefix for example `sol_`, so that people and secret scanners recognise the kind; '' for tokens that appear
 * only in links
 */
export function tokenForm(prefix: string): TokenForm {
  const form = new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`)
  return {
    make() {
      const token = `${prefix}${randomBytes(32).toString('base64url')}`
      return { token, hash: storedHash(token) }
    },
    hashOf: (text) => (form.test(text) ? storedHash(text) : null),
  }
}
