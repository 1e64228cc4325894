import type { Logger } from 'pino'
import type { Signal, Target } from '../config/telemetry-settings.ts'
import type { BatchQueue, DropReason } from '../work/batch-queue.ts'
import { type PostOptions, type PostResult, post } from './post.ts'

/** The state of the exporter for one signal, for the health report. */
export type SenderState = {
  readonly signal: Signal
  /** `barred`: the collector rejects the requests because of their URL or token. */
  readonly state: 'ok' | 'away' | 'barred'
  /** The property that the operator must correct if `state` is `barred`; else null. */
  readonly correct: string | null
  /** The queue's size on disk, in bytes. */
  readonly waiting: number
  /** Number of items dropped since the process started. */
  readonly dropped: number
  /** When an item was last dropped, in epoch ms; null if none has been dropped. */
  readonly droppedAt: number | null
}

export interface Sender {
  /** Call this after adding a batch to the queue. */
  wake(): void
  dropped(count: number, reason: DropReason): void
  state(): SenderState
  /** Tries to empty the queue for up to `patience` ms. Batches that remain are sent after a restart. */
  stop(patience: number): Promise<void>
}

export type SenderParts = PostOptions & {
  readonly signal: Signal
  readonly queue: BatchQueue
  readonly log: Pick<Logger, 'warn' | 'info' | 'error'>
  readonly counted: (count: number, reason: DropReason) => void
  readonly sent: () => void
  /** Returns a random number from 0 to 1, for varying the delay. */
  readonly random?: () => number
}

/**
 * The first and the longest delay after failures, in ms. The actual delay is a random value between half and all of it,
 * so that several hosts don't retry at the same moment.
 */
const FIRST_WAIT = 1000
const LONGEST_WAIT = 60_000
/** Retry interval in ms while the token or URL is wrong. */
const BARRED_WAIT = 5 * 60_000

/** Sends the batches of one signal sequentially, in the background. */
export function createSender(parts: SenderParts): Sender {
  const { signal, queue, log, counted, sent, target, random = Math.random } = parts
  const { host } = new URL(target.url)
  const stopping = new AbortController()
  let state: SenderState['state'] = 'ok'
  let correct: string | null = null
  let dropped = 0
  let droppedAt: number | null = null
  let droppedWhileAway = 0
  let failures = 0
  let running: Promise<void> | null = null
  let isStopping = false
  /** Interrupts the loop's current wait. */
  let endWait = () => {}

  function countDropped(count: number, reason: DropReason): void {
    dropped += count
    droppedAt = Date.now()
    if (reason === 'queue_full' || reason === 'disk') droppedWhileAway += count
    counted(count, reason)
  }

  async function drain(): Promise<void> {
    for (;;) {
      const batch = queue.oldest()
      if (batch === null || stopping.signal.aborted) return
      const body = await queue.read(batch)
      if (body === null) continue
      const result = await post(body, batch.format, parts, stopping.signal)
      if (result.kind === 'taken' || result.kind === 'refused') {
        await queue.remove(batch)
        const lost = result.kind === 'taken' ? result.rejected : batch.count
        if (lost > 0) countDropped(lost, 'refused')
        if (result.kind === 'taken') sent()
        else log.warn({ signal, collector: host, status: result.status }, REFUSED)
        isBack()
        continue
      }
      if (isStopping) return
      isGone(result)
      await wait(waitAfter(result))
      if (isStopping) return
    }
  }

  function waitAfter(result: Extract<PostResult, { kind: 'later' | 'barred' }>): number {
    if (result.kind === 'barred') return BARRED_WAIT
    const longest = Math.min(FIRST_WAIT * 2 ** failures++, LONGEST_WAIT)
    return Math.max(result.wait ?? 0, longest * (0.5 + random() / 2))
  }

  /**
   * Records that the collector is unreachable, or rejects the URL or token. Logs this only if the state has changed.
   */
  function isGone(result: Extract<PostResult, { kind: 'later' | 'barred' }>): void {
    const next = result.kind === 'barred' ? 'barred' : 'away'
    const toCorrect = result.kind === 'barred' ? toBeCorrected(target, result.status) : null
    if (state === next && correct === toCorrect) return
    state = next
    correct = toCorrect
    if (result.kind === 'later') log.warn({ signal, collector: host, why: result.why }, AWAY)
    else log.error({ signal, collector: host, status: result.status }, barredText(target, result.status))
  }

  function isBack(): void {
    failures = 0
    if (state !== 'ok') log.info({ signal, collector: host }, 'the collector accepts telemetry again')
    state = 'ok'
    correct = null
    if (droppedWhileAway === 0) return
    log.warn({ signal, collector: host, dropped: droppedWhileAway }, DROPPED)
    droppedWhileAway = 0
  }

  async function wait(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    endWait = resolve
    const timer = setTimeout(resolve, milliseconds)
    timer.unref()
    await promise
    clearTimeout(timer)
  }

  function start(): void {
    running ??= drain().then(
      () => {
        running = null
        // A batch may have been added just after the check that found the queue empty.
        if (!isStopping && queue.oldest() !== null) start()
      },
      (error: Error) => {
        running = null
        log.error({ signal, stack: error.stack }, 'telemetry could not be sent')
      },
    )
  }

  return {
    wake: () => {
      if (!isStopping) start()
    },
    dropped: countDropped,
    state: () => ({ signal, state, correct, waiting: queue.size(), dropped, droppedAt }),
    async stop(patience) {
      const timer = setTimeout(() => stopping.abort(), patience)
      isStopping = true
      endWait()
      await running
      // Try again to send the remaining batches, unless the collector is known to be down.
      if (state === 'ok') await drain().catch(() => {})
      clearTimeout(timer)
      stopping.abort()
    },
  }
}

const AWAY =
  'the telemetry collector is unreachable or temporarily rejects data: telemetry is queued in PLATFORM_HOME and retried'
const REFUSED = 'the telemetry collector rejected a batch permanently: the batch was dropped'
const DROPPED =
  'telemetry was dropped while the collector was unreachable, because the queue was full (TELEMETRY_QUEUE)'

function isAboutHeaders(status: number): boolean {
  return status === 401 || status === 403
}

function toBeCorrected({ from }: Target, status: number): string {
  return isAboutHeaders(status) ? from.headers : from.url
}

function barredText(target: Target, status: number): string {
  const what = isAboutHeaders(status)
    ? 'the telemetry collector rejects this host’s credentials'
    : 'no telemetry collector responds at the configured URL'
  return `${what}: fix ${toBeCorrected(target, status)} and restart Solhost. Sign-ins keep working, and telemetry is queued in PLATFORM_HOME`
}
