import { type Dialect, PostgresAdapter, PostgresDialect, type PostgresPool, type PostgresPoolClient, sql } from 'kysely'
import type { ClientConfig, PoolClient, PoolConfig } from 'pg'
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
import { rejectInvalidMessages } from './postgres-messages.ts'

/** PostgreSQL. Error codes: https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const alpha: ServerKind = {
  name: 'alpha',
  product: 'PostgreSQL',
  adapter: PostgresAdapter,
  conflict: 'on conflict',
  rowLimit: 'limit',
  byteLength: 'octet_length',
  systemDatabase: 'postgres',
  createDialect: alphaDialect,
  // template0 is used because other templates may have been created with a different encoding.
  createDatabase: (name) => sql`create database ${sql.id(name)} encoding 'UTF8' template template0`,
  columns: async () => ({
    key: sql`text collate "C"`,
    text: sql`text collate "C"`,
    bytes: 'bytea',
    id: 'bigint',
    counts: (column) => column.generatedByDefaultAsIdentity(),
  }),
  isUniqueViolation: (error) => codeOf(error) === '23505',
  isFull: (error) => codeOf(error) === '53100',
  isDeadlock: (error) => codeOf(error) === '40P01' || codeOf(error) === '40001',
  // 42P04 is duplicate_database. If two hosts create the database at the same time, one of them may get a unique
  // violation from the catalog instead.
  isDatabaseThere: (error) => codeOf(error) === '42P04' || codeOf(error) === '23505',
  failureOf,
  async check(db) {
    const { rows } = await sql<{ encoding: string }>`select current_setting('server_encoding') as encoding`.execute(db)
    const encoding = rows[0]?.encoding
    return encoding === 'UTF8'
      ? null
      : `has the encoding ${encoding}, but Solhost requires UTF8. Create the database again with the encoding UTF8`
  },
}

const AWAY = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
]

function failureOf(error: unknown): Failure | null {
  const code = codeOf(error)
  const { message = '' } = error as { message?: string }
  if (isNetworkError(error) || AWAY.some((start) => message.startsWith(start))) return 'away'
  // These codes mean that the connection failed, that the server is starting, stopping or has crashed, or that it has
  // too many connections.
  if (/^08|^57P0[123]$|^53300$/.test(code)) return 'away'
  // The driver reports an error that starts with "SASL:" if the server requires a password and none is set.
  if (/^28/.test(code) || message.startsWith('SASL')) return 'account'
  if (isTlsError(error) || message.startsWith('The server does not support SSL')) return 'tls'
  if (code === '3D000') return 'no-database'
  return code === '42501' ? 'rights' : null
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? '')
}

async function alphaDialect(
  server: DatabaseServer,
  database: string | null,
  options: PoolOptions = {},
): Promise<Dialect> {
  const { default: pg } = await import('pg')
  const { connections, statementTime } = { ...DEFAULT_POOL, ...options }
  class CheckedClient extends pg.Client {
    constructor(config?: ClientConfig) {
      super(config)
      rejectInvalidMessages(this)
    }
  }
  const pool = new pg.Pool({
    Client: CheckedClient,
    host: server.host,
    port: server.port,
    user: server.username,
    password: server.password,
    database: database ?? alpha.systemDatabase ?? '',
    // The certificate must be valid for `host`, even if `host` is an IP address.
    ssl: server.tls === 'off' ? false : { rejectUnauthorized: server.tls === 'verify', host: server.host },
    application_name: 'solhost',
    max: connections,
    connectionTimeoutMillis: CONNECT_TIME,
    query_timeout: statementTime,
    keepAlive: true,
    types: { getTypeParser: numberParser(pg.types) },
  })
  // A connection that breaks while idle or between two statements must not crash the process. The pool drops it, and
  // the next caller that uses it gets the error.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return new PostgresDialect({ pool: discardingPool(pool) })
}

/**
 * Converts `bigint` and its sums to numbers. By default, the driver returns them as text. The platform's numbers stay
 * below 2^53.
 */
function numberParser(types: typeof import('pg').types): NonNullable<PoolConfig['types']>['getTypeParser'] {
  const numbers = new Set<number>([types.builtins.INT8, types.builtins.NUMERIC])
  return ((oid: number, format?: 'text' | 'binary') =>
    numbers.has(oid) && format !== 'binary' ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser
}

/**
 * Wraps a pool. Discards each connection whose statement timed out, because the next statement would get the old
 * statement's rows.
 */
function discardingPool(pool: import('pg').Pool): PostgresPool {
  return {
    options: pool.options,
    async connect() {
      return discarding(await pool.connect())
    },
    end: () => pool.end(),
  }
}

function discarding(client: PoolClient): PostgresPoolClient {
  let broken = false
  async function query(text: string, parameters: readonly unknown[]) {
    try {
      return await client.query(text, parameters.map(withoutNul))
    } catch (error) {
      broken ||= failureOf(error) === 'away'
      throw error
    }
  }
  // Kysely calls the other query methods only for streaming, which the platform never uses.
  return { query, release: () => client.release(broken) } as unknown as PostgresPoolClient
}

/** Replaces U+0000 with U+FFFD, because PostgreSQL can't store U+0000 in text. Scripts can write it to the log. */
function withoutNul(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\u{fffd}') : value
}
