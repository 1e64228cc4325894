import { EventEmitter } from 'node:events'
import type { Logger } from 'pino'
import type { DatabaseSettings } from '../../base/database/open.ts'
import { createFollowers, type Followers } from '../../base/http/followers.ts'
import { repeat } from '../../base/work/repeat.ts'
import type { Environment } from '../environments/environments.ts'
import { type Analysis, createAnalysis } from './analysis.ts'
import { openTelemetryDatabase } from './database/open-telemetry.ts'
import type { TelemetryDatabase } from './database/tables.ts'
import { openForward } from './forward.ts'
import { createLogStore, type LogStore } from './log-store.ts'
import { createMetricStore, type StoredPoints } from './metric-store.ts'
import type { Items, PackedBody, ReadBody } from './reading/read-body.ts'
import { createBodyReader } from './reading/reader.ts'
import type { Origin } from './reading/with-origin.ts'
import { sweepTelemetry } from './retention.ts'
import type { CenterTelemetrySettings } from './telemetry-settings.ts'
import { createTraceStore, type TraceStore } from './trace-store.ts'
import { createTelemetryWriter } from './writer.ts'

/** Satellite telemetry: receiving, retention, queries and forwarding. */
export interface Telemetry {
  /** @throws ERR_BAD_REQUEST, ERR_BODY_TOO_LARGE, ERR_TELEMETRY_BUSY */
  read(environment: Environment, body: SentBody): Promise<ReadBody>
  /**
   * Resolves when the data is committed. A body that is already stored is not stored again.
   * @throws ERR_THROTTLED, ERR_TELEMETRY_BUSY
   */
  take(environment: Environment, body: ReadBody): Promise<StoredPoints>
  readonly logs: LogStore
  readonly traces: TraceStore
  readonly analysis: Analysis
  /** Calls `listener` when there may be new lines. @returns a function that unsubscribes */
  onNews(listener: () => void): () => void
  readonly followers: Followers
  sweep(): Promise<void>
  stop(): Promise<void>
}

export type SentBody = Pick<PackedBody, 'signal' | 'format' | 'isZipped' | 'bytes'>

export type TelemetryParts = {
  readonly where: DatabaseSettings
  readonly settings: CenterTelemetrySettings
  /** The value of `TELEMETRY_QUEUE`, in bytes. */
  readonly queue: number
  readonly log: Logger
  /** Looks up the names of an environment and its organisation. */
  readonly originOf: (environment: Environment) => Promise<Origin>
  /** The ids of all environments. */
  readonly environments: () => Promise<readonly string[]>
  /** Returns the current time, in epoch ms. */
  readonly now?: () => number
}

/** Polling interval in ms for lines that other processes wrote to the same database server. */
const LOOK_EVERY = 2000

/** @throws the errors of `openDatabase` */
export async function openTelemetry(parts: TelemetryParts): Promise<Telemetry> {
  const { where, settings, queue, log, originOf, environments, now = Date.now } = parts
  const { writing, reading, close } = await openTelemetryDatabase(where)
  const forward = await openForward({ settings: settings.forward, home: where.home, bound: queue, log })
  const metrics = createMetricStore(settings.kept.steps, settings.series, now)
  const logs = createLogStore(reading)
  const traces = createTraceStore(reading)
  const events = new EventEmitter<{ lines: [] }>().setMaxListeners(0)
  const writer = createTelemetryWriter({
    db: writing,
    log,
    undone: () => metrics.forget(),
    written: () => void events.emit('lines'),
    now,
  })
  const stopLooking = where.database.kind === 'embedded' ? null : repeat(LOOK_EVERY, () => events.emit('lines'))
  const reader = createBodyReader()
  let sweeping: Promise<void> | null = null

  /** Stores the items of a body. Must be called within a transaction. */
  async function store(db: TelemetryDatabase, environment: string, body: Items): Promise<StoredPoints> {
    if (body.signal === 'metrics') return metrics.store(db, environment, body.items)
    if (body.signal === 'logs') await logs.store(db, environment, body.items)
    else await traces.store(db, environment, body.items)
    return DONE
  }

  return {
    async read(environment, body) {
      const format = forward.formatOf(body.signal)
      const passed = format && { format, origin: await originOf(environment) }
      return reader.read(environment, { ...body, environment: environment.id, now: now(), forward: passed })
    },
    async take(environment, body) {
      const { hash, size } = body
      writer.needRoom(environment, size)
      // Queue the request for forwarding before the commit. If queuing fails, nothing is stored and the Satellite
      // retries. After a commit, the retry would be skipped as a duplicate.
      if (body.forward !== null) await forward.pass(body.signal, body.forward, body.items.length)
      const stored = await writer.write({
        owner: environment,
        hash,
        size,
        store: (db) => store(db, environment.id, body),
      })
      return together(body, stored)
    },
    logs,
    traces,
    analysis: createAnalysis(reading, logs, now),
    followers: createFollowers(),
    onNews(listener) {
      events.on('lines', listener)
      return () => events.off('lines', listener)
    },
    async sweep() {
      sweeping ??= sweepTelemetry(writing, settings.kept, environments, now())
        // Deleted series must not remain in the cache.
        .finally(() => metrics.forget())
        .finally(() => {
          sweeping = null
        })
      await sweeping
    },
    async stop() {
      await stopLooking?.()
      await reader.stop()
      await forward.stop()
      await writer.flush()
      await sweeping?.catch(() => {})
      await close()
    },
  }
}

const DONE: StoredPoints = { rejected: 0, why: '' }

function together(read: Pick<ReadBody, 'rejected' | 'why'>, stored: StoredPoints): StoredPoints {
  const rejected = read.rejected + stored.rejected
  return { rejected, why: rejected === 0 ? '' : read.rejected > 0 ? read.why : stored.why }
}
