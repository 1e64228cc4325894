import { sql } from 'kysely'
import { isOneOf } from './database/many-rows.ts'
import type { TelemetryDatabase } from './database/tables.ts'
import { WHOLE } from './metric-store.ts'
import type { Attributes } from './otlp/values.ts'
import type { Slots } from './ranges.ts'

/**
 * A counter or histogram with these attributes, summed over all environments. `values` and `buckets` are keyed by the
 * start of the slot.
 */
export type Counted = {
  readonly attributes: Attributes
  readonly values: Map<number, number>
  /** A histogram's counts, by the upper bound of the bucket. */
  readonly buckets: Map<number, Map<number, number>>
  /** The upper bounds of the histogram's buckets. */
  readonly bounds: readonly number[]
}

type Row = {
  readonly attributes: string
  readonly bounds: string | null
  readonly slot: number
  readonly bucket: number
  readonly count: number
  readonly sum: number
}

/** @param environments the environments' ids */
export async function readCounts(
  reading: TelemetryDatabase,
  environments: readonly string[],
  metric: string,
  { from, slot, step }: Slots,
  withBuckets = false,
): Promise<readonly Counted[]> {
  if (environments.length === 0) return []
  const at = sql`points.time - points.time % ${sql.lit(slot)}`
  const whole = withBuckets ? sql`` : sql`and points.bucket = ${sql.lit(WHOLE)}`
  const { rows } = await sql<Row>`select series.attributes, series.bounds, ${at} as slot, points.bucket,
      sum(points.count) as count, sum(points.sum) as sum
    from metric_series as series join metric_points as points on points.series = series.id
    where ${isOneOf(reading, 'series.environment', environments)} and series.metric = ${metric}
      and points.step = ${sql.lit(step)} and points.time >= ${from} ${whole}
    group by series.attributes, series.bounds, ${at}, points.bucket`.execute(reading)
  const counted = new Map<string, Counted>()
  for (const { attributes, bounds, slot: time, bucket, count, sum } of rows) {
    const key = `${attributes} ${bounds}`
    const one = counted.get(key) ?? countedOf(attributes, bounds)
    counted.set(key, one)
    if (bucket === WHOLE) {
      one.values.set(time, (one.values.get(time) ?? 0) + sum)
    } else {
      const edge = one.bounds[bucket] ?? Infinity
      const buckets = one.buckets.get(time) ?? new Map<number, number>()
      one.buckets.set(time, buckets)
      buckets.set(edge, (buckets.get(edge) ?? 0) + count)
    }
  }
  return [...counted.values()]
}

function countedOf(attributes: string, bounds: string | null): Counted {
  return {
    attributes: JSON.parse(attributes) as Attributes,
    bounds: bounds === null ? [] : (JSON.parse(bounds) as number[]),
    values: new Map(),
    buckets: new Map(),
  }
}
