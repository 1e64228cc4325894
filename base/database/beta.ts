import { type Dialect, MssqlAdapter, MssqlDialect, sql } from 'kysely'
import type { Connection, ConnectionConfiguration } from 'tedious'
import {
  CONNECT_TIME,
  type DatabaseServer,
  DEFAULT_POOL,
  type Failure,
  isNetworkError,
  isTlsError,
  type PoolOptions,
  type ServerKind,
} from './kind.ts'

/** Microsoft SQL Server. Error numbers: https://learn.microsoft.com/sql/relational-databases/errors-events/ */
export const beta: ServerKind = {
  name: 'beta',
  product: 'Microsoft SQL Server',
  adapter: MssqlAdapter,
  conflict: null,
  rowLimit: 'top',
  byteLength: 'datalength',
  systemDatabase: 'master',
  createDialect: betaDialect,
  createDatabase: (name) => sql`create database ${sql.id(name)}`,
  columns: async () => ({
    key: sql`nvarchar(255) collate Latin1_General_100_BIN2`,
    text: sql`nvarchar(max) collate Latin1_General_100_BIN2`,
    bytes: sql`varbinary(max)`,
    id: 'bigint',
    counts: (column) => column.identity(),
  }),
  // 2627 means that a key constraint is violated, 2601 that a unique index is violated.
  isUniqueViolation: (error) => has(error, 2627, 2601),
  // 9002 means that the transaction log is full.
  isFull: (error) => has(error, 1101, 1105, 9002),
  isDeadlock: (error) => has(error, 1205),
  isDatabaseThere: (error) => has(error, 1801),
  failureOf,
  check: async () => null,
}

const AWAY = ['ESOCKET', 'ETIMEOUT', 'ECLOSE', 'EINVALIDSTATE', 'ECONNCLOSED']

function failureOf(error: unknown): Failure | null {
  // SQL Server sends two errors: first the specific one, then the generic login error (18456).
  if (has(error, 4060)) return 'no-database'
  if (has(error, 18456, 18452, 18470, 18487, 18488)) return 'account'
  // These numbers mean that the server is stopping, is paused or has too many connections. Only Azure sends the last
  // four.
  if (has(error, 6005, 17142, 17809, 40197, 40501, 40613, 49918)) return 'away'
  if (has(error, 229, 262, 2760)) return 'rights'
  // The driver wraps the reason as the cause of its ESOCKET error.
  if (all(error).some(isTlsError)) return 'tls'
  const away = all(error).some((one) => isNetworkError(one) || AWAY.includes(String(one.code)) || isPoolTimeout(one))
  return away ? 'away' : null
}

function isPoolTimeout(error: SqlServerError): boolean {
  return error.name === 'TimeoutError' || /ended without ever completing/.test(error.message ?? '')
}

type SqlServerError = { number?: unknown; code?: unknown; name?: string; message?: string }

function has(error: unknown, ...numbers: readonly number[]): boolean {
  return all(error).some(({ number }) => numbers.includes(Number(number)))
}

/** A statement can fail with several errors. Kysely then throws an array of them. */
function all(error: unknown): readonly SqlServerError[] {
  const { errors, cause } = (error ?? {}) as { errors?: unknown; cause?: unknown }
  const inner = [...(Array.isArray(error) ? error : []), ...(Array.isArray(errors) ? errors : []), cause]
  return [error, ...inner].filter((one): one is SqlServerError => typeof one === 'object' && one !== null)
}

async function betaDialect(
  server: DatabaseServer,
  database: string | null,
  options: PoolOptions = {},
): Promise<Dialect> {
  const [tarn, tedious] = await Promise.all([import('tarn'), import('tedious')])
  const { connections, statementTime } = { ...DEFAULT_POOL, ...options }
  const configuration: ConnectionConfiguration = {
    server: server.host,
    authentication: { type: 'default', options: { userName: server.username, password: server.password } },
    options: {
      port: server.port,
      database: database ?? 'master',
      appName: 'solhost',
      encrypt: server.tls !== 'off',
      trustServerCertificate: server.tls !== 'verify',
      connectTimeout: CONNECT_TIME,
      requestTimeout: statementTime,
      // The driver must not retry, because the caller gets the error and retries.
      maxRetriesOnTransientErrors: 0,
      useUTC: true,
    },
  }
  return new MssqlDialect({
    tarn: {
      Pool: tarn.Pool,
      options: {
        min: 0,
        max: connections,
        acquireTimeoutMillis: CONNECT_TIME,
        createTimeoutMillis: CONNECT_TIME,
        propagateCreateError: true,
      },
    },
    tedious: {
      ISOLATION_LEVEL: tedious.ISOLATION_LEVEL,
      TYPES: tedious.TYPES,
      Request: numberRequest(tedious),
      connectionFactory: () => tellingConnection(new tedious.Connection(configuration)),
    },
  })
}

type Column = { metadata: { type: { name: string } }; value: unknown }

/**
 * Returns a request class that converts `bigint` to a number instead of text. The platform's numbers stay below 2^53.
 */
function numberRequest({ Request }: typeof import('tedious')): typeof Request {
  return class extends Request {
    // TypeScript cannot override a single overload of `emit`.
    override emit(event: string, ...values: unknown[]): boolean {
      if (event === 'row') for (const column of values[0] as Column[]) toNumber(column)
      return (super.emit as (event: string, ...values: unknown[]) => boolean).call(this, event, ...values)
    }
  } as typeof Request
}

function toNumber(column: Column): void {
  if (typeof column.value === 'string' && /^BigInt$|^IntN$/.test(column.metadata.type.name)) {
    column.value = Number(column.value)
  }
}

type Listener = (...values: unknown[]) => void

/**
 * Prevents Kysely from printing connection errors. The caller gets them anyway, and the pool validates each connection
 * before use. After a failed login, the driver reports only the server's last message. This function adds the error
 * numbers of all messages.
 */
function tellingConnection(connection: Connection): Connection {
  const reasons: { readonly number: unknown }[] = []
  const note = ({ number }: { number: number }) => void reasons.push({ number })
  connection.on('error', () => {})
  connection.on('errorMessage', note)
  const on = connection.on.bind(connection) as (event: string, listener: Listener) => Connection
  const connect = connection.connect.bind(connection)
  return Object.assign(connection, {
    on: (event: string, listener: Listener) => (event === 'error' ? connection : on(event, listener)),
    connect: (listener: (error?: Error) => void) =>
      connect((error) => {
        connection.off('errorMessage', note)
        if (error) Object.assign(error, { errors: [...((error as AggregateError).errors ?? []), ...reasons] })
        listener(error)
      }),
  })
}
