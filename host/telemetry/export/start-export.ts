import { join } from 'node:path'
import type { LoggerProvider, TracerProvider } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { IMetricReader } from '@opentelemetry/sdk-metrics'
import type { Logger } from 'pino'
import { SIGNALS, type Signal } from '../../../base/config/telemetry-settings.ts'
import { createSender, type Sender, type SenderState } from '../../../base/outbound/sender.ts'
import { createBatchQueue } from '../../../base/work/batch-queue.ts'
import type { TelemetrySettings } from '../../config/telemetry-settings.ts'
import type { Metrics } from '../metrics.ts'
import { boundedRecords, boundedSpans, countingExporter, createWaitingItems } from './bounded-batch.ts'
import { pointsOf, queueExporter } from './exporters.ts'

/** The running export. A signal's property is null if that signal is not exported. */
export type Export = {
  readonly reader: IMetricReader | null
  readonly tracers: TracerProvider | null
  readonly loggers: LoggerProvider | null
  readonly states: () => readonly SenderState[]
  /** Flushes and stops the export. It takes at most about `STOP_PATIENCE`, plus the time for a few writes. */
  readonly stop: () => Promise<void>
}

export type ExportParts = {
  readonly settings: TelemetrySettings
  readonly home: string
  /** Queue limit in bytes; each signal gets a third of it. */
  readonly bound: number
  readonly resource: Resource
  readonly metrics: Metrics
  /** A log that is not exported itself. Otherwise, each log line about sending would cause another one to be sent. */
  readonly log: Logger
}

/**
 * Maximum time in ms that spans or log records wait in a batch queue. If the queue is full (see `BATCH`), new ones are
 * dropped and counted.
 */
const BATCH_TIME = 5000
const BATCH = { maxQueueSize: 4096, maxExportBatchSize: 512 }
/** Maximum length of log records and attributes, in characters; longer ones are cut. */
const LONGEST_TEXT = 4096
/** How long `stop` tries to send queued data, in ms. The host has 4 s to stop. */
const STOP_PATIENCE = 500

/**
 * Loads the exporters and starts them.
 * @throws the errors of `mkdir` if PLATFORM_HOME is not writable
 */
export async function startExport({ settings, home, bound, resource, metrics, log }: ExportParts): Promise<Export> {
  const otlp = await import('@opentelemetry/otlp-transformer')
  const { targets, protocol, isCompressed, timeout, interval, sampled } = settings
  const format = protocol === 'http/json' ? 'json' : 'pb'
  const serializers = {
    metrics: { pb: otlp.ProtobufMetricsSerializer, json: otlp.JsonMetricsSerializer },
    logs: { pb: otlp.ProtobufLogsSerializer, json: otlp.JsonLogsSerializer },
    traces: { pb: otlp.ProtobufTraceSerializer, json: otlp.JsonTraceSerializer },
  }
  const senders = new Map<Signal, Sender>()
  const ends: (() => Promise<void>)[] = []
  const batching = { ...BATCH, scheduledDelayMillis: Math.min(BATCH_TIME, interval) }

  async function openQueue(signal: Signal) {
    const target = targets[signal]
    if (target === undefined) return null
    const folder = join(home, 'telemetry', signal)
    const queue = createBatchQueue({
      folder,
      bound: Math.floor(bound / SIGNALS.length),
      dropped: (count, reason) => sender.dropped(count, reason),
    })
    const sender = createSender({
      signal,
      target,
      isCompressed,
      timeout,
      queue,
      log,
      rejectedOf: (answer, of) => rejectedIn(serializers[signal][of].deserializeResponse(answer)),
      counted: (count, reason) => metrics.add('dropped', { signal, reason }, count),
      sent: () => metrics.add('batchesSent', { signal }),
    })
    await queue.open()
    senders.set(signal, sender)
    const waiting = createWaitingItems(BATCH.maxQueueSize, (count) => sender.dropped(count, 'busy'))
    return { queue, wake: sender.wake, waiting }
  }

  async function metricReader(): Promise<IMetricReader | null> {
    const to = await openQueue('metrics')
    if (to === null) return null
    const { AggregationTemporality, PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics')
    const exporter = {
      ...queueExporter(serializers.metrics[format], pointsOf, format, to),
      selectAggregationTemporality: () => AggregationTemporality.CUMULATIVE,
    }
    return new PeriodicExportingMetricReader({
      exporter,
      exportIntervalMillis: interval,
      exportTimeoutMillis: Math.min(timeout, interval),
    })
  }

  async function tracerProvider(): Promise<TracerProvider | null> {
    const to = await openQueue('traces')
    if (to === null) return null
    const {
      BatchSpanProcessor,
      ParentBasedSampler,
      TraceIdRatioBasedSampler,
      TracerProvider: Provider,
    } = await import('@opentelemetry/sdk-trace')
    const { waiting } = to
    const exporter = countingExporter(
      queueExporter(serializers.traces[format], (spans) => spans.length, format, to),
      waiting,
    )
    const provider = new Provider({
      resource,
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampled) }),
      spanLimits: { attributeValueLengthLimit: LONGEST_TEXT },
      spanProcessors: [boundedSpans(new BatchSpanProcessor({ ...batching, exporter }), waiting)],
    })
    ends.push(() => provider.shutdown())
    return provider
  }

  async function loggerProvider(): Promise<LoggerProvider | null> {
    const to = await openQueue('logs')
    if (to === null) return null
    const { BatchLogRecordProcessor, LoggerProvider: Provider } = await import('@opentelemetry/sdk-logs')
    const { waiting } = to
    const exporter = countingExporter(
      queueExporter(serializers.logs[format], (records) => records.length, format, to),
      waiting,
    )
    const provider = new Provider({
      resource,
      logRecordLimits: { attributeValueLengthLimit: LONGEST_TEXT },
      processors: [boundedRecords(new BatchLogRecordProcessor({ ...batching, exporter }), waiting)],
    })
    ends.push(() => provider.shutdown())
    return provider
  }

  const reader = await metricReader()
  if (reader !== null) ends.push(() => reader.shutdown())
  const tracers = await tracerProvider()
  const loggers = await loggerProvider()
  metrics.observe('waiting', () => {
    return [...senders.values()]
      .map((one) => one.state())
      .map(({ signal, waiting }) => ({ value: waiting, labels: { signal } }))
  })
  for (const sender of senders.values()) sender.wake()
  return {
    reader,
    tracers,
    loggers,
    states: () => [...senders.values()].map((sender) => sender.state()),
    async stop() {
      await Promise.allSettled(ends.map((end) => end()))
      await Promise.all([...senders.values()].map((sender) => sender.stop(STOP_PATIENCE)))
    },
  }
}

type Answer = {
  readonly partialSuccess?:
    | { readonly rejectedDataPoints?: number; readonly rejectedLogRecords?: number; readonly rejectedSpans?: number }
    | undefined
}

function rejectedIn({ partialSuccess = {} }: Answer): number {
  const { rejectedDataPoints, rejectedLogRecords, rejectedSpans } = partialSuccess
  return Number(rejectedDataPoints ?? rejectedLogRecords ?? rejectedSpans ?? 0)
}
