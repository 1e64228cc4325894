import type { Point } from '../../telemetry/figures.ts'
import type { HealthReport } from '../../telemetry/health-report.ts'
import { type Chart, type ChartData, foldValues, lineChart } from './line-chart.ts'

export type Span = 'hour' | 'day'

/** `range`: what the report is asked for. Of a day five minutes make one value, lest the page gets heavy. */
const SPANS = {
  hour: { range: 'recent', points: 360, group: 1, signInGroup: 6 },
  day: { range: 'day', points: 1440, group: 5, signInGroup: 15 },
} as const

export function rangeOf(span: Span): HealthReport['series']['range'] {
  return SPANS[span].range
}

export type HealthChart = Chart & { readonly key: string; readonly unit: ChartData['unit'] }

/** What this host did, and who signed in, over an hour or a day. `key` and the lines' names are those of texts. */
export function healthCharts({ series, signIns }: Pick<HealthReport, 'series' | 'signIns'>, span: Span): HealthChart[] {
  const { points: count, group, signInGroup } = SPANS[span]
  const points = series.points.slice(-count)
  const from = points[0]?.at ?? 0
  const { step } = series

  function chart(key: string, unit: ChartData['unit'], values: Record<string, (point: Point) => number | null>) {
    const lines = Object.entries(values).map(([name, read]) => {
      return { name, values: foldValues(points.map(read), group, 'highest') }
    })
    return { key, unit, ...lineChart({ from, step: step * group, lines, unit, fold: 'highest' }) }
  }

  return [
    ...(signIns === null ? [] : [signInChart(signIns, { from, step, count: points.length }, signInGroup)]),
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

type Stretch = { readonly from: number; readonly step: number; readonly count: number }

/** Outcomes other than these two are refusals by a script, a rule or the database. */
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
