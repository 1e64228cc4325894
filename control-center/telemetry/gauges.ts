import { sql } from 'kysely'
import type { ReportedValues } from './chart-lines.ts'
import { isOneOf } from './database/many-rows.ts'
import type { TelemetryDatabase } from './database/tables.ts'
import { WHOLE } from './metric-store.ts'
import type { Attributes } from './otlp/values.ts'
import type { Slots } from './ranges.ts'
import { intervalOf, type State, totalOf } from './series-changes.ts'

/** A gauge in one environment, summed over its processes. */
export type Gauge = ReportedValues & {
  /** The last reported value; null if the gauge is no longer reported. */
  readonly last: number | null
}

/**
 * How long an environment's last value is used: for this many of its report intervals, and for at least
 * `LEAST_PATIENCE` ms. After that, the environment is left out. Chosen here: environments report at different times, so
 * a sum over only the values within one slot would jump.
 */
const INTERVALS = 3
const LEAST_PATIENCE = 120_000
/**
 * Upper limit for a report interval, in ms. A host reports at least hourly. Without this limit, a process that was
 * suspended overnight would appear to report once a night.
 */
const LONGEST_INTERVAL = 3_600_000

/**
 * Reads each gauge's maximum per slot. A slot without data gets the previous value, unless that is too old.
 * @param environments the environments' ids
 * @param now in epoch ms
 */
export async function readGauges(
  reading: TelemetryDatabase,
  environments: readonly string[],
  metric: string,
  slots: Slots,
  now: number,
): Promise<readonly Gauge[]> {
  if (environments.length === 0) return []
  const sources = await readSources(reading, environments, metric)
  const longest = Math.max(LEAST_PATIENCE, ...[...sources.values()].map(({ patience }) => patience))
  const reported = await readReported(reading, environments, metric, slots)
  const before = await readBefore(reading, environments, metric, slots, longest)
  const newest = Math.min(now, Math.max(...[...sources.values()].map(({ reportedAt }) => reportedAt)))
  return [...sources].map(([series, { attributes, patience, reportedAt, total }]) => {
    const isThere = reportedAt >= slots.from && reportedAt >= newest - patience
    const values = carriedOn(slots, reported.get(series) ?? new Map(), before.get(series), patience)
    return { attributes, values, last: isThere ? total : null }
  })
}

/**
 * `patience` is how long a last value is used, in ms. `reportedAt` is the time of the last report in epoch ms; 0 if
 * unknown.
 */
type Source = {
  readonly attributes: Attributes
  readonly patience: number
  readonly reportedAt: number
  readonly total: number
}

type SourceRow = Pick<State, 'time' | 'every' | 'value'> & {
  readonly series: number
  readonly attributes: string
  readonly instance: string
}

async function readSources(
  reading: TelemetryDatabase,
  environments: readonly string[],
  metric: string,
): Promise<ReadonlyMap<number, Source>> {
  const rows = await reading
    .selectFrom('metric_series as series')
    .leftJoin('metric_states as states', 'states.series', 'series.id')
    .select(['series.id', 'series.attributes', 'states.instance', 'states.time', 'states.every', 'states.value'])
    .where(isOneOf(reading, 'series.environment', environments))
    .where('series.metric', '=', metric)
    .execute()
  const found = new Map<number, { readonly attributes: string; readonly states: Map<string, SourceRow> }>()
  for (const { id: series, attributes, instance, time, every, value } of rows) {
    const one = found.get(series) ?? { attributes, states: new Map() }
    found.set(series, one)
    // A process's last value is stored for a week, whereas its points are stored for longer.
    if (instance === null || time === null || every === null || value === null) continue
    one.states.set(instance, { series, attributes, instance, time, every, value })
  }
  return new Map([...found].map(([series, { attributes, states }]) => [series, sourceOf(attributes, states)]))
}

