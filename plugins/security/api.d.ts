/** The signed-in user, signing in and out, and the users table. */
declare const security: {
  /**
   * Signs a user in with these permissions. Works in an authenticator, and in a function called by a login form's
   * `onAction`.
   * @returns false if the list is empty, if a name is not allowed, or if the call has already signed a user in. The
   * solution's log contains the reason. A name is not allowed if it is empty, is longer than 200 characters or contains
   * control characters. If the manifest lists permissions, only those are allowed.
   * @throws TypeError if an argument has the wrong type
   */
  login(username: string, uid: string, permissions: string[]): boolean
  /**
   * Requires a second factor for this call's login, such as a code from an authenticator app. Users who don't have one
   * must set it up before they are signed in. Call it before or after `security.login`. It can't lower the level that
   * the operator or the manifest requires.
   * @returns false in a call that can't sign users in
   */
  requireSecondFactor(): boolean
  /**
   * Asks the user to confirm their identity before something important happens. Call it before the important part of a
   * function that `onAction` calls, and return if it returns false:
   *
   *     if (!security.confirm('i18n:orders.delete_all')) return
   *
   * After the call, the page asks for a code, the password or a new sign-in, and quotes the reason. When the user has
   * confirmed, the host checks the press again and repeats it once. Scripts never see what the user enters. A
   * confirmation is valid for 5 minutes (`CONFIRMED_FOR`). A sign-in also counts as a confirmation for that long.
   * @param reason the action that follows: 1 to 200 characters, or `i18n:` and a key
   * @param options `every: true`: a confirmation is valid only for this press
   * @returns true if the user has confirmed; false if the page asks them now
   * @throws TypeError if an argument is invalid
   * @throws Error outside of `onAction`, or if no user is signed in
   */
  confirm(reason: string, options?: { every?: boolean }): boolean
  /**
   * The methods that the user signed in with, in the order they were used: `password`, `script` (an authenticator or
   * login form), `provider`, `provider-mfa`, `cloud`, `token`, `passkey`, `security-key`, `totp` (a code from an
   * authenticator app), `recovery-code`. Each confirmation adds its method. Empty if no user is signed in.
   */
  getSignInMethods(): string[]
  /** Signs the user out. The browser is redirected to `solution`, or to the page set with `application.showURL`. */
  logout(solution?: string, argument?: string): void
  /**
   * The name of the signed-in user or, during a sign-in, of the user who was just signed in. null if no user is signed
   * in.
   */
  getUserName(): string | null
  /** The `uid` passed to `security.login`, or null. */
  getUserUID(): string | null
  /** The permissions that the user signed in with. Empty if no user is signed in. */
  getUserPermissions(): string[]
  /** All permissions listed in the manifests of the solution and its modules. Empty if they list none. */
  getPermissions(): string[]
  /** Whether the user signed in with this permission. false if no user is signed in. */
  hasPermission(name: string): boolean
  /** Sets the values that separate one tenant's data from another's: 1 to 100 strings or numbers. */
  setTenantValue(value: string | number | (string | number)[]): void
  /** The tenant values, or null. */
  getTenantValue(): (string | number)[] | null
  /**
   * Checks whether a password matches a hash from your own table: argon2, bcrypt, scrypt or PBKDF2, in the formats of
   * common frameworks. The host checks it in constant time. No grant is needed.
   * @param hash null if there is no such user. The result is then false, but the check takes as long as a real one, so
   * its duration does not reveal which names exist.
   * @returns false if the password does not match
   * @throws TypeError if an argument has the wrong type or is longer than 1,000 characters
   * @throws Error if the hash has an unsupported format or costs too much to check, or if too many hashes are being
   * checked. Outside of an authenticator, also after too many wrong passwords for the hash
   */
  checkPasswordHash(password: string, hash: string | null): Promise<boolean>
  /**
   * Creates a hash of a password to store in your own table: argon2id, a string of about 100 characters.
   * @throws TypeError if the password is not a string or is longer than 1,000 characters
   * @throws Error if too many hashes are being created
   */
  hashPassword(password: string): Promise<string>
  /**
   * Checks the password of a user in the users table. Counts as a sign-in attempt, like one on the login page. This
   * function and all functions below reject unless the operator granted `users` to the solution.
   * @returns null if the name or password is wrong or the user is disabled; otherwise the uid and the permissions in
   * this solution
   */
  authenticate(username: string, password: string): Promise<{ uid: string; permissions: string[] } | null>
  /** Whether this is the user's password. Counts as a sign-in attempt. */
  checkPassword(uid: string, password: string): Promise<boolean>
  /** Returns the user with this name, ignoring case, or null. */
  getUser(username: string): Promise<{
    uid: string
    username: string
    displayName: string | null
    email: string | null
    enabled: boolean
    permissions: string[]
  } | null>
  /**
   * Creates a user. This and the functions below work only if the signed-in user is in the users table and has
   * `Administrators` in the permissions table. Permissions from `security.login` are ignored.
   * @returns the uid
   */
  createUser(username: string, password: string): Promise<string>
  /** Removes the user and ends their sessions. */
  deleteUser(uid: string): Promise<void>
  /**
   * Sets a new password and ends the user's sessions. If the password violates a rule, the Promise rejects with that
   * rule.
   */
  setPassword(uid: string, password: string): Promise<void>
  /** Grants the user a permission in this solution. */
  addPermission(uid: string, name: string): Promise<void>
  /** Revokes the permission in this solution and ends the user's sessions. */
  removePermission(uid: string, name: string): Promise<void>
}
