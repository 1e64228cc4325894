import { randomBytes } from 'node:crypto'
import type { WebSocketServer } from 'ws'
import { networkOf } from '../../base/http/network.ts'
import { createWebSocketServer } from '../../base/http/upgrades.ts'
import { finishesWithin } from '../../base/program/in-time.ts'
import { repeat } from '../../base/work/repeat.ts'
import type { LimitName } from '../../runtime/limits.ts'
import type { NewLogLine } from '../solutions/solution-log.ts'
import { type DevReport, MAX_BROWSER_FRAME } from '../web/frames.ts'
import { type Client, createClient } from './client.ts'
import type { Hello } from './client-browser.ts'
import { createClientCaller } from './client-calls.ts'
import type { ClientParts, ClientsParts } from './client-parts.ts'
import type { Connection } from './connection.ts'
import { createLateSignOuts } from './late-sign-outs.ts'
import { createMissingTexts } from './missing-texts.ts'
import { createSlowBrowsers } from './slow-browsers.ts'
import type { Visitor } from './visitor.ts'

/** The open clients on this host. */
export interface Clients {
  /** Completes WebSocket handshakes. */
  readonly sockets: WebSocketServer
  /**
   * Returns the client for a browser that has sent its first frame (`hello`): its existing client, or a new one. Null
   * if the connection was closed.
   */
  arrive(connection: Connection, hello: Hello, visitor: Visitor): Promise<Client | null>
  /**
   * On a live host: moves the solution's open clients to its active version.
   * @returns the number of moved clients, once all have moved
   */
  renew(solution: string): Promise<number>
  /**
   * On a live host: sets the report that the solution's pages show above their forms. This applies to open pages and to
   * pages opened later.
   */
  report(solution: string, report: DevReport): void
  /** Called when a browser sent frames that no page sends. */
  noteRefused(visitor: Visitor, frames: number): void
  /** Called for each frame that was sent to a browser. */
  noteSent(characters: number): void
  /** Called when a client could not be opened because of an internal error. */
  noteFault(error: unknown, visitor: Visitor): void
  /**
   * Call this before the host stops. Each client ends at a random time, and its page opens a new one on another host.
   * @param within the period for all clients, in ms
   */
  moveAll(within: number): void
  /** Closes all connections, and ends all clients within the time limit. Finishes pending sign-outs by scripts. */
  stop(): Promise<void>
}

/** Polling interval for sessions, in ms. A client ends within a second after its session, on every host. */
const SESSIONS_EVERY = 700
/** Interval in ms between checks for browsers that don't read. */
const SLOW_EVERY = 1000
/** Interval in ms between WebSocket pings. */
const HEARTBEAT = 20_000
/**
 * How long an existing connection has to respond to a ping, in ms. If it responds, the new tab is a duplicate, not a
 * reload.
 */
const ANSWER_TIME = 1000
/** How long clients have to end when the host stops, in ms. */
const STOP_TIME = 1500
/** How long running calls have to finish and send their responses before connections are closed, in ms. */
const ANSWERED_WITHIN = 1000
/** Close code when the host stops (RFC 6455, section 7.4.1). The page then connects to another host. */
const GOING_AWAY = 1001
/** The WebSocket close code "Try again later", from the IANA registry. */
const TRY_LATER = 1013

