import type { ChartLine } from './chart-lines.ts'
import type { Counted } from './counts.ts'
import { quantileOf } from './quantiles.ts'
import { SLOW } from './trace-store.ts'

/** A function's calls over the whole range; `p50` and `p95` are in ms. */
export type EntryTimes = {
  readonly entry: string
  readonly count: number
  readonly p50: number | null
  readonly p95: number | null
  /** Whether p95 exceeds `SLOW`. */
  readonly isSlow: boolean
}

/** A function's calls by slot start and by the bucket's upper bound in seconds. */
export type EntryCalls = {
  readonly entry: string
  readonly bySlot: ReadonlyMap<number, ReadonlyMap<number, number>>
  readonly edges: readonly number[]
}

/** Maximum functions per chart. */
const MOST_ENTRIES = 4

/** Adds up each function's calls over all solutions and results. The most-called function is first. */
export function byEntry(reported: readonly Counted[]): readonly EntryCalls[] {
  const entries = new Map<string, { bySlot: Map<number, Map<number, number>>; edges: Set<number> }>()
  for (const { attributes, buckets, bounds } of reported) {
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

/** The p50 and p95 lines of the most-called functions. */
export function timesOf(entries: readonly EntryCalls[], times: readonly number[]): readonly ChartLine[] {
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

export function entryTimes(one: EntryCalls): EntryTimes {
  const whole = wholeOf(one.bySlot)
  const [p50, p95] = [0.5, 0.95].map((part) => inMilliseconds(quantileOf(part, whole, one.edges)))
  return { entry: one.entry, count: countOf(one), p50: p50 ?? null, p95: p95 ?? null, isSlow: (p95 ?? 0) > SLOW }
}

function countOf({ bySlot }: EntryCalls): number {
  return [...wholeOf(bySlot).values()].reduce((sum, count) => sum + count, 0)
}

function wholeOf(bySlot: EntryCalls['bySlot']): ReadonlyMap<number, number> {
  const whole = new Map<number, number>()
  for (const slot of bySlot.values()) for (const [edge, count] of slot) whole.set(edge, (whole.get(edge) ?? 0) + count)
  return whole
}

function inMilliseconds(seconds: number | null): number | null {
  return seconds === null ? null : Math.round(seconds * 100_000) / 100
}
