import type { CloudSettings } from './cloud-settings.ts'
import type { ValuesOf } from './property.ts'
import type { Values } from './property-groups.ts'
import type { EXPORT_PROPERTIES } from './telemetry-properties.ts'

/** The OTLP signals, each with a separate URL. */
export const SIGNALS = ['metrics', 'logs', 'traces'] as const
export type Signal = (typeof SIGNALS)[number]

/** The URL of one signal, and the headers that are sent only there. */
export type Target = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The properties that set these values, for error messages. */
  readonly from: { readonly url: string; readonly headers: string }
}

export type ExportSettings = {
  /** Absent signals are not exported. */
  readonly targets: Readonly<Partial<Record<Signal, Target>>>
  readonly protocol: 'http/protobuf' | 'http/json'
  readonly isCompressed: boolean
  /** Timeout of one request to the collector, in ms. */
  readonly timeout: number
}

export type TelemetrySettings = ExportSettings & {
  /** Interval between two exports of metrics, in ms. */
  readonly interval: number
  /** The fraction of requests that is traced, 0 to 1, unless a trusted proxy decides. */
  readonly sampled: number
  /** Whether to export log lines written by scripts. */
  readonly solutionLogs: boolean
  /** A separate listener for `/metrics`; null: none. */
  readonly scraping: { readonly port: number; readonly host: string } | null
}

type ExportValues = ValuesOf<typeof EXPORT_PROPERTIES>

/** Reads all properties of telemetry. */
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

/** @param cloud the control center, which gets the signals that the standard variables do not configure; null: none */
export function exportSettingsOf(values: ExportValues, cloud: CloudSettings | null): ExportSettings {
  return {
    targets: targetsOf(values, cloud),
    protocol: values.OTEL_EXPORTER_OTLP_PROTOCOL,
    isCompressed: values.OTEL_EXPORTER_OTLP_COMPRESSION === 'gzip',
    timeout: values.OTEL_EXPORTER_OTLP_TIMEOUT,
  }
}

/** @returns the error line for the operator; null if the values are valid */
export function telemetryFault(values: Partial<Values>): string | null {
  const port = values.METRICS_PORT
  if (port && [values.PORT, values.ADMIN_PORT, values.HTTP_REDIRECT_PORT].includes(port)) {
    return `METRICS_PORT must differ from PORT, ADMIN_PORT and HTTP_REDIRECT_PORT, but is "${port}"`
  }
  const isConnected = values.ENVIRONMENT === 'onprem' && values.REMOTE_ENVIRONMENT_TOKEN !== ''
  // An invalid address is reported separately.
  const addresses = [
    values.CLOUD_URL,
    values.OTEL_EXPORTER_OTLP_ENDPOINT,
    ...SIGNALS.map((signal) => values[endpointOf(signal)]),
  ]
  if (!isConnected || addresses.some((address) => address !== null)) return null
  return (
    'REMOTE_ENVIRONMENT_TOKEN is set with ENVIRONMENT=onprem, but there is no address to connect to: ' +
    'set CLOUD_URL to the address of the control center, or OTEL_EXPORTER_OTLP_ENDPOINT to the address of a collector'
  )
}

/**
 * The standard variables set the targets; signals without one go to the control center. Its token is sent nowhere else.
 */
function targetsOf(values: ExportValues, cloud: CloudSettings | null): ExportSettings['targets'] {
  const headers = values.OTEL_EXPORTER_OTLP_HEADERS
  const common = values.OTEL_EXPORTER_OTLP_ENDPOINT
  const targets: Partial<Record<Signal, Target>> = {}
  for (const signal of SIGNALS) {
    const ownName = endpointOf(signal)
    const own = values[ownName]
    // As the OTLP specification requires: a signal's own URL is used unchanged, the common URL gets a path appended.
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

/** Keeps the query, which can contain the collector's key. */
function below(address: URL, path: string): string {
  const url = new URL(address)
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`
  return url.href
}

function cloudTarget({ url, token }: CloudSettings, signal: Signal): Target {
  const from = { url: 'CLOUD_URL', headers: 'REMOTE_ENVIRONMENT_TOKEN' }
  return { url: `${url.origin}/otlp/v1/${signal}`, headers: { authorization: `Bearer ${token}` }, from }
}

/** The property with a signal's own URL. */
function endpointOf(signal: Signal) {
  return `OTEL_EXPORTER_OTLP_${signal.toUpperCase() as Uppercase<Signal>}_ENDPOINT` as const
}
