// The process for one solution's embedded database. It reads and writes frames on file descriptor 3 and exits when the
// host closes it. Node's permission model limits its access to the database file and its own code, without network or
// child processes (see embedded-child.ts). JavaScript can't interrupt SQLite, so the host stops a long query with
// SIGKILL.
import { Socket } from 'node:net'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite'
import { createFrameReader, encodeFrame } from '../../runtime/frames.ts'
import { createAuthorizer } from './embedded-authorizer.ts'
import type { EmbeddedBounds, EmbeddedFailure, FromEmbedded, ToEmbedded } from './embedded-protocol.ts'

/** Maximum bytes of a frame, more than any query needs with its parameters. */
const MAX_FRAME = 16 * 1024 ** 2

/** Result codes of SQLite. @see https://sqlite.org/rescode.html */
const SQLITE_FULL = 13
const SQLITE_TOOBIG = 18
const SQLITE_AUTH = 23

const channel = new Socket({ fd: 3, readable: true, writable: true })
const reader = createFrameReader(() => MAX_FRAME, receive)
channel.on('data', (chunk: Buffer) => {
  if (!reader.push(chunk)) process.exit(1)
})
channel.on('close', () => process.exit(0))
channel.on('error', () => process.exit(0))

const authorizer = createAuthorizer()
let query: ((sql: string, parameters: readonly SQLInputValue[]) => FromEmbedded) | null = null

function receive(content: Buffer): void {
  const message = JSON.parse(content.toString()) as ToEmbedded
  const answer = message.kind === 'open' ? open(message.file, message.bounds) : answerQuery(message)
  channel.write(encodeFrame(JSON.stringify(answer)))
}

function open(file: string, bounds: EmbeddedBounds): FromEmbedded {
  try {
    query = openFile(file, bounds)
    return { kind: 'opened' }
  } catch (error) {
    return failed('sql', error instanceof Error ? error.message : String(error))
  }
}

function answerQuery({ sql, parameters }: Extract<ToEmbedded, { kind: 'query' }>): FromEmbedded {
  // SQLite has no booleans, so convert them.
  const values = parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value))
  return query === null ? failed('sql', 'no database is open') : query(sql, values)
}

function openFile(file: string, bounds: EmbeddedBounds) {
  const limits = { attach: 0, length: bounds.answerSize, sqlLength: 256 * 1024, column: 1000, variableNumber: 1000 }
  const database = new DatabaseSync(file, { timeout: 5000, allowExtension: false, defensive: true, limits })
  if (typeof database.setAuthorizer !== 'function')
    throw new TypeError(
      'this version of Node.js does not support authorizers for SQLite: install the version that package.json requires',
    )
  // A write-ahead log allows concurrent readers: "solhost backup" copies the file while it is in use (base/backup).
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA journal_size_limit = 1048576')
  database.exec('PRAGMA temp_store = MEMORY')
  database.exec('PRAGMA trusted_schema = OFF')
  const { page_size: pageSize } = database.prepare('PRAGMA page_size').get() as { page_size: number }
  database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(bounds.fileSize / pageSize))}`)
  database.setAuthorizer(authorizer.authorize)

  /** Runs a query in a transaction, so that a query that exceeds a limit changes nothing. */
  return function runQuery(sql: string, parameters: readonly SQLInputValue[]): FromEmbedded {
    authorizer.takeRefusal()
    try {
      hostExec('BEGIN')
      const answer = readRows(sql, parameters)
      hostExec(answer.kind === 'answered' ? 'COMMIT' : 'ROLLBACK')
      return answer
    } catch (error) {
      if (database.isTransaction) hostExec('ROLLBACK')
      return failureOf(error)
    }
  }

  function hostExec(sql: string): void {
    authorizer.asHost(() => database.exec(sql))
  }

  function readRows(sql: string, parameters: readonly SQLInputValue[]): FromEmbedded {
    const statement = database.prepare(sql)
    // SQLite compiles only the first statement and ignores the rest, so check the rest.
    if (!isEmpty(sql.slice(statement.sourceSQL.length))) return failed('second', '')
    statement.setReadBigInts(true)
    statement.setReturnArrays(true)
    const columns = statement.columns().map(({ name }) => name)
    const rows: Record<string, string | number | null>[] = []
    let size = 2
    for (const values of statement.iterate(...parameters) as Iterable<unknown> as Iterable<SQLOutputValue[]>) {
      if (rows.length >= bounds.rows) return failed('rows', '')
      const row: Record<string, string | number | null> = Object.create(null)
      for (const [index, column] of columns.entries()) row[column] = plain(values[index] ?? null)
      size += Buffer.byteLength(JSON.stringify(row)) + 1
      if (size > bounds.answerSize) return failed('size', '')
      rows.push(row)
    }
    return { kind: 'answered', rows }
  }
}

/** Whether the rest contains only white space, comments and semicolons. */
function isEmpty(rest: string): boolean {
  const skipped = /[\s;]+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y
  while (skipped.lastIndex < rest.length) if (!skipped.test(rest)) return false
  return true
}

/** Converts a value. Integers become numbers if exact, otherwise text. Bytes become base64. */
function plain(value: SQLOutputValue): string | number | null {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}`
  if (typeof value === 'number') return Number.isFinite(value) ? value : `${value}`
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}

function failureOf(error: unknown): FromEmbedded {
  const { errcode = 0, message = 'unknown error' } = error as { errcode?: number; message?: string }
  const refusal = authorizer.takeRefusal()
  const code = errcode & 0xff
  if (refusal !== null && (code === SQLITE_AUTH || code === 1)) return failed('sql', refusal)
  if (code === SQLITE_FULL) return failed('file', '')
  return code === SQLITE_TOOBIG ? failed('size', '') : failed('sql', message)
}

function failed(why: EmbeddedFailure, message: string): FromEmbedded {
  return { kind: 'failed', why, message: message.slice(0, 2000) }
}
