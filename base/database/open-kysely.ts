import { type Dialect, Kysely } from 'kysely'
import type { Database } from './open.ts'
import type { Tables } from './tables.ts'

/** Opens a database without checking or migrating its schema. */
export function openKysely(dialect: Dialect): Database {
  return new Kysely<Tables>({ dialect })
}
