import { expect, test } from 'vitest'
import { foldValues, lineChart } from '../../../base/web/line-chart.ts'

const MINUTE = 60_000
const chartOf = (values: readonly (number | null)[], unit: 'count' | 'bytes' | 'ms' = 'count') =>
  lineChart({ from: 0, step: MINUTE, lines: [{ name: 'one', values }], unit, fold: 'highest' })

test('chart: values are drawn from left to right, with the highest at the top', () => {
  expect(chartOf([0, 2, 4]).lines).toEqual([{ name: 'one', path: 'M100 100L300 50L500 0', dots: '' }])
})

test('chart: the line breaks where nothing was measured, and a single value is a dot', () => {
  expect(chartOf([null, 4, null, 4, 4, null]).lines).toEqual([{ name: 'one', path: 'M350 0L450 0', dots: 'M150 0h0' }])
})

test('chart: a line can be configured to continue where nothing was measured', () => {
  const lines = [{ name: 'one', values: [null, 4, null, 4, null, null] }]
  const { lines: drawn } = lineChart({ from: 0, step: MINUTE, lines, unit: 'count', fold: 'highest', joinsGaps: true })
  expect(drawn).toEqual([{ name: 'one', path: 'M150 0L350 0', dots: '' }])
})

test.each([
  ['at its height', 50, 'M0 50H600'],
  ['not above the scale', 101, null],
])('chart: a threshold mark is drawn %s', (_, mark, path) => {
  const lines = [{ name: 'one', values: [81] }]
  expect(lineChart({ from: 0, step: MINUTE, lines, unit: 'ms', fold: 'highest', mark }).mark).toBe(path)
})

test('chart: a chart without values has no line, and uses the scale for small counts', () => {
  const { lines, values } = chartOf([null, null])
  expect([lines, values]).toEqual([[{ name: 'one', path: '', dots: '' }], [0, 1, 2, 3, 4]])
})

test.each([
  ['count', 3, 4],
  ['count', 5, 8],
  ['count', 81, 100],
  ['ms', 12.5, 20],
  ['bytes', 0, 4],
  ['bytes', 300 * 1024 ** 2, 400 * 1024 ** 2],
  ['bytes', 1.5 * 1024 ** 3, 2 * 1024 ** 3],
] as const)('chart: the scale of %s up to %d ends at %d', (unit, largest, top) => {
  expect(chartOf([largest], unit).values.at(-1)).toBe(top)
})

test.each(Array.from({ length: 130 }, (_, largest) => largest))(
  'chart: labels for counts up to %d are whole numbers',
  (largest) => {
    const { values } = chartOf([largest])
    expect(values.filter((value) => !Number.isInteger(value))).toEqual([])
    expect(values.at(-1)).toBeGreaterThanOrEqual(largest)
  },
)

test('chart: time labels are evenly spaced from the first value to the end of the last interval', () => {
  expect(chartOf([1, 2, 3, 4]).times).toEqual([0, MINUTE, 2 * MINUTE, 3 * MINUTE, 4 * MINUTE])
})

test('chart: the table has at most twelve rows, each with its highest value', () => {
  const { rows } = chartOf(Array.from({ length: 60 }, (_, at) => at))
  expect(rows).toHaveLength(12)
  expect([rows[0], rows[11]]).toEqual([
    { at: 0, values: [4] },
    { at: 55 * MINUTE, values: [59] },
  ])
})

test('fold: each group of values is replaced by its maximum or sum; empty groups stay empty', () => {
  const values = [1, 2, null, null, 5]
  expect(foldValues(values, 2, 'highest')).toEqual([2, null, 5])
  expect(foldValues(values, 2, 'sum')).toEqual([3, null, 5])
})
