import type { BrowserEvent, HostFrame, NumberedFrame } from '../frames.ts'
import type { Dial, Line } from './line.ts'

type WithoutNumber<Frame> = Frame extends unknown ? Omit<Frame, 'seq'> : never
/** What a user did; the exchange numbers it. */
export type NewFrame = WithoutNumber<NumberedFrame>

export interface ExchangeParts {
  readonly dial: Dial
  /** Names this load of the page, so that the host knows whose numbers it reads. */
  readonly page: string
  readonly kept: KeptClient
  size(): { readonly width: number; readonly height: number }
  /**
   * Each frame that is not the exchange's own business (`hello`). `reopened` is told also where the answer to the hello
   * says that the client before is no more.
   */
  received(frame: HostFrame): void
  /** After every change of these two. */
  changed(state: ExchangeState): void
  /** From 0 to 1, for the pauses between tries: not all browsers come back at once. */
  readonly random: () => number
}

/** The client of this tab: a reload of the page, or a new connection, gets it back from the host by its id. */
export interface KeptClient {
  /** Null where this tab has had none. */
  readonly id: string | null
  keep(id: string): void
  /** What this tab opens next is another's work, or begins anew. */
  forget(): void
}

export type ExchangeState = {
  /** Whether no connection was lost, or one is back. */
  readonly isOnline: boolean
  /** Whether an answer is awaited, or the host says that it is busy. */
  readonly isWaiting: boolean
}

export interface Exchange {
  /**
   * Sends now, or when the connection is back. A later value of an input takes the place of one that never left.
   * @returns the frame's number
   */
  send(frame: NewFrame): number
  /** Whether what is sent leaves at once. */
  readonly isOnline: boolean
  /** The network is said to be back: tries at once. */
  retry(): void
  /** The network is said to be gone: does not wait for the connection to notice. */
  drop(): void
  /** The page is left, maybe for good: the host need not wait. `retry` connects again. */
  suspend(): void
  /** No more connections. */
  end(): void
}

/** Milliseconds. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 15_000
/** At most, before the page of a host that goes away asks another one: not all of its pages at once. */
const MOVING_PAUSE = 1000
/**
 * Milliseconds without any frame while an answer is awaited, after which the line counts as dead. A call takes 2 s at
 * most, so a host that lives has said something.
 */
const SILENCE = 20_000

/**
 * Keeps a connection and all that was not answered yet. After a loss it connects again, with growing pauses, asks how far
 * the host got, and sends the rest once more in order.
 */
export function createExchange({ dial, page, kept, size, received, changed, random }: ExchangeParts): Exchange {
  let line: Line | null = null
  let isGreeted = false
  /** Since a line was lost, until the next is greeted; a page that was left and comes back has lost none. */
  let isLost = false
  let isOver = false
  let isBusy = false
  let tries = 0
  let pause: ReturnType<typeof setTimeout> | undefined
  let silence: ReturnType<typeof setTimeout> | undefined
  let lastSeq = 0
  /** The highest number that left on any line. */
  let leftSeq = 0
  let unanswered: NumberedFrame[] = []
  /** The client that the last hello named. */
  let named: string | null = null

  connect()
  return {
    get isOnline() {
      return isGreeted
    },
    send(frame) {
      if (isOver) return lastSeq
      const waiting = unanswered.findIndex((one) => one.seq > leftSeq && isSameInput(one, frame))
      if (waiting !== -1) unanswered.splice(waiting, 1)
      lastSeq += 1
      const numbered = { ...frame, seq: lastSeq } as NumberedFrame
      unanswered.push(numbered)
      if (isGreeted) transmit(numbered)
      tell()
      return lastSeq
    },
    retry() {
      if (line !== null || isOver) return
      clearTimeout(pause)
      connect()
    },
    drop() {
      if (line !== null) lost()
    },
    suspend: hangUp,
    end() {
      isOver = true
      unanswered = []
      hangUp()
    },
  }

  function connect(): void {
    line = dial({
      opened() {
        named = kept.id
        line?.send(JSON.stringify({ kind: 'hello', client: named, page, ...size() }))
      },
      received: read,
      lost,
    })
  }

  function read(text: string): void {
    const frame = JSON.parse(text) as HostFrame
    clearTimeout(silence)
    silence = undefined
    if (frame.kind === 'hello') {
      isGreeted = true
      isLost = false
      tries = 0
      kept.keep(frame.client)
      if (frame.isNew && named !== null) take({ kind: 'reopened' })
      answered(frame.seq)
      for (const one of unanswered) transmit(one)
    }
    if (frame.kind === 'busy') isBusy = true
    if (frame.kind === 'idle') {
      isBusy = false
      answered(frame.seq)
    }
    if (frame.kind !== 'hello') take(frame)
    if (isOver) return
    listen()
    tell()
  }

  function take(frame: HostFrame): void {
    if (frame.kind === 'reopened') {
      // What was done in the client before is not done in this one. Numbers go on: they are the page's.
      unanswered = []
      isBusy = false
    }
    received(frame)
  }

  function answered(seq: number): void {
    unanswered = unanswered.filter((one) => one.seq > seq)
  }

  function transmit(frame: NumberedFrame): void {
    leftSeq = Math.max(leftSeq, frame.seq)
    line?.send(JSON.stringify(frame))
    listen()
  }

  function listen(): void {
    if (!isGreeted || unanswered.length === 0 || silence !== undefined) return
    silence = setTimeout(() => lost(), SILENCE)
  }

  function hangUp(): void {
    line?.close()
    line = null
    isGreeted = false
    isBusy = false
    clearTimeout(pause)
    clearTimeout(silence)
    silence = undefined
  }

  function lost(isMoving = false): void {
    // Nothing is lost yet: the user is told only where no other host is there.
    const isMoved = isMoving && isGreeted && !isLost
    hangUp()
    if (isOver) return
    if (isMoved) pause = setTimeout(connect, MOVING_PAUSE * random())
    else retryLater()
    tell()
  }

  function retryLater(): void {
    isLost = true
    const longest = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** tries)
    tries += 1
    pause = setTimeout(connect, longest * (0.5 + random() / 2))
  }

  function tell(): void {
    changed({ isOnline: !isLost, isWaiting: isGreeted && (isBusy || unanswered.length > 0) })
  }
}

function isSameInput(one: NumberedFrame, frame: NewFrame): boolean {
  if (one.kind !== frame.kind) return false
  if (one.kind === 'resize') return true
  const { type, form, element } = frame as Omit<BrowserEvent, 'seq'>
  const isValue = type === 'onElementDataChange' || type === 'showTab'
  return isValue && one.type === type && one.form === form && one.element === element
}
