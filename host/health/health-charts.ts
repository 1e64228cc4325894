import { type Chart, type ChartData, foldValues, lineChart } from '../../base/web/line-chart.ts'
import type { Point } from '../telemetry/figures.ts'
import type { HealthReport } from './health-report.ts'

/** In ms. */
const MINUTE = 60_000

export type Span = 'hour' | 'day'

/**
 * `range` selects the data in the health report. For a day, each point combines five minutes, to keep the page small.
 */
const SPANS = {
  hour: { range: 'recent', points: 360, group: 1, signInGroup: 6 },
  day: { range: 'day', points: 1440, group: 5, signInGroup: 15 },
} as const

export function rangeOf(span: Span): HealthReport['series']['range'] {
  return SPANS[span].range
}

export type HealthChart = Chart & { readonly key: string; readonly unit: ChartData['unit'] }

/**
 * Returns charts of host activity and sign-ins over an hour or a day. `key` and the names of the lines are keys of
 * translated texts.
 */
export function healthCharts({ series, signIns }: Pick<HealthReport, 'series' | 'signIns'>, span: Span): HealthChart[] {
  const { points: count, group, signInGroup } = SPANS[span]
  const { step } = series
  const ahead = untilMinute(series)
  const points = series.points.slice(ahead - count)
  const from = points[0]?.at ?? 0

  function chart(key: string, unit: ChartData['unit'], values: Record<string, (point: Point) => number | null>) {
    const lines = Object.entries(values).map(([name, read]) => {
      return { name, values: foldValues([...points.map(read), ...nothing(ahead)], group, 'highest') }
    })
    return { key, unit, ...lineChart({ from, step: step * group, lines, unit, fold: 'highest' }) }
  }

  return [
    ...(signIns === null ? [] : [signInChart(signIns, { from, step, count: points.length + ahead }, signInGroup)]),
    chart('times', 'ms', { p50: ({ calls }) => calls.p50, p95: ({ calls }) => calls.p95 }),
    chart('memory', 'bytes', {
      host: ({ gauges }) => gauges?.hostMemory ?? null,
      sandbox: ({ gauges }) => gauges?.processMemory ?? null,
    }),
    chart('processes', 'count', {
      processes: ({ gauges }) => gauges?.processes ?? null,
      clients: ({ gauges }) => gauges?.clients ?? null,
    }),
  ]
}

/**
 * Returns the number of steps until the next full minute. Axis labels have no seconds, so the axis starts and ends on
 * full minutes.
 */
function untilMinute({ points, step }: HealthReport['series']): number {
  const end = (points.at(-1)?.at ?? 0) + step
  return Math.ceil(((MINUTE - (end % MINUTE)) % MINUTE) / step)
}

function nothing(count: number): null[] {
  return Array.from({ length: count }, () => null)
}

type Stretch = { readonly from: number; readonly step: number; readonly count: number }

/** All outcomes except `ok` and `throttled` are rejections by a script, a rule or the database. */
function signInChart(signIns: NonNullable<HealthReport['signIns']>, { from, step, count }: Stretch, group: number) {
  const kinds = { ok: zeros(count), refused: zeros(count), throttled: zeros(count) }
  for (const { at, outcome, count: times } of signIns) {
    const place = Math.floor((at - from) / step)
    const values = outcome === 'ok' || outcome === 'throttled' ? kinds[outcome] : kinds.refused
    if (place >= 0 && place < count) values[place] = (values[place] ?? 0) + times
  }
  const lines = Object.entries(kinds).map(([name, values]) => ({ name, values: foldValues(values, group, 'sum') }))
  const unit = 'count'
  return { key: 'signins', unit, ...lineChart({ from, step: step * group, lines, unit, fold: 'sum' }) } as const
}

function zeros(count: number): number[] {
  return Array.from({ length: count }, () => 0)
}
