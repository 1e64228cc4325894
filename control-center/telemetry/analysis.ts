import { sql } from 'kysely'
import { isOneOf } from './database/many-rows.ts'
import type { TelemetryDatabase } from './database/tables.ts'
import type { ErrorPlace, LogStore } from './log-store.ts'
import { STEPS, type Step, WHOLE } from './metric-store.ts'
import type { Attributes } from './otlp/values.ts'
import { quantileOf } from './quantiles.ts'
import { SLOW } from './trace-store.ts'

/** Ranges of time that figures are told of: how long, how long one point of a chart, in ms, and what it is summed up from. */
export const RANGES = {
  '15m': { length: 15 * 60_000, slot: 10_000, step: STEPS.raw },
  '1h': { length: 3_600_000, slot: 60_000, step: STEPS.minute },
  '24h': { length: 86_400_000, slot: 600_000, step: STEPS.minute },
  '7d': { length: 7 * 86_400_000, slot: 3_600_000, step: STEPS.hour },
  '30d': { length: 30 * 86_400_000, slot: 6 * 3_600_000, step: STEPS.hour },
} as const satisfies Record<string, { readonly length: number; readonly slot: number; readonly step: Step }>
export type Range = keyof typeof RANGES
export const RANGE_NAMES = Object.keys(RANGES) as Range[]

/** `values` by the chart's times, those of a gauge the highest of each; null: nothing was told. */
export type ChartLine = {
  readonly name: string
  readonly values: readonly (number | null)[]
  /** What a gauge was when it was told last; null: nothing was told, or it is no gauge. */
  readonly last: number | null
}

export type Chart = {
  readonly key: 'sessions' | 'logins' | 'scripts' | 'memory' | 'kills'
  /** Times are in ms. */
  readonly unit: 'count' | 'ms' | 'bytes'
  readonly lines: readonly ChartLine[]
  /** Whether it tells of one solution where one is asked for; else of all together. */
  readonly isOfSolution: boolean
}

/** A solution's function over the whole range; `p50` and `p95` in ms. */
export type EntryTimes = {
  readonly entry: string
  readonly count: number
  readonly p50: number | null
  readonly p95: number | null
  /** Whether one in twenty calls took longer than `SLOW`. */
  readonly isSlow: boolean
}

export type Figures = {
  readonly range: Range
  /** Beginnings of the slots, in epoch ms; the last one is still being filled. */
  readonly times: readonly number[]
  readonly charts: readonly Chart[]
  readonly entries: readonly EntryTimes[]
  readonly errors: readonly ErrorPlace[]
}

export type FiguresAsked = {
  /** Ids. */
  readonly environments: readonly string[]
  readonly solution?: string | undefined
  readonly range: Range
}

export interface Analysis {
  figures(asked: FiguresAsked): Promise<Figures>
  /** The names of solutions in the metrics of environments, sorted. */
  solutions(environments: readonly string[]): Promise<readonly string[]>
}

/** Lines of one chart; further ones together are `others`. */
const MOST_LINES = 6
const MOST_ENTRIES = 4
const MOST_ERRORS = 20

/** Gauges that were not told for so long before the last one, in ms, are of hosts that have ended. */
const STILL_THERE = 150_000

/** @param now the clock, in epoch milliseconds */
export function createAnalysis(reading: TelemetryDatabase, logs: LogStore, now: () => number): Analysis {
  return {
    async figures({ environments, solution, range }) {
      const { length, slot, step } = RANGES[range]
      const last = now() - (now() % slot)
      const times = Array.from({ length: Math.round(length / slot) }, (_, index) => last - length + (index + 1) * slot)
      const from = times[0] ?? last
      const all: Asked = { reading, environments, times, from, slot, step }
      const logins = (await read(all, 'solhost_logins_total')).filter(isOf(solution))
      const scripts = await read(all, 'solhost_script_duration_seconds', true)
      const memory = await gaugeLines(all, 'solhost_memory_bytes', labelOf('part'))
      const kills = await read(all, 'solhost_sandbox_kills_total')
      const ofEntries = byEntry(scripts)
      const count = 'count' as const
      const begun = linesOf(
        logins.filter(({ attributes }) => attributes.result === 'ok'),
        () => 'begun',
        times,
        0,
      )
      const open = solution === undefined ? await gaugeLines(all, 'solhost_clients', () => 'clients') : []
      return {
        range,
        times,
        charts: [
          { key: 'sessions', unit: count, lines: [...begun, ...open], isOfSolution: true },
          { key: 'logins', unit: count, lines: linesOf(logins, labelOf('result'), times, 0), isOfSolution: true },
          { key: 'scripts', unit: 'ms', lines: timesOf(ofEntries, times), isOfSolution: false },
          { key: 'memory', unit: 'bytes', lines: memory, isOfSolution: false },
          { key: 'kills', unit: count, lines: linesOf(kills, labelOf('reason'), times, 0), isOfSolution: false },
        ],
        entries: ofEntries.map(entryTimes),
        errors: await logs.errors({ environments, solution }, from, MOST_ERRORS),
      }
    },
    async solutions(environments) {
      if (environments.length === 0) return []
      const rows = await reading
        .selectFrom('metric_series')
        .select('attributes')
        .distinct()
        .where(isOneOf(reading, 'environment', environments))
        .where('metric', 'in', ['solhost_logins_total', 'solhost_script_calls_total'])
        .execute()
      const names = rows.map(({ attributes }) => (JSON.parse(attributes) as Attributes).solution)
      return [...new Set(names.filter((name) => typeof name === 'string' && name !== ''))].sort() as string[]
    },
  }
}

