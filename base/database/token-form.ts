import { randomBytes } from 'node:crypto'
import { storedHash } from './stored-hash.ts'

/** Tokens of one kind: 256 random bits that their bearer alone knows, and of which the database keeps the hash. */
export interface TokenForm {
  make(): { readonly token: string; readonly hash: string }
  /** What the row of a token has; null: a text of another form, which there is no row of. */
  hashOf(text: string): string | null
}

/** @param prefix such as `sol_`, by which people and scanners of leaks know the kind; '': it stands in links alone */
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
