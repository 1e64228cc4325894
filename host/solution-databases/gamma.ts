import type { Socket } from 'node:net'
import type { Connection, FieldPacket, QueryError } from 'mysql2'
import type { Parameter, Row } from '../../plugins/database/host.ts'
import { floatOf, isoText } from './answer.ts'
import {
  CONNECT_TIME,
  type QueryServer,
  type ServerConnection,
  type ServerQuery,
  type Target,
  within,
} from './server-connection.ts'

type Value = Row[string]

/** MySQL and MariaDB. Error numbers: https://mariadb.com/kb/en/mariadb-error-code-reference/ */
export const gamma: QueryServer = {
  connect,
  messageOf: (error) => {
    const { sqlState, sqlMessage } = error as { sqlState?: unknown; sqlMessage?: unknown }
    return typeof sqlState === 'string' && typeof sqlMessage === 'string' ? sqlMessage : null
  },
  // The errors of MariaDB's max_statement_time and MySQL's max_execution_time.
  isTimeout: (error) => [1969, 3024].includes(Number((error as { errno?: unknown }).errno)),
}

async function connect(target: Target): Promise<ServerConnection> {
  const mysql = await import('mysql2')
  const connection = await opened(mysql.createConnection(optionsOf(target)))
  let isOpen = true
  const closed = () => {
    isOpen = false
  }
  connection.on('error', closed)
  connection.on('end', closed)
  const [{ version = '' } = {}] = await within(ask(connection, 'SELECT version() AS version'), CONNECT_TIME).catch(
    (error: unknown) => {
      connection.destroy()
      throw error
    },
  )
  const isMariaDb = /mariadb/i.test(`${version}`)

  return {
    async run({ sql, parameters, tenant, time, onRow }) {
      await ask(connection, settingsOf(tenant, time, isMariaDb))
      await ask(connection, 'START TRANSACTION')
      await runStatement(connection, sql, parameters, onRow)
      await ask(connection, 'COMMIT')
    },
    // Rolls back an open transaction and clears variables, temporary tables and prepared statements.
    reset: () => called((done) => connection.reset(done)),
    destroy(running) {
      isOpen = false
      const { threadId } = connection
      connection.destroy()
      // Destroy the socket too. Otherwise, the driver keeps reading until the server stops sending rows.
      socketOf(connection)?.destroy()
      // Kill the query: the server notices a closed connection only when it sends something.
      if (running) void killThread(mysql, target, threadId)
    },
    isOpen: () => isOpen,
    bytesRead: () => socketOf(connection)?.bytesRead ?? 0,
  }
}

/** The driver's type declarations lack `stream`. */
function socketOf(connection: Connection): Socket | undefined {
  return (connection as Connection & { stream?: Socket }).stream
}

function optionsOf(target: Target) {
  const verify = target.tls === 'verify'
  return {
    host: target.host,
    port: target.port,
    user: target.username,
    password: target.password,
    database: target.database,
    ...(target.tls === 'off' ? {} : { ssl: { rejectUnauthorized: verify, verifyIdentity: verify } }),
    connectTimeout: CONNECT_TIME,
    charset: 'utf8mb4',
    // Column names come from scripts, so the driver must not generate code from them.
    disableEval: true,
    // The server must not request files from this machine (LOAD DATA LOCAL).
    flags: ['-LOCAL_FILES'],
    rowsAsArray: true,
    dateStrings: true,
    jsonStrings: true,
    supportBigNumbers: true,
  }
}

/** The SQL for a query's settings. The tenant is in hexadecimal, so that no server setting can change its meaning. */
function settingsOf(tenant: string | null, time: number, isMariaDb: boolean): string {
  const value = tenant === null ? 'NULL' : `CONVERT(X'${Buffer.from(tenant).toString('hex')}' USING utf8mb4)`
  const limit = isMariaDb ? `max_statement_time = ${time / 1000}` : `max_execution_time = ${Math.ceil(time)}`
  return `SET @platform_tenant = ${value}, SESSION time_zone = '+00:00', SESSION ${limit}`
}

function opened(connection: Connection): Promise<Connection> {
  // An error event without a listener would crash the host.
  connection.on('error', () => {})
  return called((done) => connection.connect(done)).then(() => connection)
}

function called(call: (done: (error: QueryError | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => (error ? reject(error) : resolve()))
  })
}

function ask(connection: Connection, sql: string): Promise<readonly Record<string, unknown>[]> {
  return new Promise((resolve, reject) => {
    connection.query({ sql, rowsAsArray: false }, (error, rows) =>
      error ? reject(error) : resolve(Array.isArray(rows) ? (rows as Record<string, unknown>[]) : []),
    )
  })
}

/**
 * Runs one statement; a prepared statement can't contain several. If a procedure returns several result sets, only the
 * first one is used.
 */
function runStatement(
  connection: Connection,
  sql: string,
  parameters: readonly Parameter[],
  onRow: ServerQuery['onRow'],
): Promise<void> {
  return new Promise((resolve, reject) => {
    let fields: readonly FieldPacket[] | null = null
    const command = connection.execute({ sql, rowsAsArray: true, values: [...parameters] })
    command.on('fields', (received: readonly FieldPacket[] | undefined) => {
      fields ??= received ?? null
    })
    command.on('result', (row: unknown, index?: number) => {
      if (!Array.isArray(row) || fields === null || (index ?? 0) > 0) return
      try {
        const columns = fields
        onRow(
          columns.map(({ name }) => name),
          row.map((value, place) => plainOf(value, columns[place])),
        )
      } catch (error) {
        reject(error)
      }
    })
    command.on('error', reject)
    command.on('end', () => resolve())
  })
}

const TIMESTAMP = 7
const DATETIME = 12

function plainOf(value: unknown, field: FieldPacket | undefined): Value {
  if (value === null || value === undefined) return null
  if (typeof value === 'number') return floatOf(value)
  if (typeof value === 'string') {
    const type = field?.columnType
    return type === TIMESTAMP ? `${isoText(value)}Z` : type === DATETIME ? isoText(value) : value
  }
  if (Buffer.isBuffer(value)) return value.toString('base64')
  // Geometry and vector values, which the driver parses into objects. All other types are handled above.
  return JSON.stringify(value) ?? null
}

async function killThread(mysql: typeof import('mysql2'), target: Target, threadId: number): Promise<void> {
  const connection = mysql.createConnection(optionsOf(target))
  try {
    await opened(connection)
    await ask(connection, `KILL ${Math.trunc(threadId)}`)
  } catch {
    // The server is down or the query has already ended, so there is nothing to kill.
  } finally {
    connection.destroy()
  }
}
