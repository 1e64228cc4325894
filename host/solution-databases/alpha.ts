import type { Client, Query } from 'pg'
import { rejectInvalidMessages } from '../../base/database/postgres-messages.ts'
import type { Parameter, Row } from '../../plugins/database/host.ts'
import { floatOf, integerOf, isoText } from './answer.ts'
import {
  CONNECT_TIME,
  type QueryServer,
  type ServerConnection,
  type ServerQuery,
  type Target,
  within,
} from './server-connection.ts'

type Value = Row[string]

/** PostgreSQL. Error codes: https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const alpha: QueryServer = {
  connect,
  messageOf: (error) => {
    const { severity, message } = error as { severity?: unknown; message?: unknown }
    return typeof severity === 'string' && typeof message === 'string' ? message : null
  },
  // 57014 is query_canceled, which statement_timeout raises.
  isTimeout: (error) => (error as { code?: unknown }).code === '57014',
}

async function connect(target: Target): Promise<ServerConnection> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({
    host: target.host,
    port: target.port,
    user: target.username,
    password: target.password,
    database: target.database,
    ssl: target.tls === 'off' ? false : { rejectUnauthorized: target.tls === 'verify', host: target.host },
    application_name: 'solhost solution',
    connectionTimeoutMillis: CONNECT_TIME,
    keepAlive: true,
    types: { getTypeParser: (oid: number) => (text: string) => plainOf(oid, text) },
  })
  rejectInvalidMessages(client)
  let isOpen = true
  const closed = () => {
    isOpen = false
  }
  client.on('error', closed)
  client.on('end', closed)
  try {
    await client.connect()
    await within(client.query(SETTINGS), CONNECT_TIME)
  } catch (error) {
    streamOf(client)?.destroy()
    throw error
  }
  let failed = false

  return {
    async run({ sql, parameters, tenant, time, onRow }) {
      failed = true
      await client.query(
        `BEGIN; SET LOCAL statement_timeout = ${Math.ceil(time)}; ` +
          `SELECT set_config('platform.tenant', ${client.escapeLiteral(tenant ?? '')}, true)`,
      )
      await runStatement(pg, client, sql, parameters, onRow)
      await client.query('COMMIT')
      failed = false
    },
    async reset() {
      if (failed) await client.query('ROLLBACK')
      failed = false
      await client.query('DISCARD ALL')
      await client.query(SETTINGS)
    },
    // Don't cancel the query at the server: its statement_timeout stops the query.
    destroy() {
      isOpen = false
      streamOf(client)?.destroy()
    },
    isOpen: () => isOpen,
    bytesRead: () => streamOf(client)?.bytesRead ?? 0,
  }
}

/** Sets fixed output formats, which don't depend on the server's configuration. */
const SETTINGS =
  "SET TIME ZONE 'UTC'; SET datestyle = 'ISO'; SET bytea_output = 'hex'; SET extra_float_digits = 1; " +
  'SET standard_conforming_strings = on'

type Socket = { destroy(): void; readonly bytesRead: number }

function streamOf(client: Client): Socket | undefined {
  return (client as Client & { connection?: { stream?: Socket } }).connection?.stream
}

/** Runs one statement; the extended protocol rejects several. Passes on rows as they arrive. */
function runStatement(
  pg: { readonly Query: typeof Query },
  client: Client,
  sql: string,
  parameters: readonly Parameter[],
  onRow: ServerQuery['onRow'],
): Promise<void> {
  return new Promise((resolve, reject) => {
    const config = { text: sql, values: [...parameters], rowMode: 'array', queryMode: 'extended' }
    const query = new pg.Query(config)
    query.on('row', (values: unknown, result) => {
      try {
        onRow(
          (result?.fields ?? []).map(({ name }) => name),
          values as Value[],
        )
      } catch (error) {
        reject(error)
      }
    })
    query.on('error', reject)
    query.on('end', () => resolve())
    client.query(query)
  })
}

/** Converts values of built-in types, by OID. Values of other types keep the server's text. */
function plainOf(oid: number, text: string): Value {
  switch (oid) {
    case BOOL:
      return text === 't'
    case INT2:
    case INT4:
    case INT8:
    case OID:
      return integerOf(text)
    case FLOAT4:
    case FLOAT8:
      return floatOf(Number(text))
    case BYTEA:
      return text.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex').toString('base64') : text
    case TIMESTAMP:
    case TIMESTAMPTZ:
      return isoText(text)
    default:
      return text
  }
}

const BOOL = 16
const BYTEA = 17
const INT8 = 20
const INT2 = 21
const INT4 = 23
const OID = 26
const FLOAT4 = 700
const FLOAT8 = 701
const TIMESTAMP = 1114
const TIMESTAMPTZ = 1184
