import type { PendingOperation } from 'tarn/dist/PendingOperation.js'
import type { ServerKindName } from '../../base/database/kind.ts'
import { SERVER_KINDS } from '../../base/database/kinds.ts'
import { repeat } from '../../base/work/repeat.ts'
import type { Row } from '../../plugins/database/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import { ScriptError } from '../../runtime/plugin.ts'
import { alpha } from './alpha.ts'
import { createAnswer } from './answer.ts'
import { beta } from './beta.ts'
import { gamma } from './gamma.ts'
import { overSize, overTime, serverAnswered, tooManyWaiting, unreachable, waitedTooLong } from './query-errors.ts'
import {
  CONNECT_TIME,
  type QueryServer,
  type ServerConnection,
  type ServerQuery,
  type Target,
  within,
} from './server-connection.ts'

/** One solution's access to a database on one of the operator's servers. */
export interface ServerDatabase {
  /** @throws ScriptError */
  query(query: Omit<ServerQuery, 'time' | 'onRow'>): Promise<readonly Row[]>
  /** When the last query ended, in epoch ms; null while queries run. */
  idleSince(): number | null
  /** Closes all connections. Busy ones are closed after their query. */
  close(): Promise<void>
  /** Closes all connections immediately; running queries fail. */
  kill(): Promise<void>
}

export type ServerDatabaseOptions = {
  /** The name that scripts use. */
  readonly name: string
  readonly kind: ServerKindName
  readonly target: Target
  readonly limits: Limits
  /** Reports problems that the operator must fix. */
  readonly onError: (message: string) => void
}

const SERVERS: Readonly<Record<ServerKindName, QueryServer>> = { alpha, beta, gamma }

/** Maximum connections from one solution to one database. */
const MOST_CONNECTIONS = 4
/** Maximum queries waiting for a connection. */
const MOST_WAITING = 100
/** Milliseconds after which an idle connection is closed. */
const IDLE_TIME = 60_000
/** Extra time in ms before the host aborts a query, so that the server's timeout fires first if it has one. */
const GRACE = 200
/** Interval in ms for polling the size of the incoming response. */
const WATCH = 20
/** Bytes that a response may contain in addition to its rows, for column names and types. */
const BESIDE_ROWS = 1024 ** 2

export async function createServerDatabase(options: ServerDatabaseOptions): Promise<ServerDatabase> {
  const { name, kind, target, limits, onError } = options
  const server = SERVERS[kind]
  const { Pool } = await import('tarn')
  const pool = new Pool<ServerConnection>({
    create: () => server.connect(target),
    destroy: (connection) => connection.destroy(false),
    validate: (connection) => connection.isOpen(),
    min: 0,
    max: MOST_CONNECTIONS,
    acquireTimeoutMillis: limits.QUERY_TIME + CONNECT_TIME,
    createTimeoutMillis: CONNECT_TIME + GRACE,
    idleTimeoutMillis: IDLE_TIME,
    reapIntervalMillis: 5000,
    propagateCreateError: true,
  })
  const secrets = [target.username, target.password, target.host]
  let lastUsed = Date.now()
  let underWay = 0
  const { promise: drained, resolve: drain } = Promise.withResolvers<void>()
  let closing = false
  const busy = new Set<ServerConnection>()

  async function acquire(): Promise<ServerConnection> {
    if (pool.numPendingAcquires() >= MOST_WAITING) throw tooManyWaiting()
    const pending: PendingOperation<ServerConnection> = pool.acquire()
    try {
      return await pending.promise
    } catch (error) {
      if (pool.numUsed() >= MOST_CONNECTIONS) throw waitedTooLong(limits)
      throw notThere(error)
    }
  }

  /**
   * Reports the reason to the operator. The script does not see it, because it must not learn the account or the
   * address.
   */
  function notThere(error: unknown): ScriptError {
    const why = SERVER_KINDS[kind].failureOf(error) ?? 'away'
    onError(`a solution’s database "${name}" cannot be used: ${WHY[why]}`)
    return unreachable(name)
  }

  function scriptErrorOf(error: unknown): ScriptError {
    if (error instanceof ScriptError) return error
    if (server.isTimeout(error)) return overTime(limits)
    const message = server.messageOf(error)
    if (message === null || SERVER_KINDS[kind].failureOf(error) === 'away') return notThere(error)
    return serverAnswered(message, secrets)
  }

  /** Runs a query until its last row, an error, the timeout or an oversized response, whichever comes first. */
  async function runWithin(
    connection: ServerConnection,
    query: Omit<ServerQuery, 'time' | 'onRow'>,
  ): Promise<readonly Row[]> {
    const answer = createAnswer(limits)
    const { promise: cutOff, reject } = Promise.withResolvers<never>()
    const most = connection.bytesRead() + 2 * limits.QUERY_SIZE + BESIDE_ROWS
    const timer = setTimeout(() => reject(overTime(limits)), limits.QUERY_TIME + GRACE)
    const stopWatching = repeat(WATCH, () => connection.bytesRead() > most && reject(overSize(limits)))
    try {
      const run = connection.run({ ...query, time: limits.QUERY_TIME, onRow: answer.add })
      await Promise.race([run, cutOff])
      return answer.rows
    } finally {
      clearTimeout(timer)
      void stopWatching()
    }
  }

  /** Resets and releases the connection. The caller does not wait for this. */
  async function giveBack(connection: ServerConnection): Promise<void> {
    try {
      if (connection.isOpen()) await within(connection.reset(), CONNECT_TIME)
    } catch {
      connection.destroy(false)
    } finally {
      busy.delete(connection)
      pool.release(connection)
      ended()
    }
  }

  function ended(): void {
    lastUsed = Date.now()
    underWay--
    if (closing && underWay === 0) drain()
  }

  async function close(): Promise<void> {
    closing = true
    if (underWay === 0) drain()
    await drained
    await pool.destroy()
  }

  return {
    async query(query) {
      underWay++
      const connection = await acquire().catch((error) => {
        ended()
        throw error
      })
      busy.add(connection)
      try {
        const rows = await runWithin(connection, query)
        void giveBack(connection)
        return rows
      } catch (error) {
        // After an error from the server, the connection can still be used. After any other error, its state is
        // unknown.
        if (error instanceof ScriptError || server.messageOf(error) === null) connection.destroy(true)
        void giveBack(connection)
        throw scriptErrorOf(error)
      }
    },
    idleSince: () => (underWay === 0 ? lastUsed : null),
    close,
    async kill() {
      for (const connection of busy) connection.destroy(true)
      await close()
    },
  }
}

const WHY = {
  away: 'the server cannot be reached; check its address and the network',
  account: 'the server rejects the account; check its name and password',
  'no-database': 'the server has no database with this name; create it or correct the grant',
  rights: 'the account has no access to the database; grant it access on the database server',
  tls: 'the server does not offer TLS, or its certificate is not trusted; fix the server’s TLS settings',
} as const
