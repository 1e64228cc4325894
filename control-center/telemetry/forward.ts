import { join } from 'node:path'
import type { Logger } from 'pino'
import { type ExportSettings, SIGNALS, type Signal } from '../../base/config/telemetry-settings.ts'
import { createSender, type Sender } from '../../base/outbound/sender.ts'
import { type BatchQueue, createBatchQueue } from '../../base/work/batch-queue.ts'
import { type Format, messageAnswer } from './otlp/messages.ts'

/** Forwards Satellite telemetry to an OpenTelemetry collector. Adds the names of the organisation and environment. */
export interface Forward {
  /** The format in which a signal is forwarded; null if it is not forwarded. */
  formatOf(signal: Signal): Format | null
  /**
   * Resolves when the request is in the queue on disk.
   * @param request in the format that `formatOf` returns, with the names of its organisation and environment
   * @param count the number of items in the request
   */
  pass(signal: Signal, request: Uint8Array, count: number): Promise<void>
  stop(): Promise<void>
}

export type ForwardParts = {
  readonly settings: ExportSettings
  readonly home: string
  /** `TELEMETRY_QUEUE` is in bytes; each signal gets a third. */
  readonly bound: number
  readonly log: Logger
}

/** How long the control center keeps sending queued data while it stops, in ms. */
const STOP_PATIENCE = 500

export async function openForward({ settings, home, bound, log }: ForwardParts): Promise<Forward> {
  const { targets, protocol, isCompressed, timeout } = settings
  const format = protocol === 'http/json' ? 'json' : 'pb'
  const senders = new Map<Signal, { readonly queue: BatchQueue; readonly sender: Sender }>()
  for (const signal of SIGNALS) {
    const target = targets[signal]
    if (target === undefined) continue
    const queue = createBatchQueue({
      folder: join(home, 'telemetry', signal),
      bound: Math.floor(bound / SIGNALS.length),
      dropped: (count, reason) => sender.dropped(count, reason),
    })
    const sender: Sender = createSender({
      signal,
      target,
      isCompressed,
      timeout,
      queue,
      log,
      rejectedOf: (answer, of) => messageAnswer(signal, answer, of),
      counted: () => {},
      sent: () => {},
    })
    await queue.open()
    senders.set(signal, { queue, sender })
    sender.wake()
  }

  return {
    formatOf: (signal) => (senders.has(signal) ? format : null),
    async pass(signal, request, count) {
      const to = senders.get(signal)
      await to?.queue.put(request, count, format)
      to?.sender.wake()
    },
    async stop() {
      await Promise.all([...senders.values()].map(({ sender }) => sender.stop(STOP_PATIENCE)))
    },
  }
}
