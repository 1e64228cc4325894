import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { Insertable } from 'kysely'
import { createCompiledInsert } from './compiled-insert.ts'
import { embedded } from './embedded.ts'
import { kindOf } from './kinds.ts'
import type { Database } from './open.ts'
import type { Tables } from './tables.ts'

/** Maximum number of rows in one statement. It is low, because the commit blocks the event loop. */
const MOST_ROWS = 50

type Waiting<Row> = { readonly row: Row; readonly resolve: () => void; readonly reject: (error: unknown) => void }

/**
 * Inserts rows into a table for many concurrent callers. Each caller waits until its row is on disk.
 * In the embedded database, rows that arrive in the same turn of the event loop or during a write share a statement.
 * Each index page is then written only once. This adds no delay, because the rows would have to wait for the next sync
 * anyway. On a server, each row has a separate INSERT, so that several connections work in parallel.
 * @param columns all columns of the rows
 */
export function createGroupedInsert<Table extends keyof Tables & string>(
  db: Database,
  table: Table,
  columns: readonly (keyof Tables[Table] & string)[],
): (row: Insertable<Tables[Table]>) => Promise<void> {
  type Row = Insertable<Tables[Table]>
  const queryOf = createCompiledInsert<Row>(db, table, columns as readonly (keyof Row & string)[])

  async function insert(rows: readonly Row[]): Promise<void> {
    await db.executeQuery(queryOf(rows))
  }

  if (kindOf(db) !== embedded) return (row) => insert([row])

  const waiting: Waiting<Row>[] = []
  let isWriting = false

  async function writeAll(): Promise<void> {
    isWriting = true
    while (waiting.length > 0) {
      // Events that have already arrived may add more rows to this group, so they are handled first.
      await endOfTurn()
      await write(waiting.splice(0, MOST_ROWS))
    }
    isWriting = false
  }

  async function write(group: readonly Waiting<Row>[]): Promise<void> {
    try {
      await insert(group.map(({ row }) => row))
      for (const { resolve } of group) resolve()
    } catch (error) {
      // A duplicate key is the only error caused by a single row. The other rows must still be written, so each row is
      // written separately.
      if (group.length > 1 && embedded.isUniqueViolation(error)) for (const one of group) await write([one])
      else for (const { reject } of group) reject(error)
    }
  }

  return (row) =>
    new Promise((resolve, reject) => {
      waiting.push({ row, resolve, reject })
      if (!isWriting) void writeAll()
    })
}