type Asked = {
  readonly reading: TelemetryDatabase
  readonly environments: readonly string[]
  readonly times: readonly number[]
  readonly from: number
  readonly slot: number
  readonly step: Step
}

/** A metric with these attributes, in all environments together. `values` and `buckets` by slot. */
type Told = {
  readonly attributes: Attributes
  readonly values: Map<number, number>
  readonly buckets: Map<number, Map<number, number>>
  readonly bounds: readonly number[]
}

type Row = {
  readonly attributes: string
  readonly bounds: string | null
  readonly kind: string
  readonly slot: number
  readonly bucket: number
  readonly count: number
  readonly sum: number
  readonly highest: number | null
}

async function read(asked: Asked, metric: string, withBuckets = false): Promise<readonly Told[]> {
  const { reading, environments, from, slot, step } = asked
  if (environments.length === 0) return []
  const at = sql`points.time - points.time % ${sql.lit(slot)}`
  const whole = withBuckets ? sql`` : sql`and points.bucket = ${sql.lit(WHOLE)}`
  // A gauge is the highest over time, and only then a sum over environments.
  const { rows } = await sql<Row>`select series.attributes, series.bounds, series.kind, series.environment,
      ${at} as slot, points.bucket, sum(points.count) as count, sum(points.sum) as sum, max(points.highest) as highest
    from metric_series as series join metric_points as points on points.series = series.id
    where ${isOneOf(reading, 'series.environment', environments)} and series.metric = ${metric}
      and points.step = ${sql.lit(step)} and points.time >= ${from} ${whole}
    group by series.attributes, series.bounds, series.kind, series.environment, ${at}, points.bucket`.execute(reading)
  const told = new Map<string, Told>()
  for (const { attributes, bounds, kind, slot: time, bucket, count, sum, highest } of rows) {
    const key = `${attributes} ${bounds}`
    const one = told.get(key) ?? toldOf(attributes, bounds)
    told.set(key, one)
    if (bucket === WHOLE) {
      // Older rows have no highest value: then it is their mean.
      const value = kind === 'gauge' ? (highest ?? sum / Math.max(1, count)) : sum
      one.values.set(time, (one.values.get(time) ?? 0) + value)
    } else {
      const edge = one.bounds[bucket] ?? Infinity
      const buckets = one.buckets.get(time) ?? new Map<number, number>()
      one.buckets.set(time, buckets)
      buckets.set(edge, (buckets.get(edge) ?? 0) + count)
    }
  }
  return [...told.values()]
}

function toldOf(attributes: string, bounds: string | null): Told {
  return {
    attributes: JSON.parse(attributes) as Attributes,
    bounds: bounds === null ? [] : (JSON.parse(bounds) as number[]),
    values: new Map(),
    buckets: new Map(),
  }
}

async function gaugeLines(
  asked: Asked,
  metric: string,
  nameOf: (attributes: Attributes) => string,
): Promise<readonly ChartLine[]> {
  const last = await lastTold(asked, metric, nameOf)
  const lines = linesOf(await read(asked, metric), nameOf, asked.times, null)
  return lines.map((line) => ({ ...line, last: last.get(line.name) ?? null }))
}

type LastRow = { readonly attributes: string; readonly time: number; readonly last: number | null }

/** By the name of the line, what is still told of all environments together. */
async function lastTold(
  { reading, environments, from, step }: Asked,
  metric: string,
  nameOf: (attributes: Attributes) => string,
): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>()
  if (environments.length === 0) return sums
  const { rows } = await sql<LastRow>`select series.attributes, points.time, points.last
    from metric_series as series join metric_points as points on points.series = series.id
      and points.step = ${sql.lit(step)} and points.bucket = ${sql.lit(WHOLE)} and points.time =
        (select max(newest.time) from metric_points as newest where newest.series = series.id
          and newest.step = ${sql.lit(step)} and newest.bucket = ${sql.lit(WHOLE)} and newest.time >= ${from})
    where ${isOneOf(reading, 'series.environment', environments)} and series.metric = ${metric}`.execute(reading)
  const newest = rows.reduce((latest, { time }) => Math.max(latest, time), 0)
  for (const { attributes, time, last } of rows) {
    if (last === null || time < newest - STILL_THERE) continue
    const name = nameOf(JSON.parse(attributes) as Attributes)
    sums.set(name, (sums.get(name) ?? 0) + last)
  }
  return sums
}

