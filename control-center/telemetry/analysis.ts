import { type ChartLine, labelOf, linesOf } from './chart-lines.ts'
import { readCounts } from './counts.ts'
import { isOneOf } from './database/many-rows.ts'
import type { TelemetryDatabase } from './database/tables.ts'
import { type Gauge, readGauges } from './gauges.ts'
import type { ErrorPlace, LogStore } from './log-store.ts'
import type { Attributes } from './otlp/values.ts'
import { type Range, slotsOf } from './ranges.ts'
import { byEntry, type EntryTimes, entryTimes, timesOf } from './script-times.ts'

export type Chart = {
  readonly key: 'sessions' | 'logins' | 'scripts' | 'memory' | 'kills'
  readonly unit: 'count' | 'ms' | 'bytes'
  readonly lines: readonly ChartLine[]
  /** Whether the solution filter applies to this chart. If false, the chart always covers all solutions. */
  readonly isOfSolution: boolean
}

export type Figures = {
  readonly range: Range
  /** The start of each slot, in epoch ms. The last slot is still being filled. */
  readonly times: readonly number[]
  readonly charts: readonly Chart[]
  readonly entries: readonly EntryTimes[]
  readonly errors: readonly ErrorPlace[]
}

export type FiguresAsked = {
  readonly environments: readonly string[]
  readonly solution?: string | undefined
  readonly range: Range
}

export interface Analysis {
  figures(asked: FiguresAsked): Promise<Figures>
  /** The names of the solutions that appear in these environments' metrics, sorted. */
  solutions(environments: readonly string[]): Promise<readonly string[]>
}

const MOST_ERRORS = 20

/** @param now returns the current time in epoch milliseconds */
export function createAnalysis(reading: TelemetryDatabase, logs: LogStore, now: () => number): Analysis {
  return {
    async figures({ environments, solution, range }) {
      const slots = slotsOf(range, now())
      const { times, from } = slots
      const counts = (metric: string, withBuckets = false) =>
        readCounts(reading, environments, metric, slots, withBuckets)
      const gauges = (metric: string) => readGauges(reading, environments, metric, slots, now())
      const isAsked = ({ attributes }: { readonly attributes: Attributes }) =>
        solution === undefined || attributes.solution === solution

      const logins = (await counts('solhost_logins_total')).filter(isAsked)
      const scripts = byEntry((await counts('solhost_script_duration_seconds', true)).filter(isAsked))
      const memory = await gauges('solhost_memory_bytes')
      const kills = await counts('solhost_sandbox_kills_total')
      const clients = solution === undefined ? await gauges('solhost_clients') : []
      const begun = logins.filter(({ attributes }) => attributes.result === 'ok')
      const sessions = [...linesOf(begun, () => 'begun', times, 0), ...gaugeLines(clients, () => 'clients', times)]
      return {
        range,
        times,
        charts: [
          { key: 'sessions', unit: 'count', lines: sessions, isOfSolution: true },
          { key: 'logins', unit: 'count', lines: linesOf(logins, labelOf('result'), times, 0), isOfSolution: true },
          { key: 'scripts', unit: 'ms', lines: timesOf(scripts, times), isOfSolution: true },
          { key: 'memory', unit: 'bytes', lines: gaugeLines(memory, labelOf('part'), times), isOfSolution: false },
          { key: 'kills', unit: 'count', lines: linesOf(kills, labelOf('reason'), times, 0), isOfSolution: false },
        ],
        entries: scripts.map(entryTimes),
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

/** Creates one line per gauge name. `last` is the current value, summed over all environments. */
function gaugeLines(
  gauges: readonly Gauge[],
  nameOf: (attributes: Attributes) => string,
  times: readonly number[],
): readonly ChartLine[] {
  const reported = gauges.filter(({ values }) => values.size > 0)
  const last = new Map<string, number>()
  for (const { attributes, last: value } of reported) {
    const name = nameOf(attributes)
    if (value !== null) last.set(name, (last.get(name) ?? 0) + value)
  }
  return linesOf(reported, nameOf, times, null).map((line) => ({ ...line, last: last.get(line.name) ?? null }))
}
