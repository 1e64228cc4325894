/**
 * Returns the key that makes usernames unique. It is the same for `Anna`, `ANNA` and `ａｎｎａ`, on every machine and in
 * every locale. Idempotent.
 */
export function usernameKey(username: string): string {
  return username.normalize('NFKC').toLowerCase().normalize('NFKC').trim()
}
