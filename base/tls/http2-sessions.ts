import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import proxyAddr from 'proxy-addr'
import type { Limits } from '../../runtime/limits.ts'
import { networkOf } from '../http/network.ts'
import { endLargest, MOST_HELD } from '../http/slow-connections.ts'
import { repeat } from '../work/repeat.ts'

/** A connection without an open request is closed after this time, in ms. */
const IDLE_TIME = 60_000
/** A request must be received completely within this time, in ms, as in Node's HTTP/1.1 server. */
const REQUEST_TIME = 300_000
/** If the peer reads too little of a response for this time, in ms, its connection is closed. */
const STUCK_TIME = 120_000
/**
 * The peer must read at least this fraction of the pending bytes within `STUCK_TIME`. Without this limit, a peer could
 * keep responses in memory by reading a byte now and then.
 */
const LEAST_TAKEN = 1 / 10
/**
 * A connection is slow if its peer reads fewer bytes than this between two checks. This corresponds to 12 kB per
 * second.
 */
const SLOW = 60 * 1024
const LOOK_EVERY = 5000
/** Time in ms for a graceful close of a connection that must make room for another. */
const ROOM_TIME = 1000
/**
 * The number of connections above which a new one replaces the connection that has been idle longest. If none is idle,
 * it replaces one from the network with the most connections, or is rejected.
 */
const MOST_SESSIONS = 4096

/** The maximum number of connections per network, and the trusted proxies that are exempt from it. */
export type ConnectionSettings = {
  readonly limits: Pick<Limits, 'HTTP2_CONNECTIONS_ADDRESS'>
  readonly trustedProxies: readonly string[]
}

type Seen = {
  /** The peer's network; null for a trusted proxy, because many clients share its address. */
  readonly network: string | null
  readonly streams: Map<ServerHttp2Stream, number>
  /** When the last request began or ended. */
  lastUse: number
  /**
   * At the last check: the number of bytes written to the connection so far (`written`), and how many of them were
   * unread (`held`).
   */
  written: number
  held: number
  /** The time and the byte counts of the last check at which nothing was pending or the peer had read enough. */
  progress: { at: number; written: number; held: number }
  /** The bytes that stayed unread between the last two checks; 0 if the peer read fast enough. */
  heldSlowly: number
  /** Whether GOAWAY was sent. The peer has until the next check, `LOOK_EVERY` later, to close the connection. */
  isGoingAway: boolean
}

/**
 * Closes the connection with an error, because Node can't send only an error code. The session's `error` listener
 * handles the error.
 */
function turnAway(session: ServerHttp2Session): void {
  session.destroy(new Error('this connection exceeded one of the host’s limits'), constants.NGHTTP2_ENHANCE_YOUR_CALM)
}

export interface SessionWatch {
  add(session: ServerHttp2Session): void
  /** Tells each peer that no further requests are accepted. Each connection closes after its last response. */
  goAway(): void
  destroy(): void
}

/**
 * Limits the number and duration of HTTP/2 connections, because Node has no timeouts for them.
 * @param now monotonic, in ms
 */
