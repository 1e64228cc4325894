import type { Values } from '../../base/config/property-groups.ts'
import {
  type ExportSettings,
  endpointOf,
  exportSettingsOf,
  SIGNALS,
  type Signal,
  type Target,
} from '../../base/config/telemetry-settings.ts'
import type { CloudSettings } from './cloud-settings.ts'

export type TelemetrySettings = ExportSettings & {
  /** Interval between two exports of metrics, in ms. */
  readonly interval: number
  /** The fraction of requests to trace, from 0 to 1. A trusted proxy can decide instead. */
  readonly sampled: number
  /** Whether to export log lines written by scripts. */
  readonly solutionLogs: boolean
  /** The address of a separate listener for `/metrics`; null if there is none. */
  readonly scraping: { readonly port: number; readonly host: string } | null
}

/**
 * Reads all telemetry properties.
 * @param cloud the control center, or null; it receives the signals for which the standard variables set no collector
 */
export function telemetrySettingsOf(values: Values, cloud: CloudSettings | null): TelemetrySettings {
  const port = values.METRICS_PORT
  return {
    ...exportSettingsOf(values, (signal) => (cloud === null ? null : cloudTarget(cloud, signal))),
    interval: values.OTEL_METRIC_EXPORT_INTERVAL,
    sampled: values.OTEL_TRACES_SAMPLER_ARG,
    solutionLogs: values.TELEMETRY_SOLUTION_LOGS,
    scraping: port === null ? null : { port, host: values.METRICS_HOST },
  }
}

/** @returns an error message for the operator; null if the values are valid */
export function telemetryFault(values: Partial<Values>): string | null {
  const port = values.METRICS_PORT
  if (port && [values.PORT, values.ADMIN_PORT, values.HTTP_REDIRECT_PORT].includes(port)) {
    return `METRICS_PORT must differ from PORT, ADMIN_PORT and HTTP_REDIRECT_PORT, but is "${port}"`
  }
  const isConnected = values.ENVIRONMENT === 'onprem' && values.REMOTE_ENVIRONMENT_TOKEN !== ''
  // Other checks report invalid URLs.
  const addresses = [
    values.CLOUD_URL,
    values.OTEL_EXPORTER_OTLP_ENDPOINT,
    ...SIGNALS.map((signal) => values[endpointOf(signal)]),
  ]
  if (!isConnected || addresses.some((address) => address !== null)) return null
  return (
    'REMOTE_ENVIRONMENT_TOKEN is set with ENVIRONMENT=onprem, but there is no URL to connect to. ' +
    'Set CLOUD_URL to the control center’s URL, or OTEL_EXPORTER_OTLP_ENDPOINT to a collector’s URL'
  )
}

/** Send the control center's token only to this target. */
function cloudTarget({ url, token }: CloudSettings, signal: Signal): Target {
  const from = { url: 'CLOUD_URL', headers: 'REMOTE_ENVIRONMENT_TOKEN' }
  return { url: `${url.origin}/otlp/v1/${signal}`, headers: { authorization: `Bearer ${token}` }, from }
}
