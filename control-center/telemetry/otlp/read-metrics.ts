import type { Message } from './messages.ts'
import { type Attributes, attributesOf, cleanText, instanceOf, listOf, messageOf, millisecondsOf } from './values.ts'

/**
 * One point of a metric, as received. Counters and histograms are cumulative since `started`, unless `isDelta` is true.
 * Times are epoch ms. `bounds` are upper bounds; `counts` has one more entry than `bounds`.
 */
export type MetricPoint = {
  readonly metric: string
  readonly instance: string
  readonly attributes: Attributes
  readonly time: number
  readonly started: number
  readonly isDelta: boolean
} & (
  | { readonly kind: 'gauge' | 'counter'; readonly value: number }
  | {
      readonly kind: 'histogram'
      readonly sum: number
      readonly counts: readonly number[]
      readonly bounds: readonly number[]
    }
)

/** The items read from a request. `rejected` is the number of items that were rejected, and `why` the first reason. */
export type ReadItems<T> = { readonly items: readonly T[]; readonly rejected: number; readonly why: string }

/** Maximum points per request. A host sends about a hundred. */
const MOST_POINTS = 10_000
const LONGEST_METRIC = 200
const MOST_BOUNDS = 100
/** Maximum characters of a point's attributes, which identify a series and are stored with it. */
const LONGEST_ATTRIBUTES = 1000
const DELTA = 1
const LARGEST = 1e18
/** How far a sender's clock may be ahead, in ms. */
const AHEAD = 10 * 60_000

export function readMetrics(request: Message, now: number): ReadItems<MetricPoint> {
  const items: MetricPoint[] = []
  let rejected = 0
  let why = ''
  const reject = (count: number, reason: string) => {
    rejected += count
    if (why === '' && count > 0) why = reason
  }

  for (const { metric, instance } of metricsIn(request)) {
    const read = readerOf(metric)
    if (typeof read === 'string') {
      reject(pointsIn(metric).length, read)
      continue
    }
    for (const point of pointsIn(metric)) {
      const attributes = attributesOf(point.attributes)
      const time = millisecondsOf(point.timeUnixNano)
      const common = { ...read.common, instance, attributes, time, started: millisecondsOf(point.startTimeUnixNano) }
      const one = read.point(common, point)
      if (items.length >= MOST_POINTS) reject(1, `at most ${MOST_POINTS} data points are accepted per request`)
      else if (time === 0 || time > now + AHEAD) reject(1, 'a data point has no time, or its time is in the future')
      else if (JSON.stringify(attributes).length > LONGEST_ATTRIBUTES)
        reject(1, `the attributes of a data point are longer than ${LONGEST_ATTRIBUTES} characters`)
      else if (one === null) reject(1, 'a data point has no value, or its value is not a number')
      else items.push(one)
    }
  }
  return { items, rejected, why }
}

type Common = Omit<MetricPoint, 'kind' | 'value' | 'sum' | 'counts' | 'bounds'>

/** @returns a function that reads the metric's points, or the reason why the metric can't be stored */
function readerOf(metric: Message) {
  const name = cleanText(metric.name, LONGEST_METRIC)
  if (name === '') return 'a metric has no name'
  const { gauge, sum, histogram } = metric
  const common = { metric: name, isDelta: false }
  if (gauge !== undefined) return { common, point: (all: Common, point: Message) => numberPoint(all, 'gauge', point) }
  if (sum !== undefined) {
    const { isMonotonic, aggregationTemporality } = messageOf(sum)
    const isDelta = aggregationTemporality === DELTA
    const kind = isMonotonic === true ? 'counter' : 'gauge'
    if (kind === 'gauge' && isDelta) return 'a sum with delta temporality must be monotonic'
    return { common: { ...common, isDelta }, point: (all: Common, point: Message) => numberPoint(all, kind, point) }
  }
  if (histogram !== undefined) {
    const isDelta = messageOf(histogram).aggregationTemporality === DELTA
    return { common: { ...common, isDelta }, point: histogramPoint }
  }
  return 'summaries and exponential histograms are not supported'
}

function numberPoint(common: Common, kind: 'gauge' | 'counter', point: Message): MetricPoint | null {
  const value = Number(point.asDouble ?? point.asInt ?? Number.NaN)
  return isSummable(value) && (kind === 'gauge' || value >= 0) ? { ...common, kind, value } : null
}

function histogramPoint(common: Common, point: Message): MetricPoint | null {
  const bounds = (Array.isArray(point.explicitBounds) ? point.explicitBounds : []).map(Number)
  const counts = (Array.isArray(point.bucketCounts) ? point.bucketCounts : []).map(Number)
  const isRising = bounds.every((bound, index) => Number.isFinite(bound) && bound > (bounds[index - 1] ?? -Infinity))
  if (bounds.length > MOST_BOUNDS || counts.length !== bounds.length + 1 || !isRising) return null
  const sum = Number(point.sum ?? 0)
  if (!isSummable(sum) || !counts.every(Number.isSafeInteger)) return null
  return { ...common, kind: 'histogram', sum, counts, bounds }
}

/** Sums of larger values would overflow to Infinity, which no database column can store. */
function isSummable(value: number): boolean {
  return Number.isFinite(value) && Math.abs(value) <= LARGEST
}

function metricsIn(request: Message) {
  return listOf(request.resourceMetrics).flatMap(({ resource, scopeMetrics }) => {
    const instance = instanceOf(resource)
    return listOf(scopeMetrics)
      .flatMap(({ metrics }) => listOf(metrics))
      .map((metric) => ({ metric, instance }))
  })
}

function pointsIn({ gauge, sum, histogram, exponentialHistogram, summary }: Message): readonly Message[] {
  return listOf(messageOf(gauge ?? sum ?? histogram ?? exponentialHistogram ?? summary).dataPoints)
}
