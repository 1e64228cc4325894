import { statSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { type Dialect, type Driver, SqliteAdapter, SqliteDialect, type SqliteStatement } from 'kysely'
import { recentByText } from '../program/by-text.ts'
import { type Checkpoints, NO_CHECKPOINTS } from './checkpoints.ts'
import { createFileSync, type FileSync } from './file-sync.ts'
import type { DatabaseKind } from './kind.ts'

/** SQLite in a file in PLATFORM_HOME. Error codes: https://www.sqlite.org/rescode.html */
export const embedded: DatabaseKind = {
  name: 'embedded',
  adapter: SqliteAdapter,
  conflict: 'on conflict',
  rowLimit: 'limit',
  byteLength: 'octet_length',
  columns: async () => ({
    key: 'text',
    text: 'text',
    bytes: 'blob',
    id: 'integer',
    counts: (column) => column.autoIncrement(),
  }),
  // These are SQLITE_CONSTRAINT_PRIMARYKEY, _UNIQUE and _ROWID.
  isUniqueViolation: (error) => has(error, 1555, 2067, 2579),
  // These are SQLITE_FULL, and SQLITE_IOERR_SHMSIZE: no space is left for the WAL index.
  isFull: (error) => has(error, 13, 4874),
  isDeadlock: () => false,
}

function has(error: unknown, ...codes: readonly number[]): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  return code === 'ERR_SQLITE_ERROR' && codes.includes(Number(errcode))
}

/** Returns why a file cannot be used as a database; null if the error has another cause. */
export function wrongFile(file: string, error: unknown): string | null {
  // These are SQLITE_CORRUPT, SQLITE_NOTADB and SQLITE_CANTOPEN.
  if (has(error, 11)) return 'a damaged database'
  if (has(error, 26)) return 'not a database'
  return has(error, 14) && statSync(file, { throwIfNoEntry: false })?.isDirectory() === true ? 'a folder' : null
}

/**
 * Maximum number of cached prepared statements. They are cached because preparing a statement takes longer than running
 * it. The least recently used one is evicted first.
 */
const STATEMENTS = 200

/**
 * If the log is larger than this, in pages of 4 kB, the connection does a checkpoint itself, even if a thread usually
 * does them.
 */
const OWN_CHECKPOINT = 8000

/**
 * Kysely's dialect for the SQLite that is part of Node.js. Committed transactions survive a power failure. In WAL mode,
 * a commit needs only a sync of the log, and all waiting commits share one sync. With `synchronous=full`, each commit
 * would need its own sync, which would block the whole host.
 * @see https://www.sqlite.org/pragma.html#pragma_synchronous
 */
export function embeddedDialect(
  file: string,
  sync: FileSync = createFileSync(`${file}-wal`),
  checkpoints: Checkpoints = NO_CHECKPOINTS,
): Dialect {
  const database = new DatabaseSync(file, { timeout: 5000 })
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;')
  if (checkpoints !== NO_CHECKPOINTS) database.exec(`PRAGMA wal_autocheckpoint = ${OWN_CHECKPOINT}`)
  let wrote = false
  const statements = createStatements(database, () => {
    wrote = true
  })
  const dialect = new SqliteDialect({ database: { close: () => database.close(), prepare: statements } })
  return {
    createAdapter: () => new OneConnectionAdapter(),
    createDriver: () =>
      oneAtATime(
        dialect.createDriver(),
        () => database.isTransaction,
        async () => {
          if (!wrote) return
          wrote = false
          checkpoints.wrote()
          await sync.sync()
        },
        async () => {
          await checkpoints.close()
          await sync.close()
        },
      ),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
  }
}

/**
 * Turns off Kysely's own lock, which would stay locked during a sync of the write-ahead log. Commits could then not
 * share a sync. `oneAtATime` does the locking instead.
 */
class OneConnectionAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/**
 * Lets callers use the connection one at a time.
 * @param isInTransaction returns false after an error that already rolled back the transaction, such as a full disk
 * (https://www.sqlite.org/lang_transaction.html)
 * @param afterRelease called after a caller has released the connection. That caller waits for the result, while the
 * next caller can already use the connection.
 */
function oneAtATime(
  driver: Driver,
  isInTransaction: () => boolean,
  afterRelease: () => Promise<void>,
  close: () => Promise<void>,
): Driver {
  let last = Promise.resolve()
  let letNext = () => {}
  return {
    init: () => driver.init(),
    async acquireConnection() {
      const before = last
      const { promise, resolve } = Promise.withResolvers<void>()
      last = promise
      await before
      letNext = resolve
      return driver.acquireConnection()
    },
    async releaseConnection(connection) {
      await driver.releaseConnection(connection)
      const written = afterRelease()
      letNext()
      await written
    },
    beginTransaction: (connection, settings) => driver.beginTransaction(connection, settings),
    commitTransaction: (connection) => driver.commitTransaction(connection),
    async rollbackTransaction(connection) {
      // After such an error, a rollback would fail and its error would hide the original one.
      if (isInTransaction()) await driver.rollbackTransaction(connection)
    },
    async destroy() {
      await close()
      await driver.destroy()
    },
  }
}

/** @param onWrite called after each statement that may have changed data */
function createStatements(database: DatabaseSync, onWrite: () => void): (sql: string) => SqliteStatement {
  function make(sql: string): SqliteStatement {
    const statement = database.prepare(sql)
    const writes = !/^\s*(select|begin|rollback)\b/i.test(sql)
    const noted = <T>(result: T): T => {
      if (writes) onWrite()
      return result
    }
    return {
      reader: statement.columns().length > 0,
      all: (parameters) => noted(statement.all(...(parameters as SQLInputValue[]))),
      run: (parameters) => noted(statement.run(...(parameters as SQLInputValue[]))),
      iterate: (parameters) => noted(statement.iterate(...(parameters as SQLInputValue[]))),
    }
  }

  return recentByText(STATEMENTS, make)
}
