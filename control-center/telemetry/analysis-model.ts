import { type Chart as Drawn, lineChart } from '../../base/web/line-chart.ts'
import type { Chart, Figures } from './analysis.ts'
import { RANGES } from './ranges.ts'
import { SLOW } from './trace-store.ts'

/** A chart on the page, with its lines, summary values per line, and the rows of its table. */
export type ShownChart = Pick<Chart, 'key' | 'unit' | 'lines' | 'isOfSolution'> & {
  readonly isEmpty: boolean
  /** One entry per line of the chart. A count has a sum; a gauge has its last known value and its maximum. */
  readonly sums: readonly { readonly total: number; readonly last: number | null; readonly largest: number | null }[]
  /** Newest first. Slots in which all values are null or 0 are omitted. */
  readonly rows: readonly { readonly at: number; readonly values: readonly (number | null)[] }[]
  readonly drawn: Drawn & Pick<Chart, 'unit'>
}

export type AnalysisModel = Pick<Figures, 'entries' | 'errors' | 'range'> & { readonly charts: readonly ShownChart[] }

export function analysisModel({ range, times, charts, entries, errors }: Figures): AnalysisModel {
  return { range, entries, errors, charts: charts.map((chart) => shownChart(chart, times, RANGES[range].slot)) }
}

function shownChart({ key, unit, lines, isOfSolution }: Chart, times: readonly number[], step: number): ShownChart {
  // A gauge that was reported has a `last`, even if that is 0. For a count, 0 means that there is no data.
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
  // Connect the line across gaps: in a chart of a short range, gauges are reported less than once per slot.
  const data = { from: times[0] ?? 0, step, lines, unit, fold: 'highest', joinsGaps: true, ...mark } as const
  const drawn = { unit, ...lineChart(data) }
  return { key, unit, lines, isOfSolution, isEmpty, sums, rows: filled.toReversed(), drawn }
}
