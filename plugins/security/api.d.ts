/** Who is signed in, and the sign-in itself. */
declare const security: {
  /**
   * Logs a user in with these permissions; works in an authenticator, and in what an `onAction` of a login form does.
   * @returns false when the list is empty, when the manifest lists permissions and one of the names is not among
   *   them, when the call has logged a user in already, or when a name is empty, longer than 200 characters or has
   *   control characters. The solution's log says which.
   * @throws TypeError when an argument is of another type
   */
  login(username: string, uid: string, permissions: string[]): boolean
  /** Signs the user out; the browser goes to `solution`, or to the page given by `application.showURL`. */
  logout(solution?: string, argument?: string): void
  /** The name of the signed-in user; within a login that of the user just logged in. null when nobody is signed in. */
  getUserName(): string | null
  /** The `uid` that `security.login` was given, or null. */
  getUserUID(): string | null
  /** Those that the user signed in with; empty when nobody is signed in. */
  getUserPermissions(): string[]
  /** All permissions that the manifests of the solution and its modules list; empty when they list none. */
  getPermissions(): string[]
  /** Whether the user signed in with it. false when nobody is signed in. */
  hasPermission(name: string): boolean
  /** The values that separate one tenant's data from another's: strings or numbers, 1 to 100 of them. */
  setTenantValue(value: string | number | (string | number)[]): void
  /** The values as set, or null. */
  getTenantValue(): (string | number)[] | null
  /**
   * Whether a password matches a hash from your own table: argon2, bcrypt, scrypt or PBKDF2, in the formats of common
   * frameworks. The host checks it, in constant time. It needs no grant.
   * @param hash null: there is no such user. The answer is false after the same work, so that the time does not reveal which names exist
   * @returns false when the password does not match
   * @throws TypeError when an argument is of another type, or longer than 1,000 characters
   * @throws Error when the hash has another form or costs too much to check, after too many wrong passwords for it outside of an
   *   authenticator, and when too many hashes are being checked
   */
  checkPasswordHash(password: string, hash: string | null): Promise<boolean>
  /**
   * Creates a hash of a password to store in your own table: argon2id, a string of about 100 characters.
   * @throws TypeError when the password is not a string, or longer than 1,000 characters
   * @throws Error when too many hashes are being created
   */
  hashPassword(password: string): Promise<string>
  /**
   * Checks a user of the users table. Counted like a sign-in at the login page. This and all below work only where the operator
   * granted `users` to the solution; else they reject.
   * @returns null when name or password are wrong, or the user is not enabled; permissions as they hold in this solution
   */
  authenticate(username: string, password: string): Promise<{ uid: string; permissions: string[] } | null>
  /** Whether it is that user's password. Counted like a sign-in. */
  checkPassword(uid: string, password: string): Promise<boolean>
  /** A user without regard to case of the name, or null. */
  getUser(username: string): Promise<{
    uid: string
    username: string
    displayName: string | null
    email: string | null
    enabled: boolean
    permissions: string[]
  } | null>
  /**
   * Makes a user. This and the next ones work only while a user of the users table is signed in who holds `Administrators` in the permissions
   * table; `security.login` does not give that right.
   * @returns the uid
   */
  createUser(username: string, password: string): Promise<string>
  /** Removes the user and ends the sessions. */
  deleteUser(uid: string): Promise<void>
  /** Sets another password and ends the user's sessions. Rejects with the rule that the password breaks. */
  setPassword(uid: string, password: string): Promise<void>
  /** Gives the user a permission in this solution. */
  addPermission(uid: string, name: string): Promise<void>
  /** Takes it away in this solution, and ends the user's sessions. */
  removePermission(uid: string, name: string): Promise<void>
}
