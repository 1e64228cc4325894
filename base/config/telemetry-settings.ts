import type { CloudSettings } from './cloud-settings.ts'
import type { ValuesOf } from './property.ts'
import type { Values } from './property-groups.ts'
import type { EXPORT_PROPERTIES } from './telemetry-properties.ts'

/** What OTLP tells, each at an address of its own. */
export const SIGNALS = ['metrics', 'logs', 'traces'] as const
export type Signal = (typeof SIGNALS)[number]

/** Where one signal is sent to, with the headers that go there and nowhere else. */
export type Target = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The properties that these come from, for whoever has to correct them. */
  readonly from: { readonly url: string; readonly headers: string }
}

/** Where telemetry is exported to, and how. */
export type ExportSettings = {
  /** Signals that are absent are sent nowhere. */
  readonly targets: Readonly<Partial<Record<Signal, Target>>>
  readonly protocol: 'http/protobuf' | 'http/json'
  readonly isCompressed: boolean
  /** Of one request to the collector, in ms. */
  readonly timeout: number
}

export type TelemetrySettings = ExportSettings & {
  /** Between two exports of the metrics, in ms. */
  readonly interval: number
  /** The part of the requests that is traced, 0 to 1, where no trusted proxy decided. */
  readonly sampled: number
  /** Whether lines that scripts write are sent. */
  readonly solutionLogs: boolean
  /** A listener for `/metrics` alone; null: there is none. */
  readonly scraping: { readonly port: number; readonly host: string } | null
}

type ExportValues = ValuesOf<typeof EXPORT_PROPERTIES>

/** Properties that say where telemetry goes, or what with: all of them are read here. */
export function telemetrySettingsOf(values: Values, cloud: CloudSettings | null): TelemetrySettings {
  const port = values.METRICS_PORT
  return {
    ...exportSettingsOf(values, cloud),
    interval: values.OTEL_METRIC_EXPORT_INTERVAL,
    sampled: values.OTEL_TRACES_SAMPLER_ARG,
    solutionLogs: values.TELEMETRY_SOLUTION_LOGS,
    scraping: port === null ? null : { port, host: values.METRICS_HOST },
  }
}

/** @param cloud the control center that gets what the standard variables send nowhere; null: none */
export function exportSettingsOf(values: ExportValues, cloud: CloudSettings | null): ExportSettings {
  return {
    targets: targetsOf(values, cloud),
    protocol: values.OTEL_EXPORTER_OTLP_PROTOCOL,
    isCompressed: values.OTEL_EXPORTER_OTLP_COMPRESSION === 'gzip',
    timeout: values.OTEL_EXPORTER_OTLP_TIMEOUT,
  }
}

/** @returns the line for the operator; null: nothing is at fault */
export function telemetryFault(values: Partial<Values>): string | null {
  const port = values.METRICS_PORT
  if (port && [values.PORT, values.ADMIN_PORT, values.HTTP_REDIRECT_PORT].includes(port)) {
    return `METRICS_PORT must be another port than PORT, ADMIN_PORT and HTTP_REDIRECT_PORT, but is "${port}"`
  }
  const isConnected = values.ENVIRONMENT === 'onprem' && values.REMOTE_ENVIRONMENT_TOKEN !== ''
  // An address that is wrong has a line of its own.
  const addresses = [
    values.CLOUD_URL,
    values.OTEL_EXPORTER_OTLP_ENDPOINT,
    ...SIGNALS.map((signal) => values[endpointOf(signal)]),
  ]
  if (!isConnected || addresses.some((address) => address !== null)) return null
  return (
    'REMOTE_ENVIRONMENT_TOKEN is set with ENVIRONMENT=onprem, but nothing says where to connect to: ' +
    'set CLOUD_URL to the address of the control center, or OTEL_EXPORTER_OTLP_ENDPOINT to that of a collector'
  )
}

/** The standard variables point anywhere; else the control center gets it. Its token goes to no other place. */
function targetsOf(values: ExportValues, cloud: CloudSettings | null): ExportSettings['targets'] {
  const headers = values.OTEL_EXPORTER_OTLP_HEADERS
  const common = values.OTEL_EXPORTER_OTLP_ENDPOINT
  const targets: Partial<Record<Signal, Target>> = {}
  for (const signal of SIGNALS) {
    const ownName = endpointOf(signal)
    const own = values[ownName]
    // As the specification of OTLP has it: a signal's own address is used as it is, the common one gets a path.
    const url = own?.href ?? (common === null ? null : below(common, `v1/${signal}`))
    const from = {
      url: own === null ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : ownName,
      headers: 'OTEL_EXPORTER_OTLP_HEADERS',
    }
    if (url !== null) targets[signal] = { url, headers, from }
    else if (cloud !== null) targets[signal] = cloudTarget(cloud, signal)
  }
  return targets
}

/** A query stays what it is: it may be the key that the collector wants. */
function below(address: URL, path: string): string {
  const url = new URL(address)
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`
  return url.href
}

function cloudTarget({ url, token }: CloudSettings, signal: Signal): Target {
  const from = { url: 'CLOUD_URL', headers: 'REMOTE_ENVIRONMENT_TOKEN' }
  return { url: `${url.origin}/otlp/v1/${signal}`, headers: { authorization: `Bearer ${token}` }, from }
}

/** The property of a signal's own address. */
function endpointOf(signal: Signal) {
  return `OTEL_EXPORTER_OTLP_${signal.toUpperCase() as Uppercase<Signal>}_ENDPOINT` as const
}
