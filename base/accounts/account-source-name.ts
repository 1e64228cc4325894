/**
 * Where an account comes from: `users` is the users table that all solutions share; `''` is the solution's own module
 * or login form; `provider` is an OAuth provider, with the module asked about its users; `cloud` is the control center.
 */
export type AccountSourceName = 'users' | '' | 'provider' | 'cloud'
