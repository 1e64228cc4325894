import type { WebSocket } from 'ws'
import type { BrowserFrame, HostFrame } from '../web/frames.ts'
import { readBrowserFrame } from '../web/frames.ts'

/** The WebSocket of one browser, with rate limits. It does not interpret the frames. */
export interface Connection {
  send(frame: HostFrame): void
  /** Call this for an invalid frame. A few are tolerated, then the connection closes. */
  refuse(): void
  /**
   * @param code see RFC 6455, section 7.4
   * @param last a final frame with the reason, for the page
   */
  close(code: number, last?: HostFrame): void
  /**
   * Pings the browser, because a lost connection can appear open for a long time.
   * @returns whether the browser responds within `milliseconds`
   */
  answers(milliseconds: number): Promise<boolean>
  /** The frames that the browser has not read (`held`), and those that it has (`taken`), in characters. */
  unread(): { readonly held: number; readonly taken: number }
  /** Closes the connection without waiting for the browser, and discards unread frames. */
  terminate(): void
  /** Sends a ping. Terminates the connection instead if there was no response to the last ping. */
  checkHeartbeat(): void
}

export type ConnectionEvents = {
  readonly frame: (frame: BrowserFrame) => void
  /** Called once when the connection has closed. `refused` is the number of rejected frames. */
  readonly closed: (refused: number) => void
  /** Called after each frame that was sent. */
  readonly sent?: (characters: number) => void
}

/**
 * Rate limit: the number of frames that a browser may send in a burst, and the number per second after that. No person
 * clicks or types this fast.
 */
const BURST = 300
const PER_SECOND = 60
/** Each full block of this many bytes in a frame is counted as an additional frame. */
const BYTES_OF_ONE = 4096
/**
 * How many rejected frames are tolerated. Even a correct page can cause one: the form may change just as the user
 * clicks.
 */
const FORGIVEN = 20
/** Time in ms after which one rejected frame is forgiven. */
const FORGOTTEN_EVERY = 3000
/** Maximum bytes buffered for a browser that does not read. Above this, the connection is terminated. */
const MOST_WAITING = 16 * 1024 ** 2
/** Time in ms within which a browser must send its `hello` frame. */
const GREETING_TIME = 10_000
/** Time in ms for a browser to respond to a close frame. */
const CLOSING_TIME = 2000
const POLICY_VIOLATION = 1008

export function createConnection(
  socket: WebSocket,
  events: ConnectionEvents,
  now: () => number = () => performance.now(),
): Connection {
  let allowance = BURST
  let strikes = 0
  let refused = 0
  let last = now()
  let isOver = false
  let isAlive = true
  let sent = 0
  let answering: Promise<boolean> | null = null
  const greeting = setTimeout(() => socket.terminate(), GREETING_TIME)

  socket.on('message', (data, isBinary) => {
    // The library passes a Buffer by default.
    if (!isWithinAllowance((data as Buffer).length)) return
    const frame = isBinary ? null : readBrowserFrame(data.toString())
    if (frame?.kind === 'hello') clearTimeout(greeting)
    if (frame === null) refuse()
    else events.frame(frame)
  })
  // Browsers don't send pings. The library responds to them, and closes the connection if too many responses are
  // queued.
  socket.on('ping', () => {
    if (isWithinAllowance() && socket.readyState !== socket.OPEN) refused += 1
  })
  socket.on('pong', () => {
    isAlive = true
    isWithinAllowance()
  })
  // If the frame is too long or malformed, the library closes the connection.
  socket.on('error', () => {
    refused += 1
  })
  socket.on('close', () => {
    clearTimeout(greeting)
    isOver = true
    events.closed(refused)
  })

  /**
   * Counts a frame against the rate limit.
   * @param bytes the frame's length: a long frame is counted as several, because the host needs more time to read it
   * @returns false if the frame must be ignored
   */
  function isWithinAllowance(bytes = 0): boolean {
    if (isOver) return false
    pass()
    allowance -= 1 + Math.floor(bytes / BYTES_OF_ONE)
    if (allowance < 0) end()
    return !isOver
  }

  function pass(): void {
    const seconds = (now() - last) / 1000
    last = now()
    allowance = Math.min(BURST, allowance + seconds * PER_SECOND)
    strikes = Math.max(0, strikes - (seconds * 1000) / FORGOTTEN_EVERY)
  }

  function refuse(): void {
    refused += 1
    strikes += 1
    if (strikes > FORGIVEN) end()
  }

  function end(): void {
    refused += 1
    close(POLICY_VIOLATION, { kind: 'closed', why: 'refused' })
    // Don't receive anything more while waiting for the browser to close the connection.
    socket.pause()
  }

  function close(code: number, frame?: HostFrame): void {
    if (isOver) return
    if (frame !== undefined) send(frame)
    isOver = true
    socket.close(code)
    const timer = setTimeout(() => socket.terminate(), CLOSING_TIME)
    socket.once('close', () => clearTimeout(timer))
  }

  function send(frame: HostFrame): void {
    if (isOver || socket.readyState !== socket.OPEN) return
    if (socket.bufferedAmount > MOST_WAITING) {
      socket.terminate()
      return
    }
    const text = JSON.stringify(frame)
    socket.send(text)
    sent += text.length
    events.sent?.(text.length)
  }

  async function ping(milliseconds: number): Promise<boolean> {
    if (socket.readyState !== socket.OPEN) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const yes = () => resolve(true)
    const no = () => resolve(false)
    const timer = setTimeout(no, milliseconds)
    socket.once('pong', yes)
    socket.once('close', no)
    socket.ping()
    return promise.finally(() => {
      clearTimeout(timer)
      socket.off('pong', yes)
      socket.off('close', no)
    })
  }

  return {
    send,
    refuse,
    close,
    answers(milliseconds) {
      // The browser's responses count against its rate limit, so duplicated tabs share one ping.
      answering ??= ping(milliseconds).finally(() => {
        answering = null
      })
      return answering
    },
    unread() {
      const held = socket.bufferedAmount
      return { held, taken: sent - held }
    },
    terminate: () => socket.terminate(),
    checkHeartbeat() {
      if (!isAlive) return socket.terminate()
      isAlive = false
      if (socket.readyState === socket.OPEN) socket.ping()
    },
  }
}
