import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

export type Received = {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** The body, parsed as OTLP/JSON; null if it was protobuf. */
  // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
  readonly body: any
  readonly size: number
}

/** How the collector responds to a request. With `hang`, it never responds. */
export type Reply = { readonly status: number; readonly headers?: Record<string, string> } | 'hang'

/**
 * Receives OTLP over HTTP on loopback. It parses metrics only as JSON, so a test must set the host's OTLP protocol to
 * JSON.
 */
export type Collector = {
  readonly url: string
  readonly received: Received[]
  /** Every request, including those that the collector rejected. */
  readonly tries: { readonly path: string; readonly status: number | 'hang' }[]
  /** Decides how the collector responds to each request. Tests can assign another function. */
  reply: (request: { readonly path: string }) => Reply
  /** Stops listening. */
  away(): Promise<void>
  /** Starts listening on the same port again. */
  back(): Promise<void>
  stop(): Promise<void>
}

const TAKEN = { status: 200 } as const

export async function startCollector(port = 0): Promise<Collector> {
  const received: Received[] = []
  const tries: Collector['tries'] = []
  let server = await listen(port)
  const used = (server.address() as AddressInfo).port

  function listen(on: number) {
    const made = createServer((request, response) => void answer(request, response))
    return new Promise<typeof made>((resolve, reject) => {
      made.once('error', reject).listen(on, '127.0.0.1', () => resolve(made))
    })
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const path = request.url ?? ''
    const reply = collector.reply({ path })
    tries.push({ path, status: reply === 'hang' ? 'hang' : reply.status })
    if (reply === 'hang') return
    if (reply.status === 200) received.push(read(path, request, Buffer.concat(chunks)))
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers })
    response.end(reply.status === 200 ? '{}' : '')
  }

  async function end(): Promise<void> {
    if (!server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }

  const collector: Collector = {
    url: `http://127.0.0.1:${used}`,
    received,
    tries,
    reply: () => TAKEN,
    away: end,
    async back() {
      server = await listen(used)
    },
    stop: end,
  }
  return collector
}

function read(path: string, { headers }: IncomingMessage, raw: Buffer): Received {
  const bytes = headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw
  const isJson = headers['content-type'] === 'application/json'
  return { path, headers, body: isJson ? JSON.parse(bytes.toString()) : null, size: bytes.length }
}

export type Point = {
  /** The time, in epoch ms. */
  readonly time: number
  readonly attributes: Readonly<Record<string, string>>
  /** The value, or the count for a histogram. */
  readonly value: number
}

/** Returns the data points of a metric from all exports, oldest first. */
export function pointsOf(collector: Pick<Collector, 'received'>, metric: string): Point[] {
  return collector.received
    .filter(({ body }) => body?.resourceMetrics !== undefined)
    .flatMap(({ body }) => metricsIn(body))
    .filter(({ name }) => name === metric)
    .flatMap((one) => (one.sum ?? one.gauge ?? one.histogram).dataPoints.map(pointOf))
    .sort((a, b) => a.time - b.time)
}

/** Returns the distinct times of the metric's data points, in epoch ms and in order. */
export function exportTimes(collector: Pick<Collector, 'received'>, metric: string): number[] {
  return [...new Set(pointsOf(collector, metric).map(({ time }) => time))]
}

// biome-ignore lint/suspicious/noExplicitAny: parsed JSON
function metricsIn(body: any): any[] {
  // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
  return body.resourceMetrics.flatMap((one: any) => one.scopeMetrics).flatMap((one: any) => one.metrics)
}

// biome-ignore lint/suspicious/noExplicitAny: parsed JSON
function pointOf({ timeUnixNano, attributes = [], asInt, asDouble, count }: any): Point {
  return {
    time: Number(BigInt(timeUnixNano) / 1_000_000n),
    attributes: attributesOf(attributes),
    value: Number(asInt ?? asDouble ?? count),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: parsed JSON
export function attributesOf(attributes: readonly any[]): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]))
}

export function spansOf(collector: Pick<Collector, 'received'>) {
  return (
    collector.received
      .filter(({ body }) => body?.resourceSpans !== undefined)
      // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
      .flatMap(({ body }) => body.resourceSpans.flatMap((one: any) => one.scopeSpans).flatMap((one: any) => one.spans))
      // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
      .map((span: any) => ({
        name: span.name as string,
        traceId: span.traceId as string,
        spanId: span.spanId as string,
        parent: (span.parentSpanId ?? '') as string,
        attributes: attributesOf(span.attributes ?? []),
      }))
  )
}

export function recordsOf(collector: Pick<Collector, 'received'>) {
  return (
    collector.received
      .filter(({ body }) => body?.resourceLogs !== undefined)
      // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
      .flatMap(({ body }) => body.resourceLogs.flatMap((one: any) => one.scopeLogs))
      // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
      .flatMap((scope: any) => scope.logRecords.map((one: any) => ({ scope: scope.scope.name as string, one })))
      .map(({ scope, one }) => ({
        scope,
        body: one.body?.stringValue as string,
        traceId: (one.traceId ?? '') as string,
        attributes: attributesOf(one.attributes ?? []),
      }))
  )
}
