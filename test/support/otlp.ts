import { randomUUID } from 'node:crypto'
import type { Signal } from '../../base/config/telemetry-settings.ts'
import { type Format, type Message, writeRequest } from '../../control-center/telemetry/otlp/messages.ts'
import { SECONDS } from '../../host/telemetry/metrics.ts'

/* Creates telemetry in the format that hosts send, without running a host. */

type Labels = Readonly<Record<string, string | number>>

export const TYPES = { pb: 'application/x-protobuf', json: 'application/json' } as const

/** Simulates a host process. As in a new process, all counters start at zero. The sums that it sends are cumulative. */
export class SimulatedHost {
  readonly instance = randomUUID()
  private readonly started: number
  private readonly counters = new Map<string, { metric: string; labels: Labels; value: number }>()
  private readonly histograms = new Map<string, { metric: string; labels: Labels; sum: number; counts: number[] }>()
  private readonly gauges = new Map<string, { metric: string; labels: Labels; value: number }>()

  constructor(started = Date.now()) {
    this.started = started
  }

  add(metric: string, labels: Labels, count = 1): void {
    const key = JSON.stringify([metric, labels])
    const one = this.counters.get(key) ?? { metric, labels, value: 0 }
    this.counters.set(key, one)
    one.value += count
  }

  record(metric: string, seconds: number, labels: Labels): void {
    const key = JSON.stringify([metric, labels])
    const one = this.histograms.get(key) ?? {
      metric,
      labels,
      sum: 0,
      counts: Array(SECONDS.length + 1).fill(0) as number[],
    }
    this.histograms.set(key, one)
    one.sum += seconds
    const place = SECONDS.findIndex((edge) => seconds <= edge)
    const bucket = place < 0 ? SECONDS.length : place
    one.counts[bucket] = (one.counts[bucket] ?? 0) + 1
  }

  set(metric: string, labels: Labels, value: number): void {
    this.gauges.set(JSON.stringify([metric, labels]), { metric, labels, value })
  }

  /** Returns the data that the process sends at a given time. */
  metrics(time = Date.now()): Message {
    const at = { startTimeUnixNano: nano(this.started), timeUnixNano: nano(time) }
    const metrics = [
      ...[...this.counters.values()].map(({ metric, labels, value }) => ({
        name: metric,
        sum: {
          aggregationTemporality: 2,
          isMonotonic: true,
          dataPoints: [{ ...at, attributes: attributes(labels), asDouble: value }],
        },
      })),
      ...[...this.histograms.values()].map(({ metric, labels, sum, counts }) => ({
        name: metric,
        histogram: {
          aggregationTemporality: 2,
          dataPoints: [
            {
              ...at,
              attributes: attributes(labels),
              sum,
              count: String(counts.reduce((all, count) => all + count, 0)),
              bucketCounts: counts.map(String),
              explicitBounds: SECONDS,
            },
          ],
        },
      })),
      ...[...this.gauges.values()].map(({ metric, labels, value }) => ({
        name: metric,
        gauge: { dataPoints: [{ ...at, attributes: attributes(labels), asDouble: value }] },
      })),
    ]
    return { resourceMetrics: [{ resource: this.resource(), scopeMetrics: [{ scope: { name: 'solhost' }, metrics }] }] }
  }

  logs(lines: readonly SimulatedLine[]): Message {
    const logRecords = lines.map(({ message, time = Date.now(), severity = 9, labels = {}, trace }) => ({
      timeUnixNano: nano(time),
      severityNumber: severity,
      body: { stringValue: message },
      attributes: attributes(labels),
      ...(trace === undefined
        ? {}
        : { traceId: Buffer.from(trace, 'hex'), spanId: Buffer.from('0123456789abcdef', 'hex') }),
    }))
    const scopeLogs = [{ scope: { name: 'solhost.solution' }, logRecords }]
    return { resourceLogs: [{ resource: this.resource(), scopeLogs }] }
  }

  spans(spans: readonly SimulatedSpan[]): Message {
    const told = spans.map(({ trace, span, parent, name, start, duration, isFailed = false, labels = {} }) => ({
      traceId: Buffer.from(trace, 'hex'),
      spanId: Buffer.from(span, 'hex'),
      ...(parent === undefined ? {} : { parentSpanId: Buffer.from(parent, 'hex') }),
      name,
      kind: parent === undefined ? 2 : 1,
      startTimeUnixNano: nano(start),
      endTimeUnixNano: nano(start + duration),
      attributes: attributes(labels),
      status: { code: isFailed ? 2 : 0 },
    }))
    return { resourceSpans: [{ resource: this.resource(), scopeSpans: [{ scope: { name: 'solhost' }, spans: told }] }] }
  }

  private resource() {
    return { attributes: attributes({ 'service.name': 'solhost', 'service.instance.id': this.instance }) }
  }
}

export type SimulatedLine = {
  readonly message: string
  readonly time?: number
  readonly severity?: number
  readonly labels?: Labels
  readonly trace?: string
}

export type SimulatedSpan = {
  readonly trace: string
  readonly span: string
  readonly parent?: string
  readonly name: string
  readonly start: number
  readonly duration: number
  readonly isFailed?: boolean
  readonly labels?: Labels
}

/** Sends the telemetry to a control center, like a Satellite. */
export function sendOtlp(
  url: string,
  token: string | null,
  signal: Signal,
  body: Message | Uint8Array,
  { format = 'pb', headers = {} }: { readonly format?: Format; readonly headers?: Record<string, string> } = {},
): Promise<Response> {
  const bytes = body instanceof Uint8Array ? body : writeRequest(signal, body, format)
  return fetch(`${url}/otlp/v1/${signal}`, {
    method: 'POST',
    headers: {
      'content-type': TYPES[format],
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: new Uint8Array(bytes),
  })
}

function nano(milliseconds: number): string {
  return String(BigInt(Math.floor(milliseconds * 1000)) * 1000n)
}

function attributes(labels: Labels) {
  return Object.entries(labels).map(([key, value]) => {
    return { key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }
  })
}
