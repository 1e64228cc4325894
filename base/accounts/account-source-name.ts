/**
 * The source of an account: `users` is the users table, which all solutions share; `''` is the solution's own module or
 * login form; `provider` is an OAuth provider (the host calls the module for its users); `cloud` is the control center.
 * `admin` is the host's admin account, which has no sessions in solutions.
 */
export type AccountSourceName = 'users' | '' | 'provider' | 'cloud' | 'admin'
