/**
 * What makes a user name unique: the same for `Anna`, `ANNA` and `ａｎｎａ`, on every machine and in every locale.
 * Doing it again changes nothing.
 */
export function usernameKey(username: string): string {
  return username.normalize('NFKC').toLowerCase().normalize('NFKC').trim()
}
