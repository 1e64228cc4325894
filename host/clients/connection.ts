import type { WebSocket } from 'ws'
import type { BrowserFrame, HostFrame } from '../web/frames.ts'
import { readBrowserFrame } from '../web/frames.ts'

/** One browser's WebSocket: frames in and out, bounded. It knows nothing of what they mean. */
export interface Connection {
  send(frame: HostFrame): void
  /** A frame that no page of the solution sends: some are forgiven, then the connection ends. */
  refuse(): void
  /** @param code of RFC 6455, section 7.4; a last frame tells the page why */
  close(code: number, last?: HostFrame): void
  /** Whether the browser answers within `milliseconds`: a line that was lost may look open for long. */
  answers(milliseconds: number): Promise<boolean>
  /** Ends a connection whose browser did not answer the last time, and asks anew. */
  checkHeartbeat(): void
}

export type ConnectionEvents = {
  readonly frame: (frame: BrowserFrame) => void
  /** It is over; `refused` counts the frames that were refused. Called once. */
  readonly closed: (refused: number) => void
}

/** Frames that a browser may send at once, and how many more each second. Nobody clicks or types like that. */
const BURST = 300
const PER_SECOND = 60
/** So many bytes of a frame count as a frame more. */
const BYTES_OF_ONE = 4096
/** Refused frames that are forgiven; a form that changed under a click makes one now and then. */
const FORGIVEN = 20
/** One is forgotten in so many ms. */
const FORGOTTEN_EVERY = 3000
/** Bytes that wait for a browser that does not read; then it is not worth waiting for. */
const MOST_WAITING = 16 * 1024 ** 2
/** Milliseconds within which a browser says what it wants. */
const GREETING_TIME = 10_000
/** Milliseconds that a browser gets to answer a close. */
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
  const greeting = setTimeout(() => socket.terminate(), GREETING_TIME)

  socket.on('message', (data, isBinary) => {
    // The library gives buffers unless it is told otherwise.
    if (!isWithinAllowance((data as Buffer).length)) return
    const frame = isBinary ? null : readBrowserFrame(data.toString())
    if (frame?.kind === 'hello') clearTimeout(greeting)
    if (frame === null) refuse()
    else events.frame(frame)
  })
  // Browsers send none. The library answers them, and has ended a connection where too many answers wait.
  socket.on('ping', () => {
    if (isWithinAllowance() && socket.readyState !== socket.OPEN) refused += 1
  })
  socket.on('pong', () => {
    isAlive = true
    isWithinAllowance()
  })
  // A frame that is too long, or none at all: the library ends the connection by itself.
  socket.on('error', () => {
    refused += 1
  })
  socket.on('close', () => {
    clearTimeout(greeting)
    isOver = true
    events.closed(refused)
  })

  /** Counts what came. @returns false for what is not looked at any more */
  /** @param bytes a long frame counts as several: reading it takes the host as long */
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
    // What else it sends is not even received, until the time for closing is over.
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
    if (socket.bufferedAmount > MOST_WAITING) socket.terminate()
    else socket.send(JSON.stringify(frame))
  }

  return {
    send,
    refuse,
    close,
    async answers(milliseconds) {
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
    },
    checkHeartbeat() {
      if (!isAlive) return socket.terminate()
      isAlive = false
      if (socket.readyState === socket.OPEN) socket.ping()
    },
  }
}
