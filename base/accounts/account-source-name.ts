/**
 * The source of an account:
 * - `users`: the users table, which all solutions share.
 * - `''`: the solution's own module or login form.
 * - `provider`: an OAuth provider.
 * - `cloud`: the control center.
 * - `admin`: the host's admin account, which has no sessions in solutions.
 */
export type AccountSourceName = 'users' | '' | 'provider' | 'cloud' | 'admin'
