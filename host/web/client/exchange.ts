import type { BrowserEvent, HostFrame, NumberedFrame } from '../frames.ts'
import type { Dial, Line } from './line.ts'

type WithoutNumber<Frame> = Frame extends unknown ? Omit<Frame, 'seq'> : never
/** A frame without its sequence number, which the exchange assigns. */
export type NewFrame = WithoutNumber<NumberedFrame>

export interface ExchangeParts {
  readonly dial: Dial
  /** Identifies this page load, because event numbers start again with each load. */
  readonly page: string
  readonly kept: KeptClient
  size(): { readonly width: number; readonly height: number }
  /**
   * Called with each frame except `hello`, which the exchange handles. Also called with `reopened` if the response to
   * the hello shows that the previous client has ended. It may have ended while the page was open, or before a reload.
   */
  received(frame: HostFrame): void
  /** Called after every change of the state. */
  changed(state: ExchangeState): void
  /** Returns a number from 0 to 1: the jitter in the pauses between retries. Browsers then don't all retry together. */
  readonly random: () => number
}

/** Stores this tab's client id, with which the host finds the same client after a reload or reconnect. */
export interface KeptClient {
  /** Null if this tab has had no client yet. */
  readonly id: string | null
  /** Whether the browser reloaded the page or restored it, so that the user expects its earlier state. */
  readonly isReload: boolean
  keep(id: string): void
  /** Forgets the client, so that the tab's next client is new. */
  forget(): void
}

export type ExchangeState = {
  /** Whether the connection is up, or was never lost. */
  readonly isOnline: boolean
  /** Whether a response is pending, or the host has reported that it is busy. */
  readonly isWaiting: boolean
}

export interface Exchange {
  /**
   * Sends a frame now or after reconnecting. If an input's value has not been sent yet, a later value replaces it.
   * @returns the frame's number
   */
  send(frame: NewFrame): number
  /** Whether frames are sent immediately. */
  readonly isOnline: boolean
  /** Call this when the browser reports that the network is back: reconnects immediately. */
  retry(): void
  /**
   * Call this when the browser reports that the network is down: drops the connection without waiting for a timeout.
   */
  drop(): void
  /** Call this when the page is hidden, maybe permanently: closes the connection. `retry` reconnects. */
  suspend(): void
  /** Closes the connection permanently. */
  end(): void
}

/** Pauses between retries, in ms. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 15_000
/** When a host stops, each of its pages reconnects after a random time. This is the maximum in ms. */
const MOVING_PAUSE = 1000
/**
 * Time in ms after which the connection is treated as lost, if a response is pending and no frame arrives. A call takes
 * at most 2 s, so a working host responds sooner.
 */
const SILENCE = 20_000

/**
 * Maintains the connection to the host, and queues frames until the host has handled them. After a connection loss, it
 * reconnects with growing pauses. The host then reports the last event that it handled, and later events are resent in
 * order.
 */
export function createExchange({ dial, page, kept, size, received, changed, random }: ExchangeParts): Exchange {
  let line: Line | null = null
  let isGreeted = false
  /**
   * True from the loss of a connection until the host responds to the hello on the next one. Suspending the page is not
   * a loss.
   */
  let isLost = false
  let isOver = false
  let isBusy = false
  let tries = 0
  let pause: ReturnType<typeof setTimeout> | undefined
  let silence: ReturnType<typeof setTimeout> | undefined
  let lastSeq = 0
  /** The highest event number that was sent on any connection. */
  let leftSeq = 0
  let unanswered: NumberedFrame[] = []
  /** The client id in the last hello. */
  let named: string | null = null
  let wasGreeted = false

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
      if (frame.isNew && named !== null && (kept.isReload || wasGreeted)) take({ kind: 'reopened' })
      wasGreeted = true
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
      // Don't resend events of the previous client. Event numbers continue, because they are per page load.
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
    // If the page moves to another host, the user sees a message only if that host doesn't respond.
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
  if (one.kind === 'resize') return frame.kind === 'resize'
  if (one.kind !== 'event' || frame.kind !== 'event') return false
  const { type, form, element } = frame as Omit<BrowserEvent, 'seq'>
  const isValue = type === 'onElementDataChange' || type === 'showTab'
  return isValue && one.type === type && one.form === form && one.element === element
}
