import type { PROPERTIES } from './properties.ts'

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

export type TelemetrySettings = {
  /** Signals that are absent are sent nowhere. */
  readonly targets: Readonly<Partial<Record<Signal, Target>>>
  readonly protocol: 'http/protobuf' | 'http/json'
  readonly isCompressed: boolean
  /** Of one request to the collector, in ms. */
  readonly timeout: number
  /** Between two exports of the metrics, in ms. */
  readonly interval: number
  /** The part of the requests that is traced, 0 to 1, where no trusted proxy decided. */
  readonly sampled: number
  /** Whether lines that scripts write are sent. */
  readonly solutionLogs: boolean
  /** A listener for `/metrics` alone; null: there is none. */
  readonly scraping: { readonly port: number; readonly host: string } | null
}

type Value = (name: keyof typeof PROPERTIES) => unknown

/** Properties that say where telemetry goes, or what with: all of them are read here. */
export function telemetrySettingsOf(value: Value): TelemetrySettings {
  const port = value('METRICS_PORT') as number | null
  return {
    targets: targetsOf(value),
    protocol: value('OTEL_EXPORTER_OTLP_PROTOCOL') as TelemetrySettings['protocol'],
    isCompressed: value('OTEL_EXPORTER_OTLP_COMPRESSION') === 'gzip',
    timeout: value('OTEL_EXPORTER_OTLP_TIMEOUT') as number,
    interval: value('OTEL_METRIC_EXPORT_INTERVAL') as number,
    sampled: value('OTEL_TRACES_SAMPLER_ARG') as number,
    solutionLogs: value('TELEMETRY_SOLUTION_LOGS') as boolean,
    scraping: port === null ? null : { port, host: value('METRICS_HOST') as string },
  }
}

/** @returns the line for the operator; null: nothing is at fault */
export function telemetryFault(value: Value): string | null {
  const port = value('METRICS_PORT') as number | null | undefined
  if (port && [value('PORT'), value('ADMIN_PORT'), value('HTTP_REDIRECT_PORT')].includes(port)) {
    return `METRICS_PORT must be another port than PORT, ADMIN_PORT and HTTP_REDIRECT_PORT, but is "${port}"`
  }
  const isConnected = value('ENVIRONMENT') === 'onprem' && value('REMOTE_ENVIRONMENT_TOKEN') !== ''
  if (!isConnected || value('CLOUD_URL') instanceof URL || Object.keys(targetsOf(value)).length > 0) return null
  return (
    'REMOTE_ENVIRONMENT_TOKEN is set with ENVIRONMENT=onprem, but nothing says where to connect to: ' +
    'set CLOUD_URL to the address of the control center, or OTEL_EXPORTER_OTLP_ENDPOINT to that of a collector'
  )
}

/** The standard variables point anywhere; else the control center gets it. Its token goes to no other place. */
function targetsOf(value: Value): TelemetrySettings['targets'] {
  const headers = value('OTEL_EXPORTER_OTLP_HEADERS') as Readonly<Record<string, string>>
  const common = value('OTEL_EXPORTER_OTLP_ENDPOINT') as URL | null
  const cloud = cloudTargets(value)
  const targets: Partial<Record<Signal, Target>> = {}
  for (const signal of SIGNALS) {
    const ownName = `OTEL_EXPORTER_OTLP_${signal.toUpperCase() as Uppercase<Signal>}_ENDPOINT` as const
    const own = value(ownName) as URL | null
    // As the specification of OTLP has it: a signal's own address is used as it is, the common one gets a path.
    const url = own?.href ?? (common === null ? null : below(common, `v1/${signal}`))
    const from = {
      url: own === null ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : ownName,
      headers: 'OTEL_EXPORTER_OTLP_HEADERS',
    }
    if (url !== null) targets[signal] = { url, headers, from }
    else if (cloud !== null) targets[signal] = cloud(signal)
  }
  return targets
}

/** A query stays what it is: it may be the key that the collector wants. */
function below(address: URL, path: string): string {
  const url = new URL(address)
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`
  return url.href
}

function cloudTargets(value: Value): ((signal: Signal) => Target) | null {
  const cloud = value('CLOUD_URL') as URL | null
  const token = value('REMOTE_ENVIRONMENT_TOKEN') as string
  if (value('ENVIRONMENT') !== 'onprem' || token === '' || cloud === null) return null
  const headers = { authorization: `Bearer ${token}` }
  const from = { url: 'CLOUD_URL', headers: 'REMOTE_ENVIRONMENT_TOKEN' }
  return (signal) => ({ url: `${cloud.origin}/otlp/v1/${signal}`, headers, from })
}
