import { EventEmitter } from 'node:events'
import type { Connection, Request } from 'tedious'
import type { Parameter, Row } from '../../plugins/database/host.ts'
import { floatOf, integerOf } from './answer.ts'
import {
  CONNECT_TIME,
  type QueryServer,
  type ServerConnection,
  type ServerQuery,
  type Target,
} from './server-connection.ts'

type Value = Row[string]
type Tedious = typeof import('tedious')

/** Microsoft SQL Server. */
export const beta: QueryServer = {
  connect,
  messageOf: (error) => {
    const { number, message } = error as { number?: unknown; message?: unknown }
    return typeof number === 'number' && typeof message === 'string' ? message : null
  },
  isTimeout: (error) => (error as { code?: unknown }).code === 'ETIMEOUT',
}

async function connect(target: Target): Promise<ServerConnection> {
  const tedious = await import('tedious')
  const connection = new tedious.Connection({
    server: target.host,
    authentication: { type: 'default', options: { userName: target.username, password: target.password } },
    options: {
      port: target.port,
      database: target.database,
      appName: 'solhost solution',
      encrypt: target.tls !== 'off',
      trustServerCertificate: target.tls !== 'verify',
      connectTimeout: CONNECT_TIME,
      requestTimeout: 0,
      maxRetriesOnTransientErrors: 0,
      useUTC: true,
    },
  })
  let isOpen = true
  const closed = () => {
    isOpen = false
  }
  // An error event without a listener would crash the host.
  connection.on('error', closed)
  connection.on('end', closed)
  await signIn(connection)
  let failed = false

  return {
    async run({ sql, parameters, tenant, time, onRow }) {
      failed = true
      await setTenant(tedious, connection, tenant)
      await called((done) => connection.beginTransaction(done))
      await runStatement(tedious, connection, sql, parameters, time, onRow)
      await called((done) => connection.commitTransaction(done))
      failed = false
    },
    // `sp_reset_connection` also clears the session context.
    async reset() {
      if (failed) await called((done) => connection.rollbackTransaction(done))
      failed = false
      await called((done) => connection.reset(done))
    },
    // The server rolls the transaction back when the connection is closed.
    destroy() {
      isOpen = false
      closeQuietly(connection)
    },
    isOpen: () => isOpen,
    bytesRead: () => (connection as Connection & { socket?: { bytesRead: number } }).socket?.bytesRead ?? 0,
  }
}

/**
 * Connects and logs in. The server reports why it rejected a login in separate messages, which are added to the error.
 */
async function signIn(connection: Connection): Promise<void> {
  const messages: { readonly number: number }[] = []
  const listen = (message: { readonly number: number }) => void messages.push(message)
  connection.on('errorMessage', listen)
  try {
    await called((done) => connection.connect(done))
  } catch (error) {
    closeQuietly(connection)
    throw Object.assign(new Error('the login was rejected', { cause: error }), { errors: messages })
  } finally {
    connection.off('errorMessage', listen)
  }
}

/**
 * Closes a connection. Works around a bug in tedious 20.3 that would crash the host. `close` removes the current
 * request, but tedious still calls that request's callback if it has already read a response. So a request that does
 * nothing is set afterwards.
 */
function closeQuietly(connection: Connection): void {
  connection.close()
  Object.assign(connection, { request: Object.assign(new EventEmitter(), { callback() {} }) })
}

function called(call: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => (error ? reject(error) : resolve()))
  })
}

/** Sets the tenant. It is read-only until the connection is reset, so the query can't change it. */
function setTenant(tedious: Tedious, connection: Connection, tenant: string | null): Promise<void> {
  return called((done) => {
    const request = new tedious.Request(
      "EXEC sp_set_session_context @key = N'platform.tenant', @value = @tenant, @read_only = 1",
      done,
    )
    request.addParameter('tenant', tedious.TYPES.NVarChar, tenant)
    connection.execSql(request)
  })
}

function runStatement(
  tedious: Tedious,
  connection: Connection,
  sql: string,
  parameters: readonly Parameter[],
  time: number,
  onRow: ServerQuery['onRow'],
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new tedious.Request(sql, (error) => (error ? reject(error) : resolve()))
    request.setTimeout(time)
    for (const [index, value] of parameters.entries()) addParameter(tedious, request, `p${index + 1}`, value)
    request.on('row', (columns: readonly Column[]) => {
      try {
        onRow(
          columns.map(({ metadata }) => metadata.colName),
          columns.map(({ metadata, value }) => plainOf(value, metadata.type.name)),
        )
      } catch (error) {
        reject(error)
      }
    })
    connection.execSql(request)
  })
}

type Column = {
  readonly metadata: { readonly colName: string; readonly type: { readonly name: string } }
  readonly value: unknown
}

function addParameter({ TYPES }: Tedious, request: Request, name: string, value: Parameter): void {
  if (typeof value === 'boolean') request.addParameter(name, TYPES.Bit, value)
  else if (typeof value !== 'number') request.addParameter(name, TYPES.NVarChar, value)
  else if (Number.isInteger(value) && Math.abs(value) < 2 ** 31) request.addParameter(name, TYPES.Int, value)
  else if (Number.isSafeInteger(value)) request.addParameter(name, TYPES.BigInt, value)
  else request.addParameter(name, TYPES.Float, value)
}

/** @param type the driver's name for the column's type, such as `DateTimeOffset` */
function plainOf(value: unknown, type: string): Value {
  if (value === null || value === undefined) return null
  if (typeof value === 'number') return /^(Decimal|Numeric|.*Money)/.test(type) ? `${value}` : floatOf(value)
  if (typeof value === 'boolean') return value
  if (typeof value === 'string') return /^BigInt$|^IntN$/.test(type) ? integerOf(value) : value
  if (typeof value === 'bigint') return integerOf(value)
  if (value instanceof Date) return timeOf(value, type)
  if (Buffer.isBuffer(value)) return value.toString('base64')
  return JSON.stringify(value) ?? null
}

/** Only `datetimeoffset` values have a time zone. The others are dates or times of day without one. */
function timeOf(value: Date, type: string): string {
  if (Number.isNaN(value.getTime())) return ''
  const text = value.toISOString()
  if (type === 'DateTimeOffset') return text
  if (type === 'Date') return text.slice(0, 10)
  return type === 'Time' ? text.slice(11, -1) : text.slice(0, -1)
}
