import { dayFirst } from '../../../base/web/time-format.ts'

/** The options of uPlot, a separate script; only those used here. */
type ChartOptions = {
  readonly width: number
  readonly height: number
  readonly legend: { readonly show: boolean }
  readonly cursor: { readonly y: boolean; readonly points: { readonly size: number } }
  readonly scales: Readonly<Record<string, object>>
  readonly axes: readonly object[]
  readonly series: readonly object[]
  readonly hooks: { readonly draw: readonly ((chart: DrawnChart) => void)[] }
}

type DrawnChart = {
  readonly ctx: CanvasRenderingContext2D
  readonly bbox: { readonly left: number; readonly top: number; readonly width: number; readonly height: number }
  valToPos(value: number, scale: string, canvas: boolean): number
  setSize(size: { readonly width: number; readonly height: number }): void
  destroy(): void
}

declare const uPlot: {
  new (options: ChartOptions, data: readonly (readonly (number | null)[])[], place: HTMLElement): DrawnChart
}

type DrawnFigures = {
  readonly unit: 'count' | 'ms' | 'bytes'
  /** Epoch seconds. */
  readonly times: readonly number[]
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | null)[] }[]
}

const CHART_HEIGHT = 224
const CHART_COLOURS = 8
/**
 * Axis steps: 1, 2, 4 … MB for bytes; 1, 2, 5, 10 … for counts and ms. Labels show them unrounded, so each label is
 * exact.
 */
const BYTE_STEPS = Array.from({ length: 24 }, (_, power) => 2 ** (power + 20))
const WHOLE_STEPS = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((times) => times * 10 ** power)).flat()
/** Scripts should take less than this, in ms. */
const SLOW_MARK = 500

/**
 * Draws the page's charts, and redraws them when the data is refreshed, or the page's width or colours change. Without
 * this script the page shows numbers.
 */
export function drawCharts(): void {
  const live = document.querySelector<HTMLElement>('.charts')
  if (live === null) return
  const drawn = new Map<HTMLElement, DrawnChart>()
  const draw = (): void => {
    if (typeof uPlot === 'undefined') return
    for (const source of live.querySelectorAll<HTMLElement>('[data-drawn]')) drawOne(source, drawn)
  }
  // This script runs before uPlot's; both are deferred.
  if (document.readyState === 'complete') draw()
  else window.addEventListener('load', draw)
  new MutationObserver((changes) => {
    if (changes.some(({ target }) => target instanceof HTMLElement && target.id.startsWith('live-'))) draw()
  }).observe(live, { childList: true, subtree: true })
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw)
  new ResizeObserver(() => {
    for (const [place, chart] of drawn) chart.setSize({ width: place.clientWidth, height: CHART_HEIGHT })
  }).observe(live)
}

function drawOne(source: HTMLElement, drawn: Map<HTMLElement, DrawnChart>): void {
  const place = document.getElementById(source.dataset.for ?? '')
  if (place === null) return
  const figures = JSON.parse(source.dataset.drawn ?? '') as DrawnFigures
  drawn.get(place)?.destroy()
  drawn.delete(place)
  place.hidden = figures.lines.every(({ values }) => values.every((value) => value === null))
  if (place.hidden) return
  const data = [figures.times, ...figures.lines.map(({ values }) => values)]
  drawn.set(place, new uPlot(chartOptions(figures, place), data, place))
}

function chartOptions({ unit, lines }: DrawnFigures, place: HTMLElement): ChartOptions {
  const style = getComputedStyle(place)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
  const language = document.documentElement.lang
  return {
    width: place.clientWidth,
    height: CHART_HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    scales: {
      x: { time: true },
      y: { range: (_: unknown, _least: number, most: number) => [0, Math.max(1, most * 1.1)] },
    },
    axes: [
      { ...axis, space: 70, values: (_: unknown, times: readonly number[]) => chartTimes(times, language) },
      {
        ...axis,
        size: 64,
        incrs: unit === 'bytes' ? BYTE_STEPS : WHOLE_STEPS,
        values: (_: unknown, values: readonly number[]) => values.map((one) => chartValue(one, unit, language)),
      },
    ],
    series: [
      {},
      ...lines.map(({ values }, index) => ({
        stroke: colour(`--chart-${index % CHART_COLOURS}`),
        width: 2,
        spanGaps: true,
        // A single value draws no line.
        points: {
          show: values.filter((value) => value !== null).length === 1,
          size: 8,
          fill: colour(`--chart-${index % CHART_COLOURS}`),
        },
        ...(index % 2 === 1 ? { dash: [7, 5] } : {}),
      })),
    ],
    hooks: { draw: unit === 'ms' ? [(chart) => markSlow(chart, colour('--bad'))] : [] },
  }
}

/** A line at the time above which a script is slow. */
function markSlow(chart: DrawnChart, stroke: string): void {
  const { ctx, bbox } = chart
  const y = chart.valToPos(SLOW_MARK, 'y', true)
  if (y < bbox.top || y > bbox.top + bbox.height) return
  ctx.save()
  ctx.strokeStyle = stroke
  ctx.setLineDash([2, 4])
  ctx.beginPath()
  ctx.moveTo(bbox.left, y)
  ctx.lineTo(bbox.left + bbox.width, y)
  ctx.stroke()
  ctx.restore()
}

/** UTC, as everywhere on these pages: the time of day, or the date if values are further apart. */
function chartTimes(times: readonly number[], language: string): string[] {
  const apart = (times[1] ?? 0) - (times[0] ?? 0)
  const format: Intl.DateTimeFormatOptions =
    apart >= 86_400 ? { day: 'numeric', month: 'short' } : { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
  const more: Intl.DateTimeFormatOptions = apart < 60 ? { second: '2-digit' } : {}
  const formatter = new Intl.DateTimeFormat(dayFirst(language), { ...format, ...more, timeZone: 'UTC' })
  return times.map((time) => formatter.format(time * 1000))
}

function chartValue(value: number, unit: DrawnFigures['unit'], language: string): string {
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 })
  if (unit === 'ms') return `${number.format(value)} ms`
  if (unit === 'count') return number.format(value)
  return `${number.format(value / 1024 ** 2)} MB`
}
