import type { MetricPoint } from './otlp/read-metrics.ts'

/** The last point of a series that a process told. `every`: the time between its last two, in ms; 0: there was one. */
export type State = {
  readonly time: number
  readonly every: number
  /** Of a histogram the sum. */
  readonly value: number
  /** Of a histogram its buckets. */
  readonly counts: readonly number[]
}

/** What a point adds to what was told before. `state` null: the next point does not need it. */
export type Change = {
  readonly count: number
  readonly sum: number
  readonly counts: readonly number[]
  readonly state: State | null
}

/** A cumulative count that began so long before its first point counts from nothing, in ms; else nobody knows when it was. */
const FRESH = 15 * 60_000
/** A process that told nothing for so many of its intervals has ended. */
const INTERVALS = 2.5
/** What the first interval of a process is taken for, in ms. */
const FIRST_INTERVAL = 60_000

/**
 * @param before what the same process told last of this series
 * @param isKnown whether that process told something before: then a series that is new began just now
 * @returns null for a point that was told before, or is older than that
 */
export function changeOf(point: MetricPoint, before: State | undefined, isKnown: boolean): Change | null {
  const isNumber = point.kind !== 'histogram'
  const value = isNumber ? point.value : point.sum
  const counts = isNumber ? [] : point.counts
  // Differences stand for themselves: there is nothing to compare them with.
  if (point.isDelta) return { count: countOf(counts), sum: value, counts, state: null }
  if (before !== undefined && point.time <= before.time) return null
  const state = { time: point.time, every: before === undefined ? 0 : point.time - before.time, value, counts }
  if (point.kind === 'gauge') return { count: 1, sum: value, counts, state }
  if (before === undefined) {
    const isFresh = isKnown || point.time - point.started <= FRESH
    if (!isFresh) return { count: 0, sum: 0, counts: [], state }
    return { count: countOf(counts), sum: value, counts, state }
  }
  // A count that fell began anew.
  const fell = isNumber ? value < before.value : countOf(counts) < countOf(before.counts)
  if (fell || before.counts.length !== counts.length) return { count: countOf(counts), sum: value, counts, state }
  const more = counts.map((count, index) => Math.max(0, count - (before.counts[index] ?? 0)))
  return { count: countOf(more), sum: Math.max(0, value - before.value), counts: more, state }
}

/**
 * A gauge of an environment: the sum over its processes, each with what it told last. Chosen here: a process that ended is counted
 * until it missed two and a half intervals, so that processes that tell at different times are not told apart.
 */
export function totalOf(states: States, time: number): number {
  return [...states.values()].reduce((total, state) => (isThere(state, time) ? total + state.value : total), 0)
}

/** The longest interval of the processes that are counted at a time, in ms. */
export function intervalOf(states: States, time: number): number {
  const there = [...states.values()].filter((state) => isThere(state, time))
  return Math.max(0, ...there.map(({ every }) => every || FIRST_INTERVAL))
}

/** By process. */
type States = ReadonlyMap<string, Pick<State, 'time' | 'every' | 'value'>>

function isThere({ time: toldAt, every }: Pick<State, 'time' | 'every'>, time: number): boolean {
  return Math.abs(time - toldAt) <= INTERVALS * (every || FIRST_INTERVAL)
}

function countOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}