export function createClients(given: ClientsParts): Clients {
  const { limits, sessions, catalog, audit } = given
  const parts: ClientParts = {
    ...given,
    callClient: createClientCaller(given),
    missingTexts: createMissingTexts(given.log),
    lateSignOuts: createLateSignOuts(given.onError),
  }
  const clients = new Map<string, Client>()
  const sockets = createWebSocketServer(MAX_BROWSER_FRAME)
  let isStopping = false
  let moving: NodeJS.Timeout | undefined
  // While the database is down, this doesn't detect ended sessions. But each event checks its session too.
  const stopLooking = repeat(SESSIONS_EVERY, look, (error) => parts.onError(error, {}))
  const stopBeating = repeat(HEARTBEAT, () => {
    for (const { connection } of clients.values()) connection?.checkHeartbeat()
  })

  const slowBrowsers = createSlowBrowsers(() =>
    [...clients.values()].flatMap(({ connection, visitor: { address } }) =>
      connection === null ? [] : [{ connection, address }],
    ),
  )
  const stopEndingSlow = repeat(SLOW_EVERY, slowBrowsers.look)

  async function look(): Promise<void> {
    await endThoseOfEndedSessions()
    await endThoseOfGoneSolutions()
  }

  async function endThoseOfEndedSessions(): Promise<void> {
    const signedIn = [...clients.values()].flatMap((client) => {
      const { found, solution } = client.visitor
      return found === null ? [] : [{ client, realm: solution.name, cookie: found.cookie }]
    })
    if (signedIn.length === 0) return
    const living = await sessions.living(signedIn)
    for (const { client, cookie } of signedIn) if (!living.has(cookie)) void client.end('signed-out')
  }

  async function endThoseOfGoneSolutions(): Promise<void> {
    const anonymous = [...clients.values()].filter(({ visitor }) => visitor.found === null)
    for (const name of new Set(anonymous.map(({ visitor }) => visitor.solution.name))) {
      if ((await catalog.active(name)) !== null) continue
      for (const client of anonymous) if (client.visitor.solution.name === name) void client.end('gone')
    }
  }

  /**
   * Finds the client that this browser had, if it is still open. `isCopy` means that another tab uses it, and this tab
   * is a duplicate.
   */
  async function comesBackTo(hello: Hello, visitor: Visitor): Promise<{ before: Client | null; isCopy: boolean }> {
    const client = hello.client === null ? undefined : clients.get(hello.client)
    if (client === undefined || !isOfSame(client.visitor, visitor)) return { before: null, isCopy: false }
    const { connection } = client
    const isCopy = connection !== null && client.page !== hello.page && (await connection.answers(ANSWER_TIME))
    return { before: isCopy || clients.get(client.id) !== client ? null : client, isCopy }
  }

  /**
   * Writes to the audit log and the log. Identical entries from one network are written only once a minute, so that
   * repeated requests can't fill the logs.
   */
  function noteOnce({ solution, found, address }: Visitor, outcome: string, line: NewLogLine): void {
    const actor = found === null ? 'user:' : `user:${found.session.username}`
    const isNews = audit.noteOnce({ actor, action: 'client', solution: solution.name, outcome, address })
    if (isNews) parts.log.write(solution.name, line)
  }

  function moveNext(start: number, waiting: Iterator<{ readonly client: Client; readonly at: number }>): void {
    const { done, value } = waiting.next()
    if (done === true) return
    moving = setTimeout(
      () => {
        void value.client.move(GOING_AWAY)
        moveNext(start, waiting)
      },
      Math.max(0, start + value.at - performance.now()),
    )
  }

  return {
    sockets,
    async arrive(connection, hello, visitor) {
      const { before, isCopy } = await comesBackTo(hello, visitor)
      if (isStopping) {
        connection.close(GOING_AWAY)
        return null
      }
      const met = before === null ? limitMet(visitor, clients.values(), limits) : null
      if (met !== null) {
        noteOnce(visitor, 'sandbox_busy', {
          level: 'warn',
          code: 'sandbox_busy',
          message: `a client was rejected because ${limits[met]} clients are already open, which is the maximum. To allow more, raise ${met}`,
        })
        connection.close(TRY_LATER, { kind: 'closed', why: 'failed' })
        return null
      }
      const id = randomBytes(32).toString('base64url')
      const client = before ?? createClient(id, visitor, parts, ({ id: over }) => clients.delete(over))
      clients.set(client.id, client)
      client.attach(connection, hello, visitor, isCopy)
      // Another version may have become active since the browser sent its request.
      if (given.live !== undefined) void client.renew()
      return client
    },
    async renew(name) {
      const open = [...clients.values()].filter(({ visitor }) => visitor.solution.name === name)
      await Promise.all(open.map((client) => client.renew()))
      return open.length
    },
    report(name, report) {
      given.live?.reports.set(name, report)
      for (const client of clients.values()) if (client.visitor.solution.name === name) client.report(report)
    },
    noteRefused(visitor, frames) {
      const message = `the host rejected invalid WebSocket frames (${frames}) from a browser. The solution’s own pages never send such frames. A browser that sends more of them is disconnected`
      noteOnce(visitor, 'refused', { level: 'warn', message })
    },
    moveAll(time) {
      const waiting = [...clients.values()].map((client) => ({ client, at: Math.random() * time }))
      waiting.sort((one, other) => one.at - other.at)
      moveNext(performance.now(), waiting.values())
    },
    noteSent: slowBrowsers.noteSent,
    noteFault: (error, { solution }) => parts.onError(error, { solution: solution.name }),
    async stop() {
      isStopping = true
      // Don't wait for this: the database may be down, and stopping has a time limit.
      void stopLooking()
      void stopBeating()
      void stopEndingSlow()
      clearTimeout(moving)
      setTimeout(() => {
        for (const socket of sockets.clients) socket.terminate()
      }, STOP_TIME).unref()
      const moved = Promise.all([...clients.values()].map((client) => client.move(GOING_AWAY)))
      const isInTime = await finishesWithin(ANSWERED_WITHIN, moved)
      // Also close sockets that have no client, and those of calls that are still running. Otherwise, the HTTP servers
      // would wait for them.
      for (const socket of sockets.clients) socket.close(GOING_AWAY)
      if (!isInTime) await finishesWithin(STOP_TIME - ANSWERED_WITHIN, moved)
      await finishesWithin(STOP_TIME, parts.lateSignOuts.endAll())
    },
  }
}

/** @returns the limit that one more client would exceed; null if there is none */
function limitMet(
  { solution, found, address }: Visitor,
  clients: Iterable<Client>,
  limits: ClientsParts['limits'],
): LimitName | null {
  const of = [...clients].map(({ visitor }) => visitor).filter((one) => one.solution.name === solution.name)
  if (of.length >= limits.CLIENTS) return 'CLIENTS'
  if (found === null) {
    const network = networkOf(address)
    const open = of.filter((one) => one.found === null && networkOf(one.address) === network)
    return open.length >= limits.CLIENTS_ADDRESS ? 'CLIENTS_ADDRESS' : null
  }
  const ofSession = of.filter((one) => one.found?.cookie === found.cookie)
  return ofSession.length >= limits.CLIENTS_SESSION ? 'CLIENTS_SESSION' : null
}

/**
 * Whether a browser may continue with the client whose id it sent. The solution and the session must be the same. If
 * there is no session, the browser must be the same.
 */
function isOfSame(one: Visitor, other: Visitor): boolean {
  return (
    one.solution.name === other.solution.name &&
    one.isLoginForm === other.isLoginForm &&
    one.found?.session.publicId === other.found?.session.publicId &&
    (one.found !== null || one.browser === other.browser)
  )
}