function sourceOf(attributes: string, states: ReadonlyMap<string, SourceRow>): Source {
  const reportedAt = Math.max(0, ...[...states.values()].map(({ time }) => time))
  const interval = Math.min(LONGEST_INTERVAL, intervalOf(states, reportedAt))
  return {
    attributes: JSON.parse(attributes) as Attributes,
    patience: Math.max(LEAST_PATIENCE, INTERVALS * interval),
    reportedAt,
    total: totalOf(states, reportedAt),
  }
}

/** `time` is the start of the row's step, in epoch ms. */
type Reported = { readonly time: number; readonly highest: number; readonly last: number }

type ReportedRow = {
  readonly series: number
  readonly slot: number
  readonly time: number
  readonly last: number | null
  readonly highest: number | null
  readonly mean: number
}

/** Returns the reported values, keyed by series and slot start. */
async function readReported(
  reading: TelemetryDatabase,
  environments: readonly string[],
  metric: string,
  { from, slot, step }: Slots,
): Promise<ReadonlyMap<number, ReadonlyMap<number, Reported>>> {
  const at = sql`points.time - points.time % ${sql.lit(slot)}`
  const { rows } =
    await sql<ReportedRow>`select slots.series, slots.slot, slots.time, slots.highest, slots.mean, ends.last
    from (select points.series, ${at} as slot, max(points.time) as time, max(points.highest) as highest,
        sum(points.sum) / sum(points.count) as mean
      from metric_series as series join metric_points as points on points.series = series.id
      where ${isOneOf(reading, 'series.environment', environments)} and series.metric = ${metric}
        and points.step = ${sql.lit(step)} and points.bucket = ${sql.lit(WHOLE)} and points.time >= ${from}
        and points.count > 0
      group by points.series, ${at}) as slots
    join metric_points as ends on ends.series = slots.series and ends.step = ${sql.lit(step)}
      and ends.bucket = ${sql.lit(WHOLE)} and ends.time = slots.time`.execute(reading)
  const reported = new Map<number, Map<number, Reported>>()
  for (const row of rows) {
    const ofSeries = reported.get(row.series) ?? new Map<number, Reported>()
    reported.set(row.series, ofSeries)
    ofSeries.set(row.slot, reportedOf(row))
  }
  return reported
}

/** The last value before the first slot, by series. Values more than `longest` ms older are left out. */
async function readBefore(
  reading: TelemetryDatabase,
  environments: readonly string[],
  metric: string,
  { from, step }: Slots,
  longest: number,
): Promise<ReadonlyMap<number, Reported>> {
  const { rows } = await sql<ReportedRow>`select points.series, points.time, points.last, points.highest,
      points.sum / points.count as mean
    from metric_series as series join metric_points as points on points.series = series.id
      and points.step = ${sql.lit(step)} and points.bucket = ${sql.lit(WHOLE)} and points.time =
        (select max(newest.time) from metric_points as newest where newest.series = series.id
          and newest.step = ${sql.lit(step)} and newest.bucket = ${sql.lit(WHOLE)}
          and newest.time < ${from} and newest.time >= ${from - longest} and newest.count > 0)
    where ${isOneOf(reading, 'series.environment', environments)} and series.metric = ${metric}`.execute(reading)
  return new Map(rows.map((row) => [row.series, reportedOf(row)]))
}

/** Rows written before schema 002-gauges have neither `highest` nor `last`, so use their mean. */
function reportedOf({ time, highest, last, mean }: ReportedRow): Reported {
  return { time, highest: highest ?? mean, last: last ?? highest ?? mean }
}

function carriedOn(
  { times }: Slots,
  reported: ReadonlyMap<number, Reported>,
  before: Reported | undefined,
  patience: number,
): ReadonlyMap<number, number> {
  const values = new Map<number, number>()
  let known = before
  for (const time of times) {
    const own = reported.get(time)
    if (own !== undefined) values.set(time, own.highest)
    else if (known !== undefined && time - known.time <= patience) values.set(time, known.last)
    known = own ?? known
  }
  return values
}
