import { type Chart as Drawn, lineChart } from '../../base/web/line-chart.ts'
import type { Chart, Figures } from './analysis.ts'
import { RANGES } from './ranges.ts'
import { SLOW } from './trace-store.ts'

/** A chart for the page: its lines, summary numbers per line, and the rows of its table. */
export type ShownChart = Pick<Chart, 'key' | 'unit' | 'lines' | 'isOfSolution'> & {
  readonly isEmpty: boolean
  /** Per line: the sum of a count; for a gauge, its last known value and its maximum. */
  readonly sums: readonly { readonly total: number; readonly last: number | null; readonly largest: number | null }[]
  /** Newest first, without slots whose values are all null or 0. */
  readonly rows: readonly { readonly at: number; readonly values: readonly (number | null)[] }[]
  readonly drawn: Drawn & Pick<Chart, 'unit'>
}

export type AnalysisModel = Pick<Figures, 'entries' | 'errors' | 'range'> & { readonly charts: readonly ShownChart[] }

export function analysisModel({ range, times, charts, entries, errors }: Figures): AnalysisModel {
  return { range, entries, errors, charts: charts.map((chart) => shownChart(chart, times, RANGES[range].slot)) }
}

function shownChart({ key, unit, lines, isOfSolution }: Chart, times: readonly number[], step: number): ShownChart {
  // A gauge that is reported has a `last`, even if it is 0; a count of 0 means no data.
  const isEmpty = lines.every(
    ({ values, last }) => last === null && values.every((value) => value === null || value === 0),
  )
  const sums = lines.map(({ values, last }) => {
    const known = values.filter((value) => value !== null)
    return {
      total: known.reduce((sum, value) => sum + value, 0),
      last: last ?? known.at(-1) ?? null,
      largest: known.length === 0 ? null : Math.max(...known),
    }
  })
  const rows = times.map((at, index) => ({ at, values: lines.map(({ values }) => values[index] ?? null) }))
  const filled = rows.filter(({ values }) => values.some((value) => value !== null && value !== 0))
  const mark = unit === 'ms' ? { mark: SLOW } : {}
  // Satellites report gauges less often than once per slot of a short range.
  const data = { from: times[0] ?? 0, step, lines, unit, fold: 'highest', joinsGaps: true, ...mark } as const
  const drawn = { unit, ...lineChart(data) }
  return { key, unit, lines, isOfSolution, isEmpty, sums, rows: filled.toReversed(), drawn }
}
