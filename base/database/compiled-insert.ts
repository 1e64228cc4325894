import type { CompiledQuery } from 'kysely'
import { embedded } from './embedded.ts'
import { kindOf } from './kinds.ts'
import type { Database } from './open.ts'

type AnyTables = Record<string, Record<string, unknown>>

/**
 * Returns a function that creates the INSERT for one or more rows. A query is compiled only once for each number of
 * rows, because building it takes longer than the embedded database takes to run it.
 *
 * In the embedded database, a violated constraint rolls back the whole transaction, so the caller must not continue it.
 * Otherwise, SQLite would copy each page before the INSERT changes it, to be able to undo only this statement
 * (https://www.sqlite.org/lang_conflict.html).
 * @param columns all columns of the rows
 */
export function createCompiledInsert<Row extends object>(
  db: Database,
  table: string,
  columns: readonly (keyof Row & string)[],
): (rows: readonly Row[]) => CompiledQuery {
  const insert = db.withTables<AnyTables>().insertInto(table)
  const start = kindOf(db) === embedded ? insert.orRollback() : insert
  // The row's values don't matter, because each becomes a parameter of the query.
  const row = Object.fromEntries(columns.map((column) => [column, '']))
  const queries: CompiledQuery[] = []

  return (rows) => {
    const query = queries[rows.length] ?? start.values(rows.map(() => row)).compile()
    queries[rows.length] = query
    return { ...query, parameters: rows.flatMap((one) => columns.map((column) => one[column])) }
  }
}
