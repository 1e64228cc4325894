import type { CallEnd } from '../solutions/call-end.ts'
import { Histogram } from './histogram.ts'

/** Values that are polled. Memory is in bytes. */
export type Gauges = {
  readonly processes: number
  /** The total of all sandbox processes. */
  readonly processMemory: number
  readonly hostMemory: number
  readonly clients: number
}

/** Times in ms; null if there were no calls. */
export type CallFigures = {
  readonly count: number
  readonly failed: number
  readonly p50: number | null
  readonly p95: number | null
  readonly largest: number
}

/**
 * The figures for one interval. `at` is its start in epoch ms. Gauges are the maximum in the interval; null if they
 * were not polled in it.
 */
export type Point = { readonly at: number; readonly calls: CallFigures; readonly gauges: Gauges | null }

/** @see RANGES */
export type Range = 'recent' | 'day'

export type EntryFigures = CallFigures & { readonly solution: string; readonly entry: string }

/**
 * The recent activity of this host. It is stored in bounded memory and lost on restart. Quantiles are from `Histogram`,
 * with an error of at most 9 %.
 */
export interface Figures {
  /**
   * Counts a script call. Must take less than 1 µs, because it runs after every call. Calls that found no free process
   * are not counted.
   */
  called(end: CallEnd): void
  looked(gauges: Gauges): void
  /** @returns the points, oldest first, without gaps; the last point is still being filled */
  points(range: Range): readonly Point[]
  /** Entry functions and handlers called in the last `hours` hours, by total run time in descending order. */
  entries(hours: number): readonly EntryFigures[]
}

/** `recent` has slots of 10 s over 2 hours, and `day` has slots of a minute over 24 hours. Values are in ms. */
export const RANGES = {
  recent: { step: 10_000, points: 720 },
  day: { step: 60_000, points: 1440 },
} as const satisfies Record<Range, { readonly step: number; readonly points: number }>

const HOUR = 3_600_000
/** Maximum for `hours` in `Figures.entries`. Counts per entry function are stored for one day. */
export const MOST_HOURS = 24
/**
 * Maximum entry functions per hour that are counted by name. All others are counted together as `others`. The limit is
 * needed because solutions choose the names.
 */
const MOST_ENTRIES = 200

/** @param now returns the current time in epoch milliseconds */
export function createFigures(now: () => number = Date.now): Figures {
  const series = { recent: createSeries(RANGES.recent), day: createSeries(RANGES.day) }
  const hours = createRing(HOUR, MOST_HOURS + 1, () => new Map<string, Counted>())

  function countEntry(end: CallEnd, time: number): void {
    const entries = hours.at(time)
    const name = `${end.solution} ${end.entry}`
    const key = entries.has(name) || entries.size < MOST_ENTRIES ? name : OTHERS
    const counted = entries.get(key) ?? new Counted()
    entries.set(key, counted)
    counted.add(end)
  }

  return {
    called(end) {
      if (end.outcome.code === 'sandbox_busy') return
      const time = now()
      series.recent.called(end, time)
      series.day.called(end, time)
      countEntry(end, time)
    },
    looked(gauges) {
      series.recent.looked(gauges, now())
      series.day.looked(gauges, now())
    },
    points: (range) => series[range].points(now()),
    entries(wanted) {
      const sums = new Map<string, Counted>()
      for (const { slot } of hours.since(now() - Math.min(wanted, MOST_HOURS) * HOUR)) {
        for (const [name, counted] of slot) {
          const sum = sums.get(name) ?? new Counted()
          sum.addAll(counted)
          sums.set(name, sum)
        }
      }
      return [...sums]
        .sort(([, one], [, other]) => other.milliseconds - one.milliseconds)
        .slice(0, MOST_ENTRIES)
        .map(([name, counted]) => ({ ...placeOf(name), ...counted.figures() }))
    },
  }
}

const OTHERS = ' others'

function placeOf(name: string): { readonly solution: string; readonly entry: string } {
  // Solution names contain no spaces.
  const end = name.indexOf(' ')
  return { solution: name.slice(0, end), entry: name.slice(end + 1) }
}

class Counted {
  private readonly times = new Histogram()
  private failed = 0
  milliseconds = 0

  add({ outcome: { code, milliseconds } }: CallEnd): void {
    this.times.add(milliseconds)
    this.milliseconds += milliseconds
    if (code !== 'returned') this.failed++
  }

  addAll(other: Counted): void {
    this.times.addAll(other.times)
    this.milliseconds += other.milliseconds
    this.failed += other.failed
  }

  figures(): CallFigures {
    const { count, largest } = this.times
    return { count, failed: this.failed, p50: this.times.quantile(0.5), p95: this.times.quantile(0.95), largest }
  }
}

const NO_CALLS: CallFigures = { count: 0, failed: 0, p50: null, p95: null, largest: 0 }

type Slot = { calls: Counted | null; gauges: Gauges | null }

function createSeries({ step, points }: { readonly step: number; readonly points: number }) {
  const ring = createRing<Slot>(step, points, () => ({ calls: null, gauges: null }))
  return {
    called(end: CallEnd, time: number) {
      const slot = ring.at(time)
      slot.calls ??= new Counted()
      slot.calls.add(end)
    },
    looked(gauges: Gauges, time: number) {
      const slot = ring.at(time)
      slot.gauges = slot.gauges === null ? gauges : largestOf(slot.gauges, gauges)
    },
    points(time: number): Point[] {
      const first = Math.floor(time / step) - points + 1
      const listed = Array.from({ length: points }, (_, index): Point => {
        return { at: (first + index) * step, calls: NO_CALLS, gauges: null }
      })
      for (const { number, slot } of ring.since(first * step)) {
        const calls = slot.calls?.figures() ?? NO_CALLS
        if (number < first + points) listed[number - first] = { at: number * step, calls, gauges: slot.gauges }
      }
      return listed
    },
  }
}

function largestOf(one: Gauges, other: Gauges): Gauges {
  return {
    processes: Math.max(one.processes, other.processes),
    processMemory: Math.max(one.processMemory, other.processMemory),
    hostMemory: Math.max(one.hostMemory, other.hostMemory),
    clients: Math.max(one.clients, other.clients),
  }
}

type Kept<T> = { readonly number: number; readonly slot: T }

/** A ring buffer of time slots, which are created when first used. The newest slot replaces the oldest. */
function createRing<T>(step: number, length: number, make: () => T) {
  const slots: (Kept<T> | undefined)[] = []
  return {
    at(time: number): T {
      const number = Math.floor(time / step)
      const kept = slots[number % length]
      if (kept?.number === number) return kept.slot
      const created = { number, slot: make() }
      slots[number % length] = created
      return created.slot
    },
    since(time: number): Kept<T>[] {
      const first = Math.floor(time / step)
      return slots.filter((kept): kept is Kept<T> => kept !== undefined && kept.number >= first)
    },
  }
}
