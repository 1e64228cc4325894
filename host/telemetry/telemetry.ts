import { randomUUID } from 'node:crypto'
import type { IMetricReader } from '@opentelemetry/sdk-metrics'
import type { Logger } from 'pino'
import type { Environment } from '../../base/config/properties.ts'
import type { SenderState } from '../../base/outbound/sender.ts'
import type { TelemetrySettings } from '../config/telemetry-settings.ts'
import type { Export } from './export/start-export.ts'
import { createLogRecords, type LogRecords } from './log-records.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { createSolutionLabel } from './solution-label.ts'
import { createSpans, type Spans } from './spans.ts'

/** The platform's telemetry: metrics for scraping, and all three signals for a collector. */
export interface Telemetry {
  readonly metrics: Metrics
  readonly spans: Spans
  readonly records: LogRecords
  /** Returns the label that a solution has in metrics. */
  readonly solutionLabel: (solution: string) => string
  /**
   * Returns all metrics in the Prometheus text format. The first scrape starts counting, unless `start` has already
   * done so. Loading the SDK takes 50 to 150 ms of CPU time, so a host that is never scraped does not load it.
   */
  scrape(): Promise<string>
  /** The state of each exported signal. */
  states(): readonly SenderState[]
  /** Starts the telemetry that the settings enable. */
  start(): Promise<void>
  stop(): Promise<void>
}

export type TelemetryOptions = {
  readonly settings: TelemetrySettings
  readonly environment: Environment
  readonly version: string
  readonly home: string
  /** The value of `TELEMETRY_QUEUE`, in bytes. */
  readonly bound: number
  readonly log: Logger
}

/** Content type of the format that `PrometheusSerializer` writes. */
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function createTelemetry({ settings, environment, version, home, bound, log }: TelemetryOptions): Telemetry {
  const metrics = createMetrics()
  const spans = createSpans()
  const records = createLogRecords(spans, settings.solutionLogs)
  let begun: ReturnType<typeof begin> | null = null
  let scraping: Promise<string> | null = null
  let sendingNow: Export | null = null

  async function begin() {
    const [api, { resourceFromAttributes }, sdk, { PrometheusSerializer }] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-metrics'),
      import('@opentelemetry/exporter-prometheus'),
    ])
    const resource = resourceFromAttributes({
      'service.name': 'solhost',
      'service.version': version,
      // Use a new id at each startup, so that collectors can distinguish a counter that was reset from one that
      // continues.
      'service.instance.id': randomUUID(),
      'deployment.environment.name': environment,
    })
    const isSending = Object.keys(settings.targets).length > 0
    const { startExport } = isSending ? await import('./export/start-export.ts') : { startExport: null }
    const parts = { settings, home, bound, resource, metrics, log }
    const sending: Export | null = startExport === null ? null : await startExport(parts)
    // Use one reader for both scraping and export: a second one would count everything twice.
    const reader = sending?.reader ?? askedReader(sdk)
    const provider = new sdk.MeterProvider({ resource, readers: [reader] })
    metrics.begin(provider.getMeter('solhost'))
    spans.begin(api, sending?.tracers?.getTracer('solhost') ?? null)
    if (sending?.loggers) records.begin(sending.loggers)
    return { reader, sending, serializer: new PrometheusSerializer(undefined, false, undefined, false, true) }
  }

  async function collect(): Promise<string> {
    begun ??= begin()
    const { reader, serializer } = await begun
    const { resourceMetrics } = await reader.collect()
    return `${serializer.serialize(resourceMetrics).trimEnd()}\n`
  }

  return {
    metrics,
    spans,
    records,
    solutionLabel: createSolutionLabel(),
    scrape() {
      // Concurrent scrapes share a single collection.
      scraping ??= collect().finally(() => {
        scraping = null
      })
      return scraping
    },
    states: () => sendingNow?.states() ?? [],
    async start() {
      if (Object.keys(settings.targets).length === 0 && settings.scraping === null) return
      begun ??= begin()
      sendingNow = (await begun).sending
    },
    async stop() {
      const { sending } = (await begun?.catch(() => null)) ?? {}
      await sending?.stop()
    },
  }
}

/** A reader that collects only when requested. */
function askedReader({ MetricReader }: typeof import('@opentelemetry/sdk-metrics')): IMetricReader {
  class AskedReader extends MetricReader {
    protected override async onShutdown(): Promise<void> {}
    protected override async onForceFlush(): Promise<void> {}
  }
  return new AskedReader()
}