function isOf(solution: string | undefined): (told: Told) => boolean {
  return ({ attributes }) => solution === undefined || attributes.solution === solution
}

function labelOf(name: string): (attributes: Attributes) => string {
  return (attributes) => String(attributes[name] ?? '')
}

/** @param empty what a slot has that nothing was told of: a count is none, a gauge is unknown */
function linesOf(
  told: readonly Told[],
  nameOf: (attributes: Attributes) => string,
  times: readonly number[],
  empty: 0 | null,
): readonly ChartLine[] {
  const sums = new Map<string, Map<number, number>>()
  for (const { attributes, values } of told) {
    const name = nameOf(attributes)
    const sum = sums.get(name) ?? new Map<number, number>()
    sums.set(name, sum)
    for (const [time, value] of values) sum.set(time, (sum.get(time) ?? 0) + value)
  }
  const totalOf = (values: ReadonlyMap<number, number>) => [...values.values()].reduce((sum, value) => sum + value, 0)
  const ordered = [...sums].sort(([a, one], [b, other]) => totalOf(other) - totalOf(one) || (a < b ? -1 : 1))
  const rest = ordered.splice(MOST_LINES)
  if (rest.length > 0) {
    const others = new Map<number, number>()
    for (const [, values] of rest) for (const [time, value] of values) others.set(time, (others.get(time) ?? 0) + value)
    ordered.push(['others', others])
  }
  return ordered.map(([name, values]) => {
    return { name, values: times.map((time) => values.get(time) ?? empty), last: null }
  })
}

type Entry = {
  readonly entry: string
  readonly bySlot: Map<number, Map<number, number>>
  readonly edges: readonly number[]
}

/** All ends of a function's calls together, the one that was called most first. */
function byEntry(told: readonly Told[]): readonly Entry[] {
  const entries = new Map<string, { bySlot: Map<number, Map<number, number>>; edges: Set<number> }>()
  for (const { attributes, buckets, bounds } of told) {
    const name = String(attributes.entry ?? '')
    const entry = entries.get(name) ?? { bySlot: new Map(), edges: new Set() }
    entries.set(name, entry)
    for (const bound of bounds) entry.edges.add(bound)
    for (const [time, counts] of buckets) {
      const slot = entry.bySlot.get(time) ?? new Map<number, number>()
      entry.bySlot.set(time, slot)
      for (const [edge, count] of counts) slot.set(edge, (slot.get(edge) ?? 0) + count)
    }
  }
  return [...entries]
    .map(([entry, { bySlot, edges }]) => ({ entry, bySlot, edges: [...edges].sort((a, b) => a - b) }))
    .filter(({ bySlot }) => bySlot.size > 0)
    .sort((one, other) => countOf(other) - countOf(one))
}

function countOf({ bySlot }: Entry): number {
  return [...wholeOf(bySlot).values()].reduce((sum, count) => sum + count, 0)
}

function wholeOf(bySlot: Entry['bySlot']): Map<number, number> {
  const whole = new Map<number, number>()
  for (const slot of bySlot.values()) for (const [edge, count] of slot) whole.set(edge, (whole.get(edge) ?? 0) + count)
  return whole
}

/** Two lines for each of the functions that are called most. */
function timesOf(entries: readonly Entry[], times: readonly number[]): readonly ChartLine[] {
  return entries.slice(0, MOST_ENTRIES).flatMap(({ entry, bySlot, edges }) =>
    (
      [
        ['p50', 0.5],
        ['p95', 0.95],
      ] as const
    ).map(([name, part]) => ({
      name: `${entry} ${name}`,
      values: times.map((time) => inMilliseconds(quantileOf(part, bySlot.get(time) ?? new Map(), edges))),
      last: null,
    })),
  )
}

function entryTimes(one: Entry): EntryTimes {
  const whole = wholeOf(one.bySlot)
  const [p50, p95] = [0.5, 0.95].map((part) => inMilliseconds(quantileOf(part, whole, one.edges)))
  return { entry: one.entry, count: countOf(one), p50: p50 ?? null, p95: p95 ?? null, isSlow: (p95 ?? 0) > SLOW }
}

function inMilliseconds(seconds: number | null): number | null {
  return seconds === null ? null : Math.round(seconds * 100_000) / 100
}
