import type { Insertable } from 'kysely'
import { embedded } from './embedded.ts'
import { kindOf } from './kinds.ts'
import type { Database } from './open.ts'
import { prepareQuery } from './prepared-query.ts'
import type { Tables } from './tables.ts'

/**
 * Maximum rows in one transaction. It is low, because other statements have to wait for the transaction, and its commit
 * blocks the event loop.
 */
const MOST_ROWS = 100

type Waiting<Row> = { readonly row: Row; readonly resolve: () => void; readonly reject: (error: unknown) => void }

/**
 * Inserts rows into a table for many concurrent callers. Each caller waits until its row is on disk.
 * In the embedded database, rows that arrive during a write share the next transaction, so each index page is written
 * only once. This adds no delay, because the rows would have to wait for the next sync anyway. On a server, each row
 * has a separate INSERT, so that several connections work in parallel.
 * @param columns all columns of the rows
 */
export function createGroupedInsert<Table extends keyof Tables & string>(
  db: Database,
  table: Table,
  columns: readonly (keyof Tables[Table] & string)[],
): (row: Insertable<Tables[Table]>) => Promise<void> {
  type Row = Insertable<Tables[Table]>
  const insert = prepareQuery(columns, (values) => db.insertInto(table).values(values as Row))
  const insertInto = async (runner: Pick<Database, 'executeQuery'>, row: Row) => {
    await insert.run(runner, row as Readonly<Record<string, unknown>>)
  }
  if (kindOf(db) !== embedded) return (row) => insertInto(db, row)

  const waiting: Waiting<Row>[] = []
  let isWriting = false

  async function writeAll(): Promise<void> {
    isWriting = true
    while (waiting.length > 0) await writeGroup(waiting.splice(0, MOST_ROWS))
    isWriting = false
  }

  async function writeGroup(group: readonly Waiting<Row>[]): Promise<void> {
    if (group.length === 1) return writeOne(group[0] as Waiting<Row>)
    let areInserted = false
    try {
      await db.transaction().execute(async (transaction) => {
        for (const { row } of group) await insertInto(transaction, row)
        areInserted = true
      })
      for (const { resolve } of group) resolve()
    } catch (error) {
      if (areInserted) for (const { reject } of group) reject(error)
      // One row's error must not affect the others, so each is written separately and gets its own error.
      else for (const one of group) await writeOne(one)
    }
  }

  async function writeOne({ row, resolve, reject }: Waiting<Row>): Promise<void> {
    await insertInto(db, row).then(resolve, reject)
  }

  return (row) =>
    new Promise((resolve, reject) => {
      waiting.push({ row, resolve, reject })
      if (!isWriting) void writeAll()
    })
}
