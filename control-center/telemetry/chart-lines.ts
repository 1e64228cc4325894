import type { Attributes } from './otlp/values.ts'

/**
 * `values` has one entry per slot of the chart. A gauge's entry is the slot's maximum. Null means that the slot has no
 * data.
 */
export type ChartLine = {
  readonly name: string
  readonly values: readonly (number | null)[]
  /** A gauge's last reported value; null if it has no data, or if the line is not a gauge. */
  readonly last: number | null
}

/** A metric's values for these attributes, by slot start. */
export type ReportedValues = { readonly attributes: Attributes; readonly values: ReadonlyMap<number, number> }

/** Maximum lines per chart; the others are added up in one line, `others`. */
const MOST_LINES = 6

/**
 * Sums values with the same name into one line, and sorts the lines by total, largest first.
 * @param empty value of a slot without data: 0 for a count, null for a gauge
 */
export function linesOf(
  reported: readonly ReportedValues[],
  nameOf: (attributes: Attributes) => string,
  times: readonly number[],
  empty: 0 | null,
): readonly ChartLine[] {
  const sums = new Map<string, Map<number, number>>()
  for (const { attributes, values } of reported) {
    const name = nameOf(attributes)
    const sum = sums.get(name) ?? new Map<number, number>()
    sums.set(name, sum)
    addTo(sum, values)
  }
  const totalOf = (values: ReadonlyMap<number, number>) => [...values.values()].reduce((sum, value) => sum + value, 0)
  const ordered = [...sums].sort(([a, one], [b, other]) => totalOf(other) - totalOf(one) || (a < b ? -1 : 1))
  const rest = ordered.splice(MOST_LINES)
  if (rest.length > 0) {
    const others = new Map<number, number>()
    for (const [, values] of rest) addTo(others, values)
    ordered.push(['others', others])
  }
  return ordered.map(([name, values]) => {
    return { name, values: times.map((time) => values.get(time) ?? empty), last: null }
  })
}

export function labelOf(name: string): (attributes: Attributes) => string {
  return (attributes) => String(attributes[name] ?? '')
}

function addTo(sum: Map<number, number>, values: ReadonlyMap<number, number>): void {
  for (const [time, value] of values) sum.set(time, (sum.get(time) ?? 0) + value)
}
