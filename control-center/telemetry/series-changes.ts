import type { MetricPoint } from './otlp/read-metrics.ts'

/**
 * A process's last point in a series. `every` is the time between its last two points in ms; 0 if there is only one.
 */
export type State = {
  readonly time: number
  readonly every: number
  /** The value of a counter or gauge, or a histogram's sum. */
  readonly value: number
  /** The counts of a histogram's buckets; empty for a counter or gauge. */
  readonly counts: readonly number[]
}

/**
 * The amounts that a point adds to the stored values. `state` is null if the next point can be processed without it.
 */
export type Change = {
  readonly count: number
  readonly sum: number
  readonly counts: readonly number[]
  readonly state: State | null
}

/**
 * Maximum age of a new cumulative count, in ms. If the count started at most this long before its first point, that
 * point adds its full value. The first point of an older count adds nothing, because its events may have happened long
 * ago.
 */
const FRESH = 15 * 60_000
/** A process has ended if it reported nothing for this many of its report intervals. */
const INTERVALS = 2.5
/** Assumed interval of a process with only one report, in ms. */
const FIRST_INTERVAL = 60_000

/**
 * Returns what a point adds to the stored values; null if the point is a repeat or out of order.
 * @param before the same process's last point in this series
 * @param isKnown whether that process has reported any series before; if so, a series without a previous point is new
 */
export function changeOf(point: MetricPoint, before: State | undefined, isKnown: boolean): Change | null {
  const isNumber = point.kind !== 'histogram'
  const value = isNumber ? point.value : point.sum
  const counts = isNumber ? [] : point.counts
  // Delta points are already differences.
  if (point.isDelta) return { count: countOf(counts), sum: value, counts, state: null }
  if (before !== undefined && point.time <= before.time) return null
  const state = { time: point.time, every: before === undefined ? 0 : point.time - before.time, value, counts }
  if (point.kind === 'gauge') return { count: 1, sum: value, counts, state }
  if (before === undefined) {
    const isFresh = isKnown || point.time - point.started <= FRESH
    if (!isFresh) return { count: 0, sum: 0, counts: [], state }
    return { count: countOf(counts), sum: value, counts, state }
  }
  // A count that decreased has been reset.
  const fell = isNumber ? value < before.value : countOf(counts) < countOf(before.counts)
  if (fell || before.counts.length !== counts.length) return { count: countOf(counts), sum: value, counts, state }
  const more = counts.map((count, index) => Math.max(0, count - (before.counts[index] ?? 0)))
  return { count: countOf(more), sum: Math.max(0, value - before.value), counts: more, state }
}

/**
 * An environment's gauge: the sum of its processes' last values. Chosen here: a process is included until it has missed
 * two and a half intervals. Otherwise, the sum would jump when processes report at different times.
 */
export function totalOf(states: States, time: number): number {
  return [...states.values()].reduce((total, state) => (isThere(state, time) ? total + state.value : total), 0)
}

/** The longest report interval, in ms, of the processes that are included in the total at `time`. */
export function intervalOf(states: States, time: number): number {
  const there = [...states.values()].filter((state) => isThere(state, time))
  return Math.max(0, ...there.map(({ every }) => every || FIRST_INTERVAL))
}

/** Processes' last points, keyed by process. */
type States = ReadonlyMap<string, Pick<State, 'time' | 'every' | 'value'>>

function isThere({ time: reportedAt, every }: Pick<State, 'time' | 'every'>, time: number): boolean {
  return Math.abs(time - reportedAt) <= INTERVALS * (every || FIRST_INTERVAL)
}

function countOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}
