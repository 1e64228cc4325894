import type { Attributes, Counter, Meter, ObservableGauge, Histogram as OtelHistogram } from '@opentelemetry/api'

/**
 * A metric. It has the same name at `/metrics` and in OTLP. Labels have few possible values: see `docs/telemetry.md`.
 */
export type MetricEntry = {
  readonly name: `solhost_${string}`
  readonly type: 'counter' | 'histogram' | 'gauge'
  readonly labels: readonly string[]
  readonly what: string
}

export const METRICS = {
  logins: counter('logins', ['solution', 'mode', 'result'], 'Sign-in attempts by result'),
  secondSteps: counter('second_steps', ['method', 'result'], 'Second-factor checks at sign-in by result'),
  loginTime: histogram('login_duration', ['mode', 'result'], 'Time from a sign-in request to its result'),
  throttles: counter('throttled', [], 'Password checks rejected because of too many attempts'),
  requests: histogram(
    'http_request_duration',
    ['port', 'method', 'status'],
    'Duration of HTTP requests, except probes',
  ),
  scriptCalls: counter('script_calls', ['solution', 'entry', 'outcome'], 'Calls to functions in solutions’ scripts'),
  scriptTime: histogram('script_duration', ['solution', 'entry', 'outcome'], 'Run time of solutions’ scripts'),
  queueTime: histogram('sandbox_queue', [], 'Time that sign-in calls waited for a sandbox process'),
  bindingTime: histogram(
    'plugin_request_duration',
    ['binding', 'result'],
    'Duration of requests from scripts to plugins',
  ),
  jobsFailed: counter('job_runs_failed', ['solution'], 'Job runs that failed after their last attempt'),
  kills: counter('sandbox_kills', ['reason'], 'Sandbox processes that the host terminated because of a script'),
  processes: gauge('sandbox_processes', ['kind'], 'Running sandbox processes'),
  memory: gauge('memory_bytes', ['part'], 'Memory used by the host and all sandbox processes, measured every 10 s'),
  memoryLimit: gauge('memory_limit_bytes', [], 'Memory limit: RUNTIME_XMX, or the cgroup’s limit if that is lower'),
  clients: gauge('clients', [], 'Open clients, sampled every 10 s'),
  databaseTime: histogram(
    'database_query_duration',
    ['operation', 'result'],
    'Duration of queries to the platform’s database',
  ),
  providerTime: histogram('provider_request_duration', ['result'], 'Duration of requests to OAuth providers'),
  batchesSent: counter('telemetry_batches_sent', ['signal'], 'Batches of telemetry accepted by the collector'),
  dropped: counter('telemetry_dropped', ['signal', 'reason'], 'Data points, log records and spans that were dropped'),
  waiting: gauge('telemetry_queue_bytes', ['signal'], 'Size of the telemetry queued in PLATFORM_HOME'),
} as const satisfies Record<string, MetricEntry>

function counter<const L extends readonly string[]>(name: string, labels: L, what: string) {
  return { name: `solhost_${name}_total`, type: 'counter', labels, what } as const
}

function histogram<const L extends readonly string[]>(name: string, labels: L, what: string) {
  return { name: `solhost_${name}_seconds`, type: 'histogram', labels, what } as const
}

function gauge<const L extends readonly string[]>(name: string, labels: L, what: string) {
  return { name: `solhost_${name}`, type: 'gauge', labels, what } as const
}

/** Upper bucket bounds in seconds. They range from an embedded database query to a call that timed out. */
export const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type Table = typeof METRICS
export type CounterKey = KeysOf<'counter'>
export type HistogramKey = KeysOf<'histogram'>
export type GaugeKey = KeysOf<'gauge'>
type KeysOf<T> = { [K in keyof Table]: Table[K]['type'] extends T ? K : never }[keyof Table]
/** The labels of a metric. All of them are required. */
export type Labels<K extends keyof Table> = Readonly<Record<Table[K]['labels'][number], string>>
export type Observed<K extends GaugeKey> = readonly { readonly value: number; readonly labels: Labels<K> }[]

/**
 * Records metrics. Nothing is counted before `begin` is called. Collectors compare two scrapes, so counts before the
 * first one would be lost anyway.
 */
export interface Metrics {
  readonly isOn: () => boolean
  add<K extends CounterKey>(metric: K, labels: Labels<K>, count?: number): void
  record<K extends HistogramKey>(metric: K, milliseconds: number, labels: Labels<K>): void
  /** `look` runs on every scrape, so it must be cheap and synchronous. */
  observe<K extends GaugeKey>(metric: K, look: () => Observed<K>): void
  begin(meter: Meter): void
}

export function createMetrics(): Metrics {
  const counters = new Map<string, Counter>()
  const histograms = new Map<string, OtelHistogram>()
  const gauges = new Map<string, ObservableGauge>()
  const looks: [GaugeKey, () => Observed<GaugeKey>][] = []
  let on = false

  function attach([metric, look]: (typeof looks)[number]): void {
    gauges.get(metric)?.addCallback((result) => {
      for (const { value, labels } of look()) result.observe(value, labels as Attributes)
    })
  }

  return {
    isOn: () => on,
    add(metric, labels, count = 1) {
      counters.get(metric)?.add(count, labels as Attributes)
    },
    record(metric, milliseconds, labels) {
      histograms.get(metric)?.record(milliseconds / 1000, labels as Attributes)
    },
    observe(metric, look) {
      const entry = [metric, look as () => Observed<GaugeKey>] as (typeof looks)[number]
      looks.push(entry)
      attach(entry)
    },
    begin(meter) {
      for (const [key, { name, type, what: description }] of Object.entries(METRICS)) {
        if (type === 'counter') counters.set(key, meter.createCounter(name, { description }))
        else if (type === 'gauge') gauges.set(key, meter.createObservableGauge(name, { description }))
        else
          histograms.set(
            key,
            meter.createHistogram(name, { description, advice: { explicitBucketBoundaries: SECONDS } }),
          )
      }
      looks.forEach(attach)
      on = true
    },
  }
}
