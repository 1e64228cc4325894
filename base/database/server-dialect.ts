import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult } from 'kysely'
import { PlatformError } from '../../runtime/errors.ts'
import { CONNECT_TIME, type DatabaseServer, type ServerKind } from './kind.ts'

/** Retry-After in seconds, sent when the database is unreachable. */
const RETRY_AFTER = 5

/**
 * Maps every failure of an unreachable server to ERR_DATABASE_UNREACHABLE: of connections, statements, commits and
 * rollbacks. Waits at most 5 s for a connection. Bytes are passed and returned as `Uint8Array`.
 */
export function serverDialect(dialect: Dialect, kind: ServerKind, server: DatabaseServer): Dialect {
  async function told<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      throw kind.failureOf(error) === 'away' ? unreachable(kind, server, error) : error
    }
  }
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => toldDriver(dialect.createDriver(), told),
  }
}

/** @param cause kept for its stack; the message contains neither account nor password */
export function unreachable(kind: ServerKind, { host, port }: DatabaseServer, cause: unknown): PlatformError {
  const { code } = (Array.isArray(cause) ? cause[0] : cause) as { code?: unknown }
  const why = typeof code === 'string' ? ` (${code})` : ''
  const properties = ['SERVER', 'PORT'].map((word) => `DB_${kind.name.toUpperCase()}_${word}`).join(' and ')
  return new PlatformError(
    'ERR_DATABASE_UNREACHABLE',
    `The database server ${kind.name} (${kind.product}) at ${host}:${port} does not answer${why}. ` +
      `Start it, or set ${properties} to where it is.`,
    { retryAfter: RETRY_AFTER },
    { cause },
  )
}

type Told = <T>(work: Promise<T>) => Promise<T>

class ToldConnection implements DatabaseConnection {
  readonly inner: DatabaseConnection
  readonly #told: Told

  constructor(inner: DatabaseConnection, told: Told) {
    this.inner = inner
    this.#told = told
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const parameters = query.parameters.map((value) => (value instanceof Uint8Array ? bufferOf(value) : value))
    const result = await this.#told(this.inner.executeQuery<R>({ ...query, parameters }))
    for (const row of result.rows) withPlainBytes(row)
    return result
  }

  // biome-ignore lint/correctness/useYield: the platform reads whole results, with bounds of its own
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new TypeError('results are not streamed')
  }
}

function toldDriver(driver: Driver, told: Told): Driver {
  const innerOf = (connection: DatabaseConnection) => (connection as ToldConnection).inner
  return {
    init: (options) => driver.init(options),
    acquireConnection: async (options) =>
      new ToldConnection(await told(inTime(driver, driver.acquireConnection(options))), told),
    releaseConnection: (connection, options) => driver.releaseConnection(innerOf(connection), options),
    beginTransaction: (connection, settings) => told(driver.beginTransaction(innerOf(connection), settings)),
    commitTransaction: (connection) => told(driver.commitTransaction(innerOf(connection))),
    rollbackTransaction: (connection) => told(driver.rollbackTransaction(innerOf(connection))),
    destroy: (options) => driver.destroy(options),
  }
}

/** @returns the connection; rejects after the timeout, and a connection that arrives later is returned to the pool */
async function inTime(driver: Driver, connecting: Promise<DatabaseConnection>): Promise<DatabaseConnection> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>()
  // Every kind treats ETIMEDOUT as an unreachable server.
  const error = Object.assign(new Error('no connection was free in time'), { code: 'ETIMEDOUT' })
  // Slightly longer than the pools' own timeout, whose error is more specific.
  const timer = setTimeout(() => reject(error), CONNECT_TIME + 200)
  try {
    return await Promise.race([connecting, tooLate])
  } catch (failure) {
    if (failure === error) connecting.then((late) => driver.releaseConnection(late)).catch(() => {})
    throw failure
  } finally {
    clearTimeout(timer)
  }
}

/** The drivers accept only Node's `Buffer`; the view shares the bytes. */
function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

function withPlainBytes(row: unknown): void {
  const columns = row as Record<string, unknown>
  for (const [name, value] of Object.entries(columns)) {
    if (Buffer.isBuffer(value)) columns[name] = new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  }
}
