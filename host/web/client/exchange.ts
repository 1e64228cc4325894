import type { BrowserEvent, HostFrame, NumberedFrame } from '../../clients/frames.ts'
import type { Dial, Line } from './line.ts'

type WithoutNumber<Frame> = Frame extends unknown ? Omit<Frame, 'seq'> : never
/** What a user did; the exchange numbers it. */
export type NewFrame = WithoutNumber<NumberedFrame>

export interface ExchangeParts {
  readonly dial: Dial
  /** Names this load of the page, so that the host knows whose numbers it reads. */
  readonly page: string
  size(): { readonly width: number; readonly height: number }
  /** Each frame that is not the exchange's own business (`hello`). */
  received(frame: HostFrame): void
  /** After every change of these two. */
  changed(state: ExchangeState): void
  /** From 0 to 1, for the pauses between tries: not all browsers come back at once. */
  readonly random: () => number
}

export type ExchangeState = {
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
  readonly isOnline: boolean
  /** The network is said to be back: tries at once. */
  retry(): void
  /** The network is said to be gone: does not wait for the connection to notice. */
  drop(): void
  /** No more connections. */
  end(): void
}

/** Milliseconds. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 15_000
/**
 * Milliseconds without any frame while an answer is awaited, after which the line counts as dead. A call takes 2 s at
 * most, so a host that lives has said something.
 */
const SILENCE = 20_000

/**
 * Keeps a connection and all that was not answered yet. After a loss it connects again, with growing pauses, asks how far
 * the host got, and sends the rest once more in order.
 */
export function createExchange({ dial, page, size, received, changed, random }: ExchangeParts): Exchange {
  let line: Line | null = null
  let isGreeted = false
  let isOver = false
  let isBusy = false
  let tries = 0
  let pause: ReturnType<typeof setTimeout> | undefined
  let silence: ReturnType<typeof setTimeout> | undefined
  let lastSeq = 0
  /** The highest number that left on any line. */
  let leftSeq = 0
  let unanswered: NumberedFrame[] = []

  connect()
  return {
    get isOnline() {
      return isGreeted
    },
    send(frame) {
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
      line?.close()
      if (line !== null) lost()
    },
    end() {
      isOver = true
      isGreeted = false
      isBusy = false
      unanswered = []
      clearTimeout(pause)
      clearTimeout(silence)
      line?.close()
      line = null
    },
  }

  function connect(): void {
    line = dial({
      opened: () => line?.send(JSON.stringify({ kind: 'hello', page, ...size() })),
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
      tries = 0
      answered(frame.seq)
      for (const one of unanswered) transmit(one)
    }
    if (frame.kind === 'busy') isBusy = true
    if (frame.kind === 'idle') {
      isBusy = false
      answered(frame.seq)
    }
    if (frame.kind !== 'hello') received(frame)
    if (isOver) return
    listen()
    tell()
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
    silence = setTimeout(() => {
      line?.close()
      if (line !== null) lost()
    }, SILENCE)
  }

  function lost(): void {
    line = null
    isGreeted = false
    isBusy = false
    clearTimeout(silence)
    silence = undefined
    if (isOver) return
    const longest = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** tries)
    tries += 1
    clearTimeout(pause)
    pause = setTimeout(connect, longest * (0.5 + random() / 2))
    tell()
  }

  function tell(): void {
    changed({ isOnline: isGreeted, isWaiting: isGreeted && (isBusy || unanswered.length > 0) })
  }
}

function isSameInput(one: NumberedFrame, frame: NewFrame): boolean {
  if (one.kind !== frame.kind) return false
  if (one.kind === 'resize') return true
  const { type, form, element } = frame as Omit<BrowserEvent, 'seq'>
  const isValue = type === 'onElementDataChange' || type === 'showTab'
  return isValue && one.type === type && one.form === form && one.element === element
}
