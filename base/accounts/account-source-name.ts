import { sql } from 'kysely'

/**
 * The source of an account:
 * - `users`: the users table, which all solutions share.
 * - `''`: the solution's own module or login form.
 * - `provider`: an OAuth provider.
 * - `cloud`: the control center.
 * - `admin`: the host's admin account, which has no sessions in solutions.
 */
export type AccountSourceName = 'users' | '' | 'provider' | 'cloud' | 'admin'

/**
 * Whose second factors apply to a row of `sessions` or `remembered`. The column is empty in rows that an older version
 * wrote.
 */
export const FACTORS_OF = sql<string>`coalesce(factors_of, source)`
