import type { Chart, Figures } from './analysis.ts'

/** A chart for the page: summary numbers per line, the rows of its table, and the data for the chart script. */
export type ShownChart = Pick<Chart, 'key' | 'unit' | 'lines' | 'isOfSolution'> & {
  readonly isEmpty: boolean
  /** Per line: the sum of a count; for a gauge, its last known value and its maximum. */
  readonly sums: readonly { readonly total: number; readonly last: number | null; readonly largest: number | null }[]
  /** Newest first, without slots whose values are all null or 0. */
  readonly rows: readonly { readonly at: number; readonly values: readonly (number | null)[] }[]
  /** JSON for the chart script. */
  readonly drawn: string
}

export type AnalysisModel = Pick<Figures, 'entries' | 'errors' | 'range'> & { readonly charts: readonly ShownChart[] }

export function analysisModel({ range, times, charts, entries, errors }: Figures): AnalysisModel {
  return { range, entries, errors, charts: charts.map((chart) => shownChart(chart, times)) }
}

function shownChart({ key, unit, lines, isOfSolution }: Chart, times: readonly number[]): ShownChart {
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
  const drawn = JSON.stringify({ unit, times: times.map((at) => at / 1000), lines })
  return { key, unit, lines, isOfSolution, isEmpty, sums, rows: filled.toReversed(), drawn }
}
