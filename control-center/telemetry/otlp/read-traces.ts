import type { Message } from './messages.ts'
import type { ReadItems } from './read-metrics.ts'
import { type Attributes, attributesOf, cleanText, idOf, listOf, messageOf, microsecondsOf } from './values.ts'

/** A span of a request. `start` is in epoch µs, `duration` in µs. */
export type Span = {
  readonly trace: string
  readonly span: string
  /** '' for a span without a parent. */
  readonly parent: string
  readonly name: string
  /**
   * Whether this is the root span of the request in its process: it has no parent, or its parent is in another process.
   */
  readonly isRoot: boolean
  readonly start: number
  readonly duration: number
  readonly isFailed: boolean
  readonly solution: string
  readonly attributes: Attributes
}

const MOST_SPANS = 10_000
const LONGEST_NAME = 200
/** Maximum duration: a week, in µs. */
const LONGEST_TIME = 7 * 86_400_000_000
const SERVER = 2
const ERROR = 2

export function readTraces(request: Message, now: number): ReadItems<Span> {
  const given = listOf(request.resourceSpans)
    .flatMap(({ scopeSpans }) => listOf(scopeSpans))
    .flatMap(({ spans }) => listOf(spans))
  const items = given
    .slice(0, MOST_SPANS)
    .map((span) => spanOf(span, now))
    .filter((span) => span !== null)
  const why =
    given.length > MOST_SPANS
      ? `at most ${MOST_SPANS} spans are accepted per request`
      : 'a span has no valid trace ID, span ID or start time, or its duration is invalid'
  return { items, rejected: given.length - items.length, why }
}

function spanOf(given: Message, now: number): Span | null {
  const [trace, span, parent] = [idOf(given.traceId), idOf(given.spanId), idOf(given.parentSpanId)]
  const start = microsecondsOf(given.startTimeUnixNano)
  const duration = microsecondsOf(given.endTimeUnixNano) - start
  if (
    trace.length !== 32 ||
    span.length !== 16 ||
    start === 0 ||
    duration < 0 ||
    duration > LONGEST_TIME ||
    start > (now + 600_000) * 1000
  )
    return null
  const attributes = attributesOf(given.attributes)
  const isFailed = messageOf(given.status).code === ERROR || Number(attributes['http.response.status_code'] ?? 0) >= 500
  return {
    trace,
    span,
    parent,
    name: cleanText(given.name, LONGEST_NAME),
    isRoot: parent === '' || given.kind === SERVER,
    start,
    duration,
    isFailed,
    solution: String(attributes['solhost.solution'] ?? '')
      .slice(0, LONGEST_NAME)
      .toWellFormed(),
    attributes,
  }
}
