import { join } from 'node:path'
import type { Logger } from 'pino'
import { type BatchQueue, createBatchQueue } from '../../host/telemetry/export/batch-queue.ts'
import { createSender, type Sender } from '../../host/telemetry/export/sender.ts'
import { SIGNALS, type Signal } from '../../host/telemetry/telemetry-settings.ts'
import { type Message, messageAnswer, writeRequest } from './otlp/messages.ts'
import { listOf, messageOf } from './otlp/values.ts'
import type { ForwardSettings } from './telemetry-settings.ts'

/** Whose telemetry it is, in words. */
export type Origin = { readonly organisation: string; readonly environment: string }

/** Sends what Satellites tell on to a collector, in their words, with the names of organisation and environment. */
export interface Forward {
  /** Resolves when it is in the queue on disk. Where nothing is set it does nothing. */
  pass(signal: Signal, request: Message, count: number, origin: Origin): Promise<void>
  stop(): Promise<void>
}

export type ForwardParts = {
  readonly settings: ForwardSettings
  readonly home: string
  /** `TELEMETRY_QUEUE`, in bytes: a third of it for each signal. */
  readonly bound: number
  readonly log: Logger
}

/** How long a stop tries to send what waits, in ms. */
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
    async pass(signal, request, count, origin) {
      const to = senders.get(signal)
      if (to === undefined) return
      await to.queue.put(writeRequest(signal, withOrigin(signal, request, origin), format), count, format)
      to.sender.wake()
    },
    async stop() {
      await Promise.all([...senders.values()].map(({ sender }) => sender.stop(STOP_PATIENCE)))
    },
  }
}

const LISTS = { metrics: 'resourceMetrics', logs: 'resourceLogs', traces: 'resourceSpans' } as const
const ORGANISATION = 'solhost.organisation'
const ENVIRONMENT = 'solhost.environment'

/** What a Satellite says of these names itself counts for nothing: its token says whose it is. */
function withOrigin(signal: Signal, request: Message, { organisation, environment }: Origin): Message {
  const list = LISTS[signal]
  const own = [
    { key: ORGANISATION, value: { stringValue: organisation } },
    { key: ENVIRONMENT, value: { stringValue: environment } },
  ]
  const items = listOf(request[list]).map((item) => {
    const resource = messageOf(item.resource)
    const others = listOf(resource.attributes).filter(({ key }) => key !== ORGANISATION && key !== ENVIRONMENT)
    return { ...item, resource: { ...resource, attributes: [...others, ...own] } }
  })
  return { ...request, [list]: items }
}
