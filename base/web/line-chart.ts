/** Line charts over a time range. The template `plot` draws them and formats the labels. */
export type Chart = {
  readonly lines: readonly ChartLine[]
  /**
   * The SVG path of a horizontal line at `ChartData.mark`; null if the chart has no mark, or if its value is above the
   * scale.
   */
  readonly mark: string | null
  /** Axis labels from bottom to top, evenly spaced. */
  readonly values: readonly number[]
  /** Epoch ms, from left to right, evenly spaced. */
  readonly times: readonly number[]
  /** The same data as a short table for screen readers. Each row combines several values into their maximum or sum. */
  readonly rows: readonly { readonly at: number; readonly values: readonly (number | null)[] }[]
}

/** SVG paths: `path` for consecutive values, `dots` for isolated ones. */
export type ChartLine = { readonly name: string; readonly path: string; readonly dots: string }

export type ChartData = {
  /** Epoch ms. */
  readonly from: number
  /** Interval between values, in ms. */
  readonly step: number
  /** All lines have the same number of values. A null means that nothing was measured at that time. */
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | null)[] }[]
  readonly unit: 'count' | 'bytes' | 'ms'
  /** How several values are combined in a table row. */
  readonly fold: 'highest' | 'sum'
  /**
   * Whether lines continue across gaps where nothing was measured; default: no. Set this for values that arrive less
   * often than `step`.
   */
  readonly joinsGaps?: boolean
  /** A value to mark with a horizontal line, such as a limit. */
  readonly mark?: number
}

/** The drawing area. It is stretched to the available space. */
const FIELD = { width: 600, height: 100 } as const

const VALUE_LABELS = 5
const TIME_LABELS = 5
const ROWS = 12

export function lineChart(data: ChartData): Chart {
  const { from, step, lines, unit, fold, joinsGaps = false, mark } = data
  const count = Math.max(1, ...lines.map(({ values }) => values.length))
  const top = niceTop(Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))), unit)
  return {
    lines: lines.map(({ name, values }) => ({ name, ...pathsOf(values, top, joinsGaps) })),
    mark: mark === undefined || mark > top ? null : `M0 ${heightOf(mark, top)}H${FIELD.width}`,
    values: evenly(VALUE_LABELS, 0, top),
    times: evenly(TIME_LABELS, from, from + count * step),
    rows: rowsOf(lines, from, step, count, fold),
  }
}

/** Combines groups of `size` values into their maximum or sum; the last group can be smaller. */
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

/** Returns the SVG paths of a line. Without `joinsGaps`, the line breaks where nothing was measured. */
function pathsOf(
  values: readonly (number | null)[],
  top: number,
  joinsGaps: boolean,
): { readonly path: string; readonly dots: string } {
  const width = FIELD.width / Math.max(1, values.length)
  const points = values.flatMap((value, at) => (value === null ? [] : [{ value, at }]))
  let path = ''
  let dots = ''
  for (const [index, { value, at }] of points.entries()) {
    const place = `${rounded((at + 0.5) * width)} ${heightOf(value, top)}`
    const isNear = (other: number | undefined) => other !== undefined && (joinsGaps || Math.abs(other - at) === 1)
    if (isNear(points[index - 1]?.at)) path += `L${place}`
    else if (isNear(points[index + 1]?.at)) path += `M${place}`
    else dots += `M${place}h0`
  }
  return { path, dots }
}

/** Returns the y coordinate for a value. In SVG, it is measured from the top of the drawing area. */
function heightOf(value: number, top: number): number {
  return rounded(FIELD.height - (value / top) * FIELD.height)
}

/** Rounds the largest value up, so that the axis labels are round numbers too. */
function niceTop(largest: number, unit: ChartData['unit']): number {
  const base = unit === 'bytes' ? 1024 ** Math.floor(Math.log2(Math.max(1, largest)) / 10) : 1
  const scaled = Math.max(largest / base, 1)
  const power = 10 ** Math.floor(Math.log10(scaled))
  // The labels divide the scale into quarters. Labels for counts, ms and single bytes must be whole numbers, so small
  // scales end at 4, 8 or 12.
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
