import type { Insertable } from 'kysely'
import * as portable from '../../base/database/portable.ts'
import { asPlatform } from './as-platform.ts'
import type { CenterDatabase, CenterTables } from './tables.ts'

/* The host's statements for all kinds of databases, with the control center's tables in their types. */

type Table = keyof CenterTables & string

export function insertOnce<T extends Table>(
  db: CenterDatabase,
  table: T,
  row: Insertable<CenterTables[T]>,
): Promise<boolean> {
  return portable.insertOnce(asPlatform(db), table as never, row as never)
}

export function put<T extends Table>(
  db: CenterDatabase,
  table: T,
  key: readonly (keyof Insertable<CenterTables[T]> & string)[],
  row: Insertable<CenterTables[T]>,
): Promise<void> {
  return portable.put(asPlatform(db), table as never, key as never, row as never)
}

export function firstRows<Query extends { limit(count: number): unknown; top(count: number): unknown }>(
  db: CenterDatabase,
  query: Query,
  count: number,
): Query {
  return portable.firstRows(asPlatform(db), query, count)
}
