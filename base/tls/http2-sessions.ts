import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import proxyAddr from 'proxy-addr'
import type { Limits } from '../../runtime/limits.ts'
import { networkOf } from '../http/network.ts'
import { endLargest, MOST_HELD } from '../http/slow-connections.ts'
import { repeat } from '../work/repeat.ts'

/** A connection without an open request is closed after so long, in ms. */
const IDLE_TIME = 60_000
/** A request must have come whole within this time, in ms: as long as Node gives it by HTTP/1.1. */
const REQUEST_TIME = 300_000
/** An answer whose bytes nobody takes for so long ends, with its connection, in ms. */
const STUCK_TIME = 120_000
/** In that time at least this part of what waits is taken, so that nobody holds answers by taking a byte now and then. */
const LEAST_TAKEN = 1 / 10
/** Who takes fewer bytes between two looks is slow: 12 kB a second. */
const SLOW = 60 * 1024
const LOOK_EVERY = 5000
/** One that makes room for another gets less time to go by itself, in ms. */
const ROOM_TIME = 1000
/**
 * More connections than that close the one that was idle longest; where none is idle, one of the network that has most of
 * them, or the newest.
 */
const MOST_SESSIONS = 4096

/** How many connections one network may have, and whose are not counted by their address. */
export type ConnectionSettings = {
  readonly limits: Pick<Limits, 'HTTP2_CONNECTIONS_ADDRESS'>
  readonly trustedProxies: readonly string[]
}

type Seen = {
  /** Null: a trusted proxy, behind which everybody may be. */
  readonly network: string | null
  readonly streams: Map<ServerHttp2Stream, number>
  /** When the last request began or ended. */
  lastUse: number
  /** At the last look: what had been written, and what its answers held, in bytes. */
  written: number
  held: number
  /** The last time that nothing waited, or enough had been taken since; with what had been written and waited then, in bytes. */
  progress: { at: number; written: number; held: number }
  /** What its answers held over the time between two looks, in bytes, if it took them slowly. */
  heldSlowly: number
  /** It was told to go, and its time to do so by itself is the next `LOOK_EVERY`. */
  isTold: boolean
}

/** With an error, since a code alone is not sent; the session's own listener takes it. */
function turnAway(session: ServerHttp2Session): void {
  session.destroy(new Error('too much is asked of this connection'), constants.NGHTTP2_ENHANCE_YOUR_CALM)
}

export interface SessionWatch {
  add(session: ServerHttp2Session): void
  /** Tells each that no further request is taken; it ends with its last answer. */
  goAway(): void
  destroy(): void
}

/**
 * Keeps an eye on the connections of HTTP/2, for which Node has no limits of time by itself.
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
  /** Sessions by network; trusted proxies are in none. */
  const networks = new Map<string, Set<ServerHttp2Session>>()
  let stopLooking: (() => Promise<void>) | null = null
  let isGoing = false

  function add(session: ServerHttp2Session): void {
    // One whose handshake ended during the stop: a browser asks again elsewhere.
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
      isTold: false,
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

  /** It counts no longer. */
  function forget(session: ServerHttp2Session): void {
    const network = sessions.get(session)?.network ?? null
    sessions.delete(session)
    const others = network === null ? undefined : networks.get(network)
    others?.delete(session)
    if (network !== null && others?.size === 0) networks.delete(network)
  }

  /** Whether one more of that network may be there, after what is idle made room. */
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
    // Some at once: under such a load this is not to be done for each new connection.
    for (const session of idle.sort(byLastUse).slice(0, Math.ceil(of / 64))) {
      forget(session)
      session.goaway()
      setTimeout(() => session.destroy(), ROOM_TIME).unref()
    }
  }

  /** All are in use: so that one network, or a few, cannot keep the others out, the one that has most gives one up. */
  function takeFromLargest(own: number): boolean {
    const largest = [...networks.values()].reduce((one, other) => (other.size > one.size ? other : one), new Set())
    // Otherwise two networks would take it from one another.
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

  /** Not by `close`: its socket would stay for as long as the other side neither reads nor ends it. */
  function endIdle(session: ServerHttp2Session, seen: Seen): void {
    if (seen.isTold) session.destroy()
    else session.goaway()
    seen.isTold = true
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

/** Ends its requests that do not arrive. @returns whether its peer has not read for too long */
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
