import { type Dialect, MysqlAdapter, MysqlDialect, type MysqlPool, type MysqlPoolConnection, sql } from 'kysely'
import type { Pool, PoolConnection, ResultSetHeader, RowDataPacket } from 'mysql2'
import { PlatformError } from '../../runtime/errors.ts'
import {
  CONNECT_TIME,
  type DatabaseServer,
  DEFAULT_POOL,
  type Failure,
  isNetworkError,
  isTlsError,
  type OpenDatabase,
  type PoolOptions,
  type ServerKind,
} from './kind.ts'

/** MySQL from 8.0.17, MariaDB from 10.6. Error numbers: https://mariadb.com/kb/en/mariadb-error-code-reference/ */
export const gamma: ServerKind = {
  name: 'gamma',
  product: 'MySQL or MariaDB',
  adapter: MysqlAdapter,
  conflict: 'on duplicate key',
  rowLimit: 'limit',
  byteLength: 'octet_length',
  systemDatabase: null,
  createDialect: gammaDialect,
  createDatabase: (name) => sql`create database if not exists ${sql.id(name)} character set utf8mb4`,
  async columns(db) {
    // These are the only binary collations that do not ignore trailing spaces in comparisons.
    const collation = sql.raw((await isMariaDb(db)) ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin')
    return {
      key: sql`varchar(255) character set utf8mb4 collate ${collation}`,
      text: sql`longtext character set utf8mb4 collate ${collation}`,
      bytes: sql`longblob`,
      id: 'bigint',
      counts: (column) => column.autoIncrement(),
    }
  },
  isUniqueViolation: (error) => numberOf(error) === 1062,
  isFull: (error) => numberOf(error) === 1021 || numberOf(error) === 1114,
  isDeadlock: (error) => numberOf(error) === 1213 || numberOf(error) === 1020,
  // The table, column or index already exists. This can happen because MySQL cannot roll back schema changes.
  isDoneAlready: (error) => [1050, 1060, 1061].includes(numberOf(error)),
  isDatabaseThere: (error) => numberOf(error) === 1007,
  failureOf,
  check: async () => null,
}

async function isMariaDb(db: OpenDatabase): Promise<boolean> {
  const { rows } = await sql<{ version: string }>`select version() as version`.execute(db)
  return /mariadb/i.test(rows[0]?.version ?? '')
}

const AWAY_CODES = ['PROTOCOL_CONNECTION_LOST', 'PROTOCOL_SEQUENCE_TIMEOUT']
/** Error numbers for too many connections, a server shutdown, network errors, and killed or timed-out connections. */
const AWAY_NUMBERS = [1040, 1053, 1077, 1152, 1158, 1159, 1160, 1161, 1203, 1927, 4031]

function failureOf(error: unknown): Failure | null {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  const number = numberOf(error)
  if (isNetworkError(error) || AWAY_CODES.includes(code) || AWAY_NUMBERS.includes(number)) return 'away'
  if (/^PROTOCOL_ENQUEUE/.test(code) || /closed state|^Pool is closed/.test(message)) return 'away'
  if (number === 1045 || number === 1698 || number === 1130) return 'account'
  if (isTlsError(error) || code === 'HANDSHAKE_NO_SSL_SUPPORT' || code === 'HANDSHAKE_SSL_ERROR') return 'tls'
  if (number === 1049) return 'no-database'
  return [1044, 1142, 1227].includes(number) ? 'rights' : null
}

function numberOf(error: unknown): number {
  return Number((error as { errno?: unknown } | null)?.errno ?? 0)
}

async function gammaDialect(
  server: DatabaseServer,
  database: string | null,
  options: PoolOptions = {},
): Promise<Dialect> {
  const { createPool } = await import('mysql2')
  const { connections, statementTime } = { ...DEFAULT_POOL, ...options }
  const pool = createPool({
    host: server.host,
    port: server.port,
    user: server.username,
    password: server.password,
    ...(database === null ? {} : { database }),
    ...(server.tls === 'off' ? {} : { ssl: tlsOf(server.tls === 'verify') }),
    connectionLimit: connections,
    connectTimeout: CONNECT_TIME,
    enableKeepAlive: true,
    charset: 'utf8mb4',
    maxPreparedStatements: 100,
    // By default, the driver returns sums as text. Numbers are safe, because the platform's numbers stay below 2^53.
    decimalNumbers: true,
  })
  return new MysqlDialect({ pool: preparingPool(pool, statementTime) })
}

function tlsOf(verify: boolean): { rejectUnauthorized: boolean; verifyIdentity: boolean } {
  return { rejectUnauthorized: verify, verifyIdentity: verify }
}

/**
 * A statement for each new connection, so that the server's defaults do not matter. NO_BACKSLASH_ESCAPES must be off,
 * because the driver escapes values with backslashes. Strict mode rejects texts that are too long; otherwise they would
 * be truncated. The other kinds also use the isolation level "read committed".
 */
const PREPARE =
  "set session sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', " +
  "session transaction_isolation = 'READ-COMMITTED', session time_zone = '+00:00'"
/** MariaDB versions before 11.1 use a different variable name. */
const PREPARE_OLDER = PREPARE.replace('transaction_isolation', 'tx_isolation')

type Callback<T> = (error: unknown, result: T) => void
type Answered = (error: unknown, result?: unknown) => void

function preparingPool(pool: Pool, statementTime: number): MysqlPool {
  const prepared = new WeakMap<PoolConnection, MysqlPoolConnection>()

  function prepare(connection: PoolConnection, callback: Callback<MysqlPoolConnection>): void {
    const ask = (text: string, callback: Answered) =>
      timed(connection, CONNECT_TIME, callback, (answered) => connection.query(text, answered))
    function done(error: unknown, largest: number): void {
      const bounded = boundedConnection(connection, statementTime, largest)
      if (error === null) prepared.set(connection, bounded)
      else connection.destroy()
      callback(error, bounded)
    }
    function readLargest(error: unknown): void {
      if (error !== null) done(error, 0)
      else {
        ask('select @@max_allowed_packet as largest', (failure, rows) =>
          done(failure, Number((rows as RowDataPacket[] | undefined)?.[0]?.largest ?? 0)),
        )
      }
    }
    // 1193 is ER_UNKNOWN_SYSTEM_VARIABLE.
    ask(PREPARE, (error) => (numberOf(error) === 1193 ? ask(PREPARE_OLDER, readLargest) : readLargest(error)))
  }

  return {
    getConnection(callback) {
      pool.getConnection((error, connection) => {
        if (error !== null) callback(error, connection)
        else {
          const known = prepared.get(connection)
          if (known === undefined) prepare(connection, callback)
          else callback(null, known)
        }
      })
    },
    end: (callback) => pool.end(callback),
  }
}

/**
 * Runs a statement. After the timeout, closes the connection, so that a rollback doesn't wait for the same statement.
 * The driver's own timeouts don't apply while it prepares a statement.
 */
function timed(connection: PoolConnection, time: number, callback: Answered, run: (answered: Answered) => void): void {
  let isDone = false
  const done: Answered = (error, result) => {
    if (isDone) return
    isDone = true
    clearTimeout(timer)
    callback(error, result)
  }
  const timer = setTimeout(() => {
    connection.destroy()
    done(Object.assign(new Error('the statement timed out'), { code: 'PROTOCOL_SEQUENCE_TIMEOUT' }))
  }, time)
  run(done)
}

/**
 * Wraps a connection. Discards it after a statement timed out.
 * @param largest maximum size of a statement in bytes; the server closes the connection if a statement is larger
 */
function boundedConnection(connection: PoolConnection, timeout: number, largest: number): MysqlPoolConnection {
  let broken = false
  const query: MysqlPoolConnection['query'] = (text, parameters: unknown[], callback) => {
    const done: Answered = (error, result) => {
      if (error !== null) broken ||= failureOf(error) === 'away'
      callback?.(error, result as ResultSetHeader | RowDataPacket[])
    }
    const statement = { sql: text, values: parameters }
    const run = (method: 'query' | 'execute') =>
      timed(connection, timeout, done, (answered) => connection[method](statement, answered))
    const size = parameters.reduce((sum: number, value) => sum + sizeOf(value), 0)
    // In the text of a statement, each byte takes two characters, and escapes make strings longer. Large values are
    // therefore sent separately from the text.
    if (size < LARGE && !parameters.some((value) => value instanceof Uint8Array)) run('query')
    else if (size + LARGE <= largest) run('execute')
    else callback?.(tooLarge(largest), [])
    return { stream: notStreamed }
  }
  return {
    config: connection.config,
    threadId: connection.threadId,
    // The pool only hands out open connections.
    connect: (callback) => callback?.(null),
    query,
    destroy: () => connection.destroy(),
    release: () => (broken ? connection.destroy() : connection.release()),
  }
}

/** Streaming is not supported, because broken connections would not be detected. */
function notStreamed(): never {
  throw new TypeError('streaming is not supported')
}

/** Values of at least this size in bytes are sent separately. The same size is reserved for the statement's text. */
const LARGE = 64 * 1024

function sizeOf(value: unknown): number {
  if (value instanceof Uint8Array) return value.length
  return typeof value === 'string' ? Buffer.byteLength(value) : 8
}

function tooLarge(largest: number): PlatformError {
  return new PlatformError(
    'ERR_BUNDLE_TOO_LARGE',
    `The bundle is too large for the database server, which accepts at most ${largest} bytes per statement. ` +
      'On the database server, set max_allowed_packet to a value larger than each of these: the bundle, its largest file, and ' +
      'the combined size of its scripts.',
  )
}
