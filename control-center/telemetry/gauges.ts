import { sql } from 'kysely'
import type { ToldValues } from './chart-lines.ts'
import { isOneOf } from './database/many-rows.ts'
import type { TelemetryDatabase } from './database/tables.ts'
import { WHOLE } from './metric-store.ts'
import type { Attributes } from './otlp/values.ts'
import type { Slots } from './ranges.ts'
import { intervalOf, type State, totalOf } from './series-changes.ts'

/** A gauge of one environment: what its processes tell together. */
export type Gauge = ToldValues & {
  /** What it was when it was told last; null: it is told no more. */
  readonly last: number | null
}

/**
 * An environment counts with its last value for so many of its intervals, and for `LEAST_PATIENCE` ms. Chosen here: environments
 * tell at times of their own, so that a sum over what each told within one slot would jump; one that has ended is out after it.
 */
const INTERVALS = 3
const LEAST_PATIENCE = 120_000
/** A process that slept for a night has no interval of a night; a host's are an hour at most. In ms. */
const LONGEST_INTERVAL = 3_600_000

/**
 * Gauges with the highest value of each slot, and with the last one in those that nothing was told in while they may be silent.
 * @param environments ids
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
  const told = await readTold(reading, environments, metric, slots)
  const before = await readBefore(reading, environments, metric, slots, longest)
  const newest = Math.min(now, Math.max(...[...sources.values()].map(({ toldAt }) => toldAt)))
  return [...sources].map(([series, { attributes, patience, toldAt, total }]) => {
    const isThere = toldAt >= slots.from && toldAt >= newest - patience
    const values = carriedOn(slots, told.get(series) ?? new Map(), before.get(series), patience)
    return { attributes, values, last: isThere ? total : null }
  })
}

/** `patience`: how long it may be silent, in ms. `toldAt` in epoch ms; 0: nobody knows any more. */
type Source = {
  readonly attributes: Attributes
  readonly patience: number
  readonly toldAt: number
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
    // What a process told last is kept for a week, its points for longer.
    if (instance === null || time === null || every === null || value === null) continue
    one.states.set(instance, { series, attributes, instance, time, every, value })
  }
  return new Map([...found].map(([series, { attributes, states }]) => [series, sourceOf(attributes, states)]))
}

function sourceOf(attributes: string, states: ReadonlyMap<string, SourceRow>): Source {
  const toldAt = Math.max(0, ...[...states.values()].map(({ time }) => time))
  const interval = Math.min(LONGEST_INTERVAL, intervalOf(states, toldAt))
  return {
    attributes: JSON.parse(attributes) as Attributes,
    patience: Math.max(LEAST_PATIENCE, INTERVALS * interval),
    toldAt,
    total: totalOf(states, toldAt),
  }
}

/** `time` is the beginning of the step that it was told in, in epoch ms. */
type Told = { readonly time: number; readonly highest: number; readonly last: number }

type ToldRow = {
  readonly series: number
  readonly slot: number
  readonly time: number
  readonly last: number | null
  readonly highest: number | null
  readonly mean: number
}

/** By series and beginning of a slot. */
async function readTold(
  reading: TelemetryDatabase,
  environments: readonly string[],
  metric: string,
  { from, slot, step }: Slots,
): Promise<ReadonlyMap<number, ReadonlyMap<number, Told>>> {
  const at = sql`points.time - points.time % ${sql.lit(slot)}`
  const { rows } = await sql<ToldRow>`select slots.series, slots.slot, slots.time, slots.highest, slots.mean, ends.last
    from (select points.series, ${at} as slot, max(points.time) as time, max(points.highest) as highest,
        sum(points.sum) / sum(points.count) as mean
      from metric_series as series join metric_points as points on points.series = series.id
      where ${isOneOf(reading, 'series.environment', environments)} and series.metric = ${metric}
        and points.step = ${sql.lit(step)} and points.bucket = ${sql.lit(WHOLE)} and points.time >= ${from}
        and points.count > 0
      group by points.series, ${at}) as slots
    join metric_points as ends on ends.series = slots.series and ends.step = ${sql.lit(step)}
      and ends.bucket = ${sql.lit(WHOLE)} and ends.time = slots.time`.execute(reading)
  const told = new Map<number, Map<number, Told>>()
  for (const row of rows) {
    const ofSeries = told.get(row.series) ?? new Map<number, Told>()
    told.set(row.series, ofSeries)
    ofSeries.set(row.slot, toldOf(row))
  }
  return told
}

/** By series, the last before the first slot, not older than `longest` ms. */
async function readBefore(
  reading: TelemetryDatabase,
  environments: readonly string[],
  metric: string,
  { from, step }: Slots,
  longest: number,
): Promise<ReadonlyMap<number, Told>> {
  const { rows } = await sql<ToldRow>`select points.series, points.time, points.last, points.highest,
      points.sum / points.count as mean
    from metric_series as series join metric_points as points on points.series = series.id
      and points.step = ${sql.lit(step)} and points.bucket = ${sql.lit(WHOLE)} and points.time =
        (select max(newest.time) from metric_points as newest where newest.series = series.id
          and newest.step = ${sql.lit(step)} and newest.bucket = ${sql.lit(WHOLE)}
          and newest.time < ${from} and newest.time >= ${from - longest} and newest.count > 0)
    where ${isOneOf(reading, 'series.environment', environments)} and series.metric = ${metric}`.execute(reading)
  return new Map(rows.map((row) => [row.series, toldOf(row)]))
}

/** Older rows have neither a highest nor a last value: then they are their mean. */
function toldOf({ time, highest, last, mean }: ToldRow): Told {
  return { time, highest: highest ?? mean, last: last ?? highest ?? mean }
}

function carriedOn(
  { times }: Slots,
  told: ReadonlyMap<number, Told>,
  before: Told | undefined,
  patience: number,
): ReadonlyMap<number, number> {
  const values = new Map<number, number>()
  let known = before
  for (const time of times) {
    const own = told.get(time)
    if (own !== undefined) values.set(time, own.highest)
    else if (known !== undefined && time - known.time <= patience) values.set(time, known.last)
    known = own ?? known
  }
  return values
}
