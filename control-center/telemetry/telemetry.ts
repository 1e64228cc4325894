import { EventEmitter } from 'node:events'
import type { Logger } from 'pino'
import type { DatabaseSettings } from '../../host/database/open.ts'
import type { Signal } from '../../host/telemetry/telemetry-settings.ts'
import type { Environment } from '../environments/environments.ts'
import { type Analysis, createAnalysis } from './analysis.ts'
import { openTelemetryDatabase } from './database/open-telemetry.ts'
import { createFollowers, type Followers } from './followers.ts'
import { type Origin, openForward } from './forward.ts'
import { createLogStore, type LogStore } from './log-store.ts'
import { createMetricStore, type StoredPoints } from './metric-store.ts'
import type { Message } from './otlp/messages.ts'
import { readLogs } from './otlp/read-logs.ts'
import { type ReadItems, readMetrics } from './otlp/read-metrics.ts'
import { readTraces } from './otlp/read-traces.ts'
import { sweepTelemetry } from './retention.ts'
import type { CenterTelemetrySettings } from './telemetry-settings.ts'
import { createTraceStore, type TraceStore } from './trace-store.ts'
import { createTelemetryWriter } from './writer.ts'

/** What Satellites tell of themselves: taken, kept for a time, asked for, passed on. */
export interface Telemetry {
  /**
   * Resolves when it is committed. What was taken before is not taken twice.
   * @throws ERR_THROTTLED, ERR_TELEMETRY_BUSY
   */
  take(
    environment: Environment,
    signal: Signal,
    request: Message,
    body: { readonly hash: string; readonly size: number },
  ): Promise<StoredPoints>
  readonly logs: LogStore
  readonly traces: TraceStore
  readonly analysis: Analysis
  /** Calls `listener` when there may be new lines. @returns the function that ends it */
  onNews(listener: () => void): () => void
  /** Those who wait for new lines. */
  readonly followers: Followers
  sweep(): Promise<void>
  stop(): Promise<void>
}

export type TelemetryParts = {
  readonly where: DatabaseSettings
  readonly settings: CenterTelemetrySettings
  /** `TELEMETRY_QUEUE`, in bytes. */
  readonly queue: number
  readonly log: Logger
  /** The names of an environment and its organisation. */
  readonly originOf: (environment: Environment) => Promise<Origin>
  /** The ids of all environments. */
  readonly environments: () => Promise<readonly string[]>
  /** The clock, in epoch milliseconds. */
  readonly now?: () => number
}

/** Another process may write lines on a server: they are looked for this often, in ms. */
const LOOK_EVERY = 2000

/** @throws as `openDatabase` */
export async function openTelemetry(parts: TelemetryParts): Promise<Telemetry> {
  const { where, settings, queue, log, originOf, environments, now = Date.now } = parts
  const { writing, reading, close } = await openTelemetryDatabase(where)
  const forward = await openForward({ settings: settings.forward, home: where.home, bound: queue, log })
  const metrics = createMetricStore(settings.kept.steps, settings.series, now)
  const logs = createLogStore(reading)
  const traces = createTraceStore(reading)
  const news = new EventEmitter<{ news: [] }>().setMaxListeners(0)
  const writer = createTelemetryWriter({
    db: writing,
    log,
    undone: () => metrics.forget(),
    written: () => void news.emit('news'),
    now,
  })
  const looking = where.database.kind === 'embedded' ? null : setInterval(() => news.emit('news'), LOOK_EVERY)
  looking?.unref()
  const isForwarding = Object.keys(settings.forward.targets).length > 0
  let sweeping: Promise<void> | null = null

  /** How the items of a signal are read, and stored within a transaction. */
  function storing(environment: string, signal: Signal, request: Message) {
    if (signal === 'metrics') {
      const read = readMetrics(request, now())
      return { read, store: (db: typeof writing) => metrics.store(db, environment, read.items) }
    }
    if (signal === 'logs') {
      const read = readLogs(request, now())
      return { read, store: (db: typeof writing) => logs.store(db, environment, read.items).then(() => DONE) }
    }
    const read = readTraces(request, now())
    return { read, store: (db: typeof writing) => traces.store(db, environment, read.items).then(() => DONE) }
  }

  return {
    async take(environment, signal, request, { hash, size }) {
      const { read, store } = storing(environment.id, signal, request)
      writer.needRoom(environment.id, size)
      // Before the commit: a Satellite that gets no answer sends it again, and then it is stored already.
      if (isForwarding) await forward.pass(signal, request, read.items.length, await originOf(environment))
      const stored = await writer.write({ environment: environment.id, hash, size, store })
      return together(read, stored)
    },
    logs,
    traces,
    analysis: createAnalysis(reading, logs, now),
    followers: createFollowers(),
    onNews(listener) {
      news.on('news', listener)
      return () => news.off('news', listener)
    },
    async sweep() {
      sweeping ??= sweepTelemetry(writing, settings.kept, environments, now())
        // Series that went are not to be written to.
        .finally(() => metrics.forget())
        .finally(() => {
          sweeping = null
        })
      await sweeping
    },
    async stop() {
      clearInterval(looking ?? undefined)
      await forward.stop()
      await writer.flush()
      await sweeping?.catch(() => {})
      await close()
    },
  }
}

const DONE: StoredPoints = { rejected: 0, why: '' }

function together(read: ReadItems<unknown>, stored: StoredPoints): StoredPoints {
  const rejected = read.rejected + stored.rejected
  return { rejected, why: rejected === 0 ? '' : read.rejected > 0 ? read.why : stored.why }
}
