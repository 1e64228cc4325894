import { normalized } from '../program/normalized.ts'

/**
 * Returns the key that makes usernames unique. It is the same for `Anna`, `ANNA` and `ａｎｎａ`, on every machine and in
 * every locale. Idempotent.
 */
export function usernameKey(username: string): string {
  return normalized(normalized(username, 'NFKC').toLowerCase(), 'NFKC').trim()
}
