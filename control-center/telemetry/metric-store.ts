import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { insertMany, isOneOf } from './database/many-rows.ts'
import type { TelemetryDatabase } from './database/tables.ts'
import type { MetricPoint } from './otlp/read-metrics.ts'
import { changeOf, type State, totalOf } from './series-changes.ts'

/**
 * Slot lengths in seconds. On arrival, points are aggregated into slots of every length. Each length has a separate
 * retention.
 */
export const STEPS = { raw: 10, minute: 60, hour: 3600 } as const
export type Step = (typeof STEPS)[keyof typeof STEPS]

/** Retention per slot length, in ms. */
export type KeptSteps = Readonly<Record<keyof typeof STEPS, number>>

/** The `bucket` of rows that contain a point's totals. Other rows contain one bucket of a histogram. */
export const WHOLE = -1

export type StoredPoints = { readonly rejected: number; readonly why: string }

/** Stores environments' metrics, aggregated into time slots. Counters are stored as increases. */
export interface MetricStore {
  /** Stores points. Must be called within a transaction. Storing a point that is already stored is a no-op. */
  store(db: TelemetryDatabase, environment: string, points: readonly NamedPoint[]): Promise<StoredPoints>
  /** Clears the series cache; needed after a rollback, and after series were deleted. */
  forget(): void
}

type Series = { readonly id: number; lastAt: number }

/** Minimum interval between two updates of a series' `last_at`, in ms. */
const NOTE_EVERY = 3_600_000
/** Maximum cached series; when there are more, the cache is cleared. */
const MOST_REMEMBERED = 100_000

/**
 * @param most the maximum number of series per environment; points of any further series are rejected
 * @param now returns the current time in epoch milliseconds
 */
export function createMetricStore(kept: KeptSteps, most: number, now: () => number = Date.now): MetricStore {
  const remembered = new Map<string, Series>()

  /**
   * Adds the existing series to `found`, keyed by hash. `found` is separate from the cache, because the cache may be
   * cleared in the meantime.
   */
  async function look(
    db: TelemetryDatabase,
    environment: string,
    hashes: readonly string[],
    found: Map<string, Series>,
  ): Promise<void> {
    const missing: string[] = []
    for (const hash of hashes) {
      const one = remembered.get(`${environment} ${hash}`)
      if (one === undefined) missing.push(hash)
      else found.set(hash, one)
    }
    if (missing.length === 0) return
    if (remembered.size > MOST_REMEMBERED) remembered.clear()
    const rows = await db
      .selectFrom('metric_series')
      .select(['id', 'hash', 'last_at'])
      .where('environment', '=', environment)
      .where(isOneOf(db, 'hash', missing))
      .execute()
    for (const { id, hash, last_at } of rows) {
      const series = { id, lastAt: last_at }
      remembered.set(`${environment} ${hash}`, series)
      found.set(hash, series)
    }
  }

  /** Creates the missing series, up to the limit. */
  async function make(
    db: TelemetryDatabase,
    environment: string,
    named: readonly NamedPoint[],
    found: Map<string, Series>,
  ): Promise<void> {
    const fresh = new Map(named.filter(({ hash }) => !found.has(hash)).map((one) => [one.hash, one]))
    if (fresh.size === 0) return
    const { count } = await db
      .selectFrom('metric_series')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('environment', '=', environment)
      .executeTakeFirstOrThrow()
    const taken = [...fresh.values()].slice(0, Math.max(0, most - Number(count)))
    if (taken.length === 0) return
    const columns = {
      environment: 'text',
      metric: 'text',
      kind: 'text',
      attributes: 'text',
      bounds: 'text',
      hash: 'text',
      last_at: 'whole',
    } as const
    const rows = taken.map(({ point, attributes, hash }) => {
      const bounds = point.kind === 'histogram' ? JSON.stringify(point.bounds) : null
      return [environment, point.metric, point.kind, attributes, bounds, hash, now()]
    })
    await insertMany(db, 'metric_series', columns, rows, sql`do nothing`)
    const hashes = taken.map(({ hash }) => hash)
    await look(db, environment, hashes, found)
  }

  async function note(db: TelemetryDatabase, used: readonly Series[]): Promise<void> {
    const old = [...new Set(used)].filter(({ lastAt }) => lastAt < now() - NOTE_EVERY)
    if (old.length === 0) return
    const ids = old.map(({ id }) => id)
    await db
      .updateTable('metric_series')
      .set({ last_at: now() })
      .where(isOneOf(db, 'id', ids))
      .execute()
    for (const one of old) one.lastAt = now()
  }

  return {
    async store(db, environment, points) {
      const named = points.toSorted((one, other) => one.point.time - other.point.time)
      const there = new Map<string, Series>()
      await look(db, environment, [...new Set(named.map(({ hash }) => hash))], there)
      await make(db, environment, named, there)
      const found = named.flatMap((one) => {
        const series = there.get(one.hash)
        return series === undefined ? [] : [{ point: one.point, series }]
      })
      const ids = [...new Set(found.map(({ series }) => series.id))]
      const states = await readStates(db, ids)
      const slots = createSlots(kept, now())
      const changed = new Map<string, { readonly series: number; readonly instance: string; readonly state: State }>()
      const known = new Set([...states.values()].flatMap((ofInstances) => [...ofInstances.keys()]))
      for (const { point, series } of found) {
        const ofSeries = states.get(series.id) ?? new Map<string, State>()
        states.set(series.id, ofSeries)
        const change = changeOf(point, ofSeries.get(point.instance), known.has(point.instance))
        if (change === null) continue
        if (change.state !== null) {
          ofSeries.set(point.instance, change.state)
          changed.set(`${series.id} ${point.instance}`, {
            series: series.id,
            instance: point.instance,
            state: change.state,
          })
        }
        if (point.kind === 'gauge') slots.addGauge(series.id, point.time, totalOf(ofSeries, point.time))
        else if (change.count > 0 || change.sum > 0) slots.add(series.id, point.time, WHOLE, change.count, change.sum)
        change.counts.forEach((count, bucket) => {
          if (count > 0) slots.add(series.id, point.time, bucket, count, 0)
        })
      }
      await slots.write(db)
      await writeStates(db, [...changed.values()])
      await note(
        db,
        found.map(({ series }) => series),
      )
      const rejected = named.length - found.length
      return {
        rejected,
        why:
          rejected === 0
            ? ''
            : `the environment has reached its limit of ${most} time series; ask the operator of the control center to raise TELEMETRY_SERIES`,
      }
    },
    forget: () => remembered.clear(),
  }
}

