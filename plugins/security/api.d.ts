/** Who is signed in, and the sign-in itself. */
declare const security: {
  /**
   * Logs a user in with these permissions; works in an authenticator.
   * @returns false when the list is empty, when the manifest lists permissions and one of the names is not among
   *   them, when the call has logged a user in already, or when a name is empty, longer than 200 characters or has
   *   control characters. The solution's log says which.
   * @throws TypeError when an argument is of another type
   */
  login(username: string, uid: string, permissions: string[]): boolean
  /** Signs the user out; the browser goes to `solution`, or to the page given by `application.showURL`. */
  logout(solution?: string, argument?: string): void
  /** Within a login: the user just logged in. null when nobody is signed in. */
  getUserName(): string | null
  getUserUID(): string | null
  getUserPermissions(): string[]
  hasPermission(name: string): boolean
  /** The values that separate one tenant's data from another's: strings or numbers, 1 to 100 of them. */
  setTenantValue(value: string | number | (string | number)[]): void
  /** The values as set, or null. */
  getTenantValue(): (string | number)[] | null
}
