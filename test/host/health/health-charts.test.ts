import { expect, test } from 'vitest'
import { healthCharts, rangeOf } from '../../../host/health/health-charts.ts'
import { createFigures, RANGES } from '../../../host/telemetry/figures.ts'

const MEGABYTE = 1024 ** 2
/** At this time, a step begins both in the series for an hour and in the series for a day. */
const NOW = 1_800_000_000_000

/** The charts for an hour or a day in which only the last step has calls and sign-ins. */
function chartsOf(span: 'hour' | 'day', now = NOW) {
  const figures = createFigures(() => now)
  for (const milliseconds of [10, 10, 10, 1000]) {
    figures.called({ solution: 'crm', entry: 'onSolutionOpen', outcome: { code: 'returned', milliseconds } })
  }
  figures.looked({ processes: 2, processMemory: 30 * MEGABYTE, hostMemory: 100 * MEGABYTE, clients: 7 })
  const range = rangeOf(span)
  const { step } = RANGES[range]
  const signIns = [
    { at: NOW, outcome: 'ok', count: 3 },
    { at: NOW - step, outcome: 'ok', count: 2 },
    { at: NOW, outcome: 'throttled', count: 1 },
    { at: NOW, outcome: 'refused', count: 1 },
    { at: NOW, outcome: 'script_timeout', count: 1 },
    { at: NOW - 1440 * 60_000, outcome: 'ok', count: 100 },
  ]
  const charts = healthCharts({ series: { range, step, points: figures.points(range) }, signIns }, span)
  return Object.fromEntries(charts.map((chart) => [chart.key, chart]))
}

test.each(['hour', 'day'] as const)('charts of a %s: the last row of each table has the newest values', (span) => {
  const { signins, times, memory, processes } = chartsOf(span)
  expect(signins?.rows.at(-1)?.values).toEqual([5, 2, 1])
  const [p50 = 0, p95 = 0] = times?.rows.at(-1)?.values ?? []
  // The histogram is not exact, so allow for its precision.
  for (const [told, meant] of [
    [p50, 10],
    [p95, 1000],
  ])
    expect(Math.abs(Number(told) / Number(meant) - 1)).toBeLessThan(0.091)
  expect(memory?.rows.at(-1)?.values).toEqual([100 * MEGABYTE, 30 * MEGABYTE])
  expect(processes?.rows.at(-1)?.values).toEqual([2, 7])
})

test.each([
  ['hour', 3_600_000],
  ['day', 86_400_000],
] as const)('charts of a %s: each chart covers the whole period', (span, length) => {
  for (const { times } of Object.values(chartsOf(span))) {
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBe(length)
  }
})

test.each(['hour', 'day'] as const)('charts of a %s: the times on the axis are whole minutes', (span) => {
  for (const { times } of Object.values(chartsOf(span, NOW + 20_000))) {
    expect(times.map((time) => time % 60_000)).toEqual([0, 0, 0, 0, 0])
    expect(times.at(-1)).toBe(NOW + 60_000)
  }
})

test('charts: rows before the first values have no calls and no sign-ins', () => {
  const { signins, times } = chartsOf('hour')
  expect(signins?.rows[0]?.values).toEqual([0, 0, 0])
  expect(times?.rows[0]?.values).toEqual([null, null])
})

test('charts: while the database is unreachable there is no sign-in chart', () => {
  const points = createFigures(() => NOW).points('recent')
  const charts = healthCharts({ series: { range: 'recent', step: 10_000, points }, signIns: null }, 'hour')
  expect(charts.map(({ key }) => key)).toEqual(['times', 'memory', 'processes'])
})
