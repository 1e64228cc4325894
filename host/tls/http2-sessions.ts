import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'

/** A connection without an open request is closed after so long, in ms. */
const IDLE_TIME = 60_000
/** A request must have come whole within this time, in ms: as long as Node gives it by HTTP/1.1. */
const REQUEST_TIME = 300_000
/** An answer whose bytes nobody takes for so long ends, with its connection, in ms. */
const STUCK_TIME = 120_000
const LOOK_EVERY = 5000
/** One that makes room for another gets less time to go by itself, in ms. */
const ROOM_TIME = 1000
/** More connections than that close the one that was idle longest; where none is idle, the newest. */
const MOST_SESSIONS = 4096

type Seen = {
  readonly streams: Map<ServerHttp2Stream, number>
  /** When the last request began or ended. */
  lastUse: number
  written: number
  /** When bytes were last written, or nothing waited to be. */
  lastProgress: number
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
export function createSessionWatch(now: () => number = () => performance.now(), most = MOST_SESSIONS) {
  const sessions = new Map<ServerHttp2Session, Seen>()
  let timer: NodeJS.Timeout | null = null
  let isGoing = false

  function add(session: ServerHttp2Session): void {
    if (sessions.size >= most) makeRoom()
    // One whose handshake ended during the stop: a browser asks again elsewhere.
    if (isGoing || sessions.size >= most) {
      if (isGoing) session.close()
      else turnAway(session)
      return
    }
    const seen: Seen = { streams: new Map(), lastUse: now(), written: 0, lastProgress: now(), isTold: false }
    sessions.set(session, seen)
    timer ??= setInterval(look, LOOK_EVERY).unref()
    session.on('stream', (stream) => {
      seen.streams.set(stream, now())
      seen.lastUse = now()
      stream.once('close', () => {
        seen.streams.delete(stream)
        seen.lastUse = now()
      })
    })
    session.once('close', () => {
      sessions.delete(session)
      if (sessions.size > 0 || timer === null) return
      clearInterval(timer)
      timer = null
    })
  }

  function makeRoom(): void {
    const idle = [...sessions].filter(([{ destroyed }, { streams }]) => streams.size === 0 && !destroyed)
    idle.sort(([, one], [, other]) => one.lastUse - other.lastUse)
    // Some at once: under such a load this is not to be done for each new connection.
    for (const [session] of idle.slice(0, Math.ceil(most / 64))) {
      sessions.delete(session)
      session.goaway()
      setTimeout(() => session.destroy(), ROOM_TIME).unref()
    }
  }

  function look(): void {
    for (const [session, seen] of sessions) {
      if (session.destroyed) continue
      if (isTooLong(session, seen)) turnAway(session)
      else if (seen.streams.size === 0 && now() - seen.lastUse > IDLE_TIME) endIdle(session, seen)
    }
  }

  /** Not by `close`: its socket would stay for as long as the other side neither reads nor ends it. */
  function endIdle(session: ServerHttp2Session, seen: Seen): void {
    if (seen.isTold) session.destroy()
    else session.goaway()
    seen.isTold = true
  }

  function isTooLong(session: ServerHttp2Session, seen: Seen): boolean {
    let isWaiting = false
    for (const [stream, begun] of seen.streams) {
      isWaiting ||= stream.writableEnded && !stream.writableFinished
      if (!stream.readableEnded && !stream.endAfterHeaders && !stream.writableEnded && now() - begun > REQUEST_TIME) {
        stream.close(constants.NGHTTP2_CANCEL)
      }
    }
    const written = session.socket?.bytesWritten ?? 0
    if (!isWaiting || written !== seen.written) seen.lastProgress = now()
    seen.written = written
    return now() - seen.lastProgress > STUCK_TIME
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
