import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult } from 'kysely'
import { PlatformError } from '../../runtime/errors.ts'
import { inTime } from '../program/in-time.ts'
import { CONNECT_TIME, type DatabaseServer, type ServerKind } from './kind.ts'

/** Retry-After in seconds, sent when the database is unreachable. */
const RETRY_AFTER = 5

/**
 * Wraps a dialect. If the server is unreachable, every connection, statement, commit and rollback fails with
 * ERR_DATABASE_UNREACHABLE. Waits at most 5 s for a connection. Bytes are passed and returned as `Uint8Array`.
 */
export function serverDialect(dialect: Dialect, kind: ServerKind, server: DatabaseServer): Dialect {
  async function mapErrors<T>(work: Promise<T>): Promise<T> {
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
    createDriver: () => mappedDriver(dialect.createDriver(), mapErrors),
  }
}

/** @param cause included in the error for its stack. The message contains neither the account nor the password. */
export function unreachable(kind: ServerKind, { host, port }: DatabaseServer, cause: unknown): PlatformError {
  const { code } = (Array.isArray(cause) ? cause[0] : cause) as { code?: unknown }
  const why = typeof code === 'string' ? ` (${code})` : ''
  const properties = ['SERVER', 'PORT'].map((word) => `DB_${kind.name.toUpperCase()}_${word}`).join(' and ')
  return new PlatformError(
    'ERR_DATABASE_UNREACHABLE',
    `The database server ${kind.name} (${kind.product}) at ${host}:${port} does not respond${why}. ` +
      `Start it, or set ${properties} to its address.`,
    { retryAfter: RETRY_AFTER },
    { cause },
  )
}

type MapErrors = <T>(work: Promise<T>) => Promise<T>

class MappedConnection implements DatabaseConnection {
  readonly inner: DatabaseConnection
  readonly #mapErrors: MapErrors

  constructor(inner: DatabaseConnection, mapErrors: MapErrors) {
    this.inner = inner
    this.#mapErrors = mapErrors
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const parameters = query.parameters.map((value) => (value instanceof Uint8Array ? bufferOf(value) : value))
    const result = await this.#mapErrors(this.inner.executeQuery<R>({ ...query, parameters }))
    for (const row of result.rows) withPlainBytes(row)
    return result
  }

  // biome-ignore lint/correctness/useYield: the platform reads whole results, with bounds of its own
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new TypeError('streaming is not supported')
  }
}

function mappedDriver(driver: Driver, mapErrors: MapErrors): Driver {
  const innerOf = (connection: DatabaseConnection) => (connection as MappedConnection).inner
  return {
    init: (options) => driver.init(options),
    acquireConnection: async (options) =>
      new MappedConnection(await mapErrors(connectedInTime(driver, driver.acquireConnection(options))), mapErrors),
    releaseConnection: (connection, options) => driver.releaseConnection(innerOf(connection), options),
    beginTransaction: (connection, settings) => mapErrors(driver.beginTransaction(innerOf(connection), settings)),
    commitTransaction: (connection) => mapErrors(driver.commitTransaction(innerOf(connection))),
    rollbackTransaction: (connection) => mapErrors(driver.rollbackTransaction(innerOf(connection))),
    destroy: (options) => driver.destroy(options),
  }
}

/**
 * Limits how long a caller waits for a connection. A connection that arrives later is returned to the pool.
 * @throws an ETIMEDOUT error after the timeout
 */
async function connectedInTime(driver: Driver, connecting: Promise<DatabaseConnection>): Promise<DatabaseConnection> {
  // All database kinds treat ETIMEDOUT as an unreachable server.
  const error = Object.assign(new Error('no database connection became available in time'), { code: 'ETIMEDOUT' })
  // This timeout is slightly longer than the pool's own, because the pool's error is more specific.
  const time = CONNECT_TIME + 200
  try {
    return await inTime(time, connecting, () => error)
  } catch (failure) {
    if (failure === error) connecting.then((late) => driver.releaseConnection(late)).catch(() => {})
    throw failure
  }
}

/**
 * Returns a view of the bytes as a `Buffer`, because the drivers don't accept other arrays. The bytes are not copied.
 */
function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

function withPlainBytes(row: unknown): void {
  const columns = row as Record<string, unknown>
  for (const [name, value] of Object.entries(columns)) {
    if (Buffer.isBuffer(value)) columns[name] = new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  }
}
