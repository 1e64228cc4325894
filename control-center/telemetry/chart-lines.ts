import type { Attributes } from './otlp/values.ts'

/** `values` by the chart's times, those of a gauge the highest of each; null: nothing was told. */
export type ChartLine = {
  readonly name: string
  readonly values: readonly (number | null)[]
  /** What a gauge was when it was told last; null: nothing was told, or it is no gauge. */
  readonly last: number | null
}

/** What a metric was with these attributes, by the beginnings of slots. */
export type ToldValues = { readonly attributes: Attributes; readonly values: ReadonlyMap<number, number> }

/** Lines of one chart; further ones together are `others`. */
const MOST_LINES = 6

/**
 * One line for all that have the same name, the largest first.
 * @param empty what a slot has that nothing was told of: a count is none, a gauge is unknown
 */
export function linesOf(
  told: readonly ToldValues[],
  nameOf: (attributes: Attributes) => string,
  times: readonly number[],
  empty: 0 | null,
): readonly ChartLine[] {
  const sums = new Map<string, Map<number, number>>()
  for (const { attributes, values } of told) {
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