/** A point with its attributes as JSON, and the hash of its series. */
export type NamedPoint = { readonly point: MetricPoint; readonly attributes: string; readonly hash: string }

export function namedPoint(point: MetricPoint): NamedPoint {
  const attributes = JSON.stringify(
    Object.fromEntries(Object.entries(point.attributes).sort(([a], [b]) => (a < b ? -1 : 1))),
  )
  const bounds = point.kind === 'histogram' ? point.bounds : null
  const name = JSON.stringify([point.metric, point.kind, attributes, bounds])
  return { point, attributes, hash: createHash('sha256').update(name).digest('base64url').slice(0, 32) }
}

async function readStates(db: TelemetryDatabase, series: readonly number[]): Promise<Map<number, Map<string, State>>> {
  const states = new Map<number, Map<string, State>>()
  if (series.length === 0) return states
  const rows = await db
    .selectFrom('metric_states')
    .selectAll()
    .where(isOneOf(db, 'series', series))
    .execute()
  for (const { series: id, instance, time, every, value, counts } of rows) {
    const ofSeries = states.get(id) ?? new Map<string, State>()
    states.set(id, ofSeries)
    ofSeries.set(instance, { time, every, value, counts: counts === null ? [] : (JSON.parse(counts) as number[]) })
  }
  return states
}

async function writeStates(
  db: TelemetryDatabase,
  changed: readonly { readonly series: number; readonly instance: string; readonly state: State }[],
): Promise<void> {
  const columns = {
    series: 'whole',
    instance: 'text',
    time: 'whole',
    every: 'whole',
    value: 'part',
    counts: 'text',
  } as const
  const rows = changed.map(({ series, instance, state: { time, every, value, counts } }) => {
    return [series, instance, time, every, value, counts.length === 0 ? null : JSON.stringify(counts)]
  })
  const update = sql`(series, instance) do update set time = excluded.time, every = excluded.every, value = excluded.value, counts = excluded.counts`
  await insertMany(db, 'metric_states', columns, rows, update)
}

/** `last` and `highest` are set for gauges only. */
type Slot = { count: number; sum: number; last: number | null; highest: number | null }

/** Aggregates values by slot in memory, then adds them to the stored rows. */
function createSlots(kept: KeptSteps, now: number) {
  const slots = new Map<string, Slot>()

  function slotsOf(series: number, time: number, bucket: number): readonly Slot[] {
    const names = (Object.keys(STEPS) as (keyof typeof STEPS)[]).filter((name) => time >= now - kept[name])
    return names.map((name) => {
      const step = STEPS[name]
      const key = `${series} ${step} ${time - (time % (step * 1000))} ${bucket}`
      const slot = slots.get(key) ?? { count: 0, sum: 0, last: null, highest: null }
      slots.set(key, slot)
      return slot
    })
  }

  return {
    add(series: number, time: number, bucket: number, count: number, sum: number) {
      for (const slot of slotsOf(series, time, bucket)) {
        slot.count += count
        slot.sum += sum
      }
    },
    /** Call this in chronological order for each series. */
    addGauge(series: number, time: number, value: number) {
      for (const slot of slotsOf(series, time, WHOLE)) {
        slot.count += 1
        slot.sum += value
        slot.last = value
        slot.highest = Math.max(slot.highest ?? value, value)
      }
    },
    async write(db: TelemetryDatabase) {
      const columns = {
        series: 'whole',
        step: 'whole',
        time: 'whole',
        bucket: 'whole',
        count: 'part',
        sum: 'part',
        last: 'part',
        highest: 'part',
      } as const
      const rows = [...slots].map(([key, { count, sum, last, highest }]) => {
        return [...key.split(' ').map(Number), count, sum, last, highest]
      })
      const update = sql`(series, step, time, bucket) do update set count = metric_points.count + excluded.count,
        sum = metric_points.sum + excluded.sum, last = excluded.last,
        highest = case when metric_points.highest > excluded.highest then metric_points.highest else excluded.highest end`
      await insertMany(db, 'metric_points', columns, rows, update)
    },
  }
}
