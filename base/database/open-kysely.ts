import { type Dialect, Kysely } from 'kysely'
import type { Database } from './open.ts'
import type { Tables } from './tables.ts'

/** A database without a look at its schema, and so without bringing it up to date. */
export function openKysely(dialect: Dialect): Database {
  return new Kysely<Tables>({ dialect })
}
