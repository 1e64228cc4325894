import type { Property, ValuesOf } from '../../base/config/property.ts'
import { EXPORT_PROPERTIES } from '../../base/config/telemetry-properties.ts'
import { type ExportSettings, exportSettingsOf } from '../../base/config/telemetry-settings.ts'
import { parseQuantity, quantityForm } from '../../runtime/limits.ts'
import type { Kept } from './retention.ts'

/** Environment variables for telemetry: retention, limits and forwarding. */
export const CENTER_TELEMETRY_PROPERTIES = {
  TELEMETRY_RAW_KEPT: quantity('time', '6h', 'how long metrics with a resolution of 10 s are stored'),
  TELEMETRY_MINUTES_KEPT: quantity('time', '14d', 'how long metrics with a resolution of 1 minute are stored'),
  TELEMETRY_HOURS_KEPT: quantity('time', '400d', 'how long metrics with a resolution of 1 hour are stored'),
  TELEMETRY_SERIES: quantity(
    'count',
    '2000',
    'maximum number of time series per environment; each combination of a metric and label values is one time series',
  ),
  LOGS_KEPT: quantity('time', '30d', 'how long log lines are stored'),
  LOGS_KEPT_SIZE: quantity(
    'size',
    '1g',
    'maximum storage for the log lines of one environment, including their search index; the oldest are deleted first',
  ),
  TRACES_KEPT: quantity('time', '3d', 'how long traces are stored'),
  TRACES_SPANS: quantity('count', '500000', 'maximum number of spans per environment; the oldest are deleted first'),
  ...EXPORT_PROPERTIES,
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    ...EXPORT_PROPERTIES.OTEL_EXPORTER_OTLP_ENDPOINT,
    what: 'URL of an OpenTelemetry collector that also receives all telemetry from Satellites; /v1/metrics, /v1/logs and /v1/traces are appended to it',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    ...EXPORT_PROPERTIES.OTEL_EXPORTER_OTLP_HEADERS,
    what: 'headers sent to the OTEL_EXPORTER_OTLP_… URLs',
  },
} as const satisfies Record<string, Property>

export type CenterTelemetrySettings = {
  readonly kept: Kept
  /** Maximum metric series per environment. */
  readonly series: number
  readonly forward: ExportSettings
}

export function centerTelemetrySettingsOf(
  values: ValuesOf<typeof CENTER_TELEMETRY_PROPERTIES>,
): CenterTelemetrySettings {
  return {
    kept: {
      steps: {
        raw: values.TELEMETRY_RAW_KEPT,
        minute: values.TELEMETRY_MINUTES_KEPT,
        hour: values.TELEMETRY_HOURS_KEPT,
      },
      logs: values.LOGS_KEPT,
      logSize: values.LOGS_KEPT_SIZE,
      traces: values.TRACES_KEPT,
      spans: values.TRACES_SPANS,
    },
    series: values.TELEMETRY_SERIES,
    forward: exportSettingsOf(values),
  }
}

function quantity(kind: 'time' | 'size' | 'count', text: string, what: string): Property<number> {
  return { default: text, read: (given) => parseQuantity(kind, given) || undefined, form: quantityForm(kind), what }
}