export function createSessionWatch(
  { limits, trustedProxies }: ConnectionSettings,
  now: () => number = () => performance.now(),
  { most = MOST_SESSIONS, mostHeld = MOST_HELD } = {},
) {
  const mostOfNetwork = limits.HTTP2_CONNECTIONS_ADDRESS
  const isTrusted = proxyAddr.compile([...trustedProxies])
  const sessions = new Map<ServerHttp2Session, Seen>()
  /** Sessions by network, excluding those from trusted proxies. */
  const networks = new Map<string, Set<ServerHttp2Session>>()
  let stopLooking: (() => Promise<void>) | null = null
  let isGoing = false

  function add(session: ServerHttp2Session): void {
    // This TLS handshake finished while the host was stopping. The browser retries and connects to another host.
    if (isGoing) {
      session.close()
      return
    }
    const address = session.socket.remoteAddress ?? ''
    const network = isTrusted(address, 0) ? null : networkOf(address)
    if (!hasRoom(network)) {
      turnAway(session)
      return
    }
    const seen: Seen = {
      network,
      streams: new Map(),
      lastUse: now(),
      written: 0,
      held: 0,
      progress: { at: now(), written: 0, held: 0 },
      heldSlowly: 0,
      isGoingAway: false,
    }
    sessions.set(session, seen)
    if (network !== null) networks.set(network, (networks.get(network) ?? new Set()).add(session))
    stopLooking ??= repeat(LOOK_EVERY, look)
    session.on('stream', (stream) => {
      seen.streams.set(stream, now())
      seen.lastUse = now()
      stream.once('close', () => {
        seen.streams.delete(stream)
        seen.lastUse = now()
      })
    })
    session.once('close', () => {
      forget(session)
      if (sessions.size > 0) return
      void stopLooking?.()
      stopLooking = null
    })
  }

  /** Removes a session from the counts. */
  function forget(session: ServerHttp2Session): void {
    const network = sessions.get(session)?.network ?? null
    sessions.delete(session)
    const others = network === null ? undefined : networks.get(network)
    others?.delete(session)
    if (network !== null && others?.size === 0) networks.delete(network)
  }

  /**
   * Closes idle connections if there is no room for another connection of that network. Returns whether there is room
   * now.
   */
  function hasRoom(network: string | null): boolean {
    const own = () => (network === null ? undefined : networks.get(network))
    const isOwnFull = () => (own()?.size ?? 0) >= mostOfNetwork
    if (isOwnFull()) makeRoom(own() ?? [], mostOfNetwork)
    if (isOwnFull()) return false
    if (sessions.size >= most) makeRoom(sessions.keys(), most)
    return sessions.size < most || takeFromLargest(own()?.size ?? 0)
  }

  function makeRoom(among: Iterable<ServerHttp2Session>, of: number): void {
    const idle = [...among].filter((session) => !session.destroyed && sessions.get(session)?.streams.size === 0)
    // Close several connections at a time, because sorting them for each new connection would be too expensive under
    // load.
    for (const session of idle.sort(byLastUse).slice(0, Math.ceil(of / 64))) {
      forget(session)
      session.goaway()
      setTimeout(() => session.destroy(), ROOM_TIME).unref()
    }
  }

  /**
   * Closes a connection from the network with the most connections, so that a few networks can't block the others.
   * Called if no connection is idle.
   */
  function takeFromLargest(own: number): boolean {
    const largest = [...networks.values()].reduce((one, other) => (other.size > one.size ? other : one), new Set())
    // After the close, the largest network must still have at least as many connections as the new one's network.
    // Otherwise, two networks would keep closing each other's connections.
    if (largest.size <= own + 1) return false
    const [longest] = [...largest].sort(byLastUse)
    if (longest === undefined) return false
    forget(longest)
    turnAway(longest)
    return true
  }

  function byLastUse(one: ServerHttp2Session, other: ServerHttp2Session): number {
    return (sessions.get(one)?.lastUse ?? 0) - (sessions.get(other)?.lastUse ?? 0)
  }

  function look(): void {
    for (const [session, seen] of sessions) {
      if (session.destroyed) continue
      if (isTooLong(session, seen, now)) turnAway(session)
      else if (seen.streams.size === 0 && now() - seen.lastUse > IDLE_TIME) endIdle(session, seen)
    }
    endSlow()
  }

  function endSlow(): void {
    const slow = [...sessions].filter(([{ destroyed }, { heldSlowly }]) => heldSlowly > 0 && !destroyed)
    endLargest(
      slow.map(([session, { network, heldSlowly: held }]) => ({ network, held, end: () => turnAway(session) })),
      mostHeld,
    )
  }

  /** Don't use `close` here: the socket would stay open for as long as the peer neither reads nor closes it. */
  function endIdle(session: ServerHttp2Session, seen: Seen): void {
    if (seen.isGoingAway) session.destroy()
    else session.goaway()
    seen.isGoingAway = true
  }

  const watch: SessionWatch & { readonly look: () => void; readonly count: () => number } = {
    add,
    goAway() {
      isGoing = true
      for (const session of sessions.keys()) session.close()
    },
    destroy() {
      for (const session of sessions.keys()) session.destroy()
    },
    look,
    count: () => sessions.size,
  }
  return watch
}

/** Cancels requests that take too long to arrive. @returns whether the peer has not read responses for too long */
function isTooLong(session: ServerHttp2Session, seen: Seen, now: () => number): boolean {
  let isWaiting = false
  let held = 0
  for (const [stream, begun] of seen.streams) {
    isWaiting ||= stream.writableEnded && !stream.writableFinished
    held += stream.writableLength
    if (!stream.readableEnded && !stream.endAfterHeaders && !stream.writableEnded && now() - begun > REQUEST_TIME) {
      stream.close(constants.NGHTTP2_CANCEL)
    }
  }
  const written = session.socket?.bytesWritten ?? 0
  seen.heldSlowly = written - seen.written < SLOW ? Math.min(held, seen.held) : 0
  seen.written = written
  seen.held = held
  const { progress } = seen
  const enough = Math.max(1, progress.held * LEAST_TAKEN)
  if (!isWaiting || written - progress.written >= enough) seen.progress = { at: now(), written, held }
  return now() - seen.progress.at > STUCK_TIME
}
