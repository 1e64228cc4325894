import type { ValuesOf } from './property.ts'
import type { EXPORT_PROPERTIES } from './telemetry-properties.ts'

/** The OTLP signals, each with a separate URL. */
export const SIGNALS = ['metrics', 'logs', 'traces'] as const
export type Signal = (typeof SIGNALS)[number]

/** The collector's URL for one signal, and the headers to send to it. */
export type Target = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The names of the properties that set these values, for error messages. */
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

type ExportValues = ValuesOf<typeof EXPORT_PROPERTIES>

/** @param otherwise returns the target for a signal that the standard variables do not configure, or null */
export function exportSettingsOf(
  values: ExportValues,
  otherwise: (signal: Signal) => Target | null = () => null,
): ExportSettings {
  return {
    targets: targetsOf(values, otherwise),
    protocol: values.OTEL_EXPORTER_OTLP_PROTOCOL,
    isCompressed: values.OTEL_EXPORTER_OTLP_COMPRESSION === 'gzip',
    timeout: values.OTEL_EXPORTER_OTLP_TIMEOUT,
  }
}

function targetsOf(values: ExportValues, otherwise: (signal: Signal) => Target | null): ExportSettings['targets'] {
  const headers = values.OTEL_EXPORTER_OTLP_HEADERS
  const common = values.OTEL_EXPORTER_OTLP_ENDPOINT
  const targets: Partial<Record<Signal, Target>> = {}
  for (const signal of SIGNALS) {
    const ownName = endpointOf(signal)
    const own = values[ownName]
    // As the OTLP specification requires, a signal's own URL is used unchanged. The signal's path is appended to the
    // common URL.
    const url = own?.href ?? (common === null ? null : below(common, `v1/${signal}`))
    const from = {
      url: own === null ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : ownName,
      headers: 'OTEL_EXPORTER_OTLP_HEADERS',
    }
    const target = url === null ? otherwise(signal) : { url, headers, from }
    if (target !== null) targets[signal] = target
  }
  return targets
}

/** Appends a path to the URL. Keeps the query, because it can contain the collector's key. */
function below(address: URL, path: string): string {
  const url = new URL(address)
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`
  return url.href
}

/** Returns the name of the property that sets a signal's own URL. */
export function endpointOf(signal: Signal) {
  return `OTEL_EXPORTER_OTLP_${signal.toUpperCase() as Uppercase<Signal>}_ENDPOINT` as const
}
