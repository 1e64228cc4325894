import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { recentByText } from '../../../base/program/by-text.ts'

/* The thread that owns the SQLite connection and executes statements sequentially. */

/** The value that the thread gets as `workerData`. */
export type ThreadData = { readonly file: string; readonly readOnly: boolean }

export type Question = { readonly id: number; readonly sql: string; readonly parameters: readonly unknown[] }

export type Answer = { readonly id: number } & (
  | { readonly rows: readonly unknown[]; readonly changes: number | null }
  | { readonly error: { readonly message: string; readonly errcode: unknown } }
)

/** Maximum cached prepared statements; the least recently used are evicted first. */
const STATEMENTS = 200

const { file, readOnly } = workerData as ThreadData
const database = new DatabaseSync(file, { timeout: 5000, readOnly })
// With FULL sync, a commit is on disk before it is reported. This blocks only this thread, not the service.
if (!readOnly)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;')
// Negative cache sizes are in KiB. With 32 MiB, the indexes' inner pages stay in memory.
database.exec('PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY;')
const prepared = recentByText(STATEMENTS, (sql) => database.prepare(sql))

parentPort?.on('message', (question: Question | null) => {
  if (question === null) {
    database.close()
    parentPort?.close()
    return
  }
  parentPort?.postMessage(answerTo(question))
})

function answerTo({ id, sql, parameters }: Question): Answer {
  try {
    // An error such as a full disk has already rolled back the transaction. Another rollback would fail, and its error
    // would hide the first one.
    if (sql === 'rollback' && !database.isTransaction) return { id, rows: [], changes: 0 }
    const statement = prepared(sql)
    const values = parameters as SQLInputValue[]
    if (statement.columns().length > 0) return { id, rows: statement.all(...values), changes: null }
    // `run` also returns the last row id. For the search's internal tables, the id can exceed the safe integer range.
    statement.setReadBigInts(true)
    return { id, rows: [], changes: Number(statement.run(...values).changes) }
  } catch (error) {
    const { message, errcode } = error as { message: string; errcode?: unknown }
    return { id, error: { message, errcode } }
  }
}
