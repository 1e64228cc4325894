/**
 * Who knows an account: the users table, which is one for all solutions; a solution's own module or login form (`''`);
 * a provider of OAuth, about whose users the module is asked; or the control center.
 */
export type AccountSourceName = 'users' | '' | 'provider' | 'cloud'
