/** Several lines over one stretch of time, as the template `chart` draws them; the labels are put into words there. */
export type Chart = {
  readonly lines: readonly ChartLine[]
  /** From the bottom to the top, evenly apart. */
  readonly values: readonly number[]
  /** Epoch ms, from left to right, evenly apart. */
  readonly times: readonly number[]
  /** The same in a few rows, for who cannot see the lines: the highest or the sum of each. */
  readonly rows: readonly { readonly at: number; readonly values: readonly (number | null)[] }[]
}

/** SVG paths: of values in a row, and of those alone. */
export type ChartLine = { readonly name: string; readonly path: string; readonly dots: string }

export type ChartData = {
  /** Epoch ms. */
  readonly from: number
  /** Ms from one value to the next. */
  readonly step: number
  /** As many of each; null where nothing was measured. */
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | null)[] }[]
  readonly unit: 'count' | 'bytes' | 'ms'
  /** What several values become, in the rows of the table. */
  readonly fold: 'highest' | 'sum'
}

/** The field that lines are drawn in; it is stretched to what place there is. */
export const FIELD = { width: 600, height: 100 } as const

const VALUE_LABELS = 5
const TIME_LABELS = 5
const ROWS = 12

export function lineChart(data: ChartData): Chart {
  const { from, step, lines, unit, fold } = data
  const count = Math.max(1, ...lines.map(({ values }) => values.length))
  const top = niceTop(Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))), unit)
  return {
    lines: lines.map(({ name, values }) => ({ name, ...pathsOf(values, top) })),
    values: evenly(VALUE_LABELS, 0, top),
    times: evenly(TIME_LABELS, from, from + count * step),
    rows: rowsOf(lines, from, step, count, fold),
  }
}

/** Values in groups of so many, the last one of what is left: the highest of each, or their sum. */
export function foldValues(
  values: readonly (number | null)[],
  size: number,
  fold: 'highest' | 'sum',
): readonly (number | null)[] {
  const groups = Array.from({ length: Math.ceil(values.length / size) }, (_, at) =>
    values.slice(at * size, (at + 1) * size).filter((value) => value !== null),
  )
  return groups.map((group) => {
    if (group.length === 0) return null
    return fold === 'sum' ? group.reduce((sum, value) => sum + value, 0) : Math.max(...group)
  })
}

/** Where nothing was measured the line breaks. */
function pathsOf(values: readonly (number | null)[], top: number): { readonly path: string; readonly dots: string } {
  const width = FIELD.width / Math.max(1, values.length)
  const has = (at: number) => values[at] !== null && values[at] !== undefined
  let path = ''
  let dots = ''
  for (const [at, value] of values.entries()) {
    if (value === null) continue
    const place = `${rounded((at + 0.5) * width)} ${rounded(FIELD.height - (value / top) * FIELD.height)}`
    if (has(at - 1)) path += `L${place}`
    else if (has(at + 1)) path += `M${place}`
    else dots += `M${place}h0`
  }
  return { path, dots }
}

/** A round number that is not below the largest value, so that the labels between are round too. */
function niceTop(largest: number, unit: ChartData['unit']): number {
  const base = unit === 'bytes' ? 1024 ** Math.floor(Math.log2(Math.max(1, largest)) / 10) : 1
  const scaled = Math.max(largest / base, 1)
  const power = 10 ** Math.floor(Math.log10(scaled))
  // Labels stand at quarters: those of counts, ms and single bytes are whole numbers, of small ones by 12 instead of 10.
  const isWhole = unit !== 'bytes' || base === 1
  const steps = isWhole && scaled <= 12 ? [4, 8, 12] : [1, 2, 4, 8, 10].map((times) => times * power)
  return (steps.find((value) => value >= scaled) ?? scaled) * base
}

function evenly(labels: number, first: number, last: number): number[] {
  return Array.from({ length: labels }, (_, at) => first + ((last - first) * at) / (labels - 1))
}

function rowsOf(
  lines: ChartData['lines'],
  from: number,
  step: number,
  count: number,
  fold: ChartData['fold'],
): Chart['rows'] {
  const size = Math.ceil(count / ROWS)
  const folded = lines.map(({ values }) => foldValues(values, size, fold))
  return Array.from({ length: Math.ceil(count / size) }, (_, row) => ({
    at: from + row * size * step,
    values: folded.map((values) => values[row] ?? null),
  }))
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}
