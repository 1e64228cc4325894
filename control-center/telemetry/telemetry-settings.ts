import { PROPERTIES } from '../../base/config/properties.ts'
import type { Property } from '../../base/config/property.ts'
import { type TelemetrySettings, telemetrySettingsOf } from '../../base/config/telemetry-settings.ts'
import { parseQuantity, quantityForm } from '../../runtime/limits.ts'
import type { Kept } from './retention.ts'

const {
  OTEL_EXPORTER_OTLP_ENDPOINT,
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT,
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
  OTEL_EXPORTER_OTLP_HEADERS,
  OTEL_EXPORTER_OTLP_PROTOCOL,
  OTEL_EXPORTER_OTLP_COMPRESSION,
  OTEL_EXPORTER_OTLP_TIMEOUT,
} = PROPERTIES

/** The environment properties of telemetry: how long what Satellites tell is kept, and where else it goes. */
export const CENTER_TELEMETRY_PROPERTIES = {
  TELEMETRY_RAW_KEPT: quantity('time', '6h', 'time that metrics are kept in steps of 10 s'),
  TELEMETRY_MINUTES_KEPT: quantity('time', '14d', 'time that metrics are kept in steps of a minute'),
  TELEMETRY_HOURS_KEPT: quantity('time', '400d', 'time that metrics are kept in steps of an hour'),
  TELEMETRY_SERIES: quantity('count', '2000', 'metrics with different labels of one environment'),
  LOGS_KEPT: quantity('time', '30d', 'time that lines of logs are kept'),
  LOGS_KEPT_SIZE: quantity('size', '1g', 'lines of logs of one environment, with their words; the oldest go first'),
  TRACES_KEPT: quantity('time', '3d', 'time that traces are kept'),
  TRACES_SPANS: quantity('count', '500000', 'spans of one environment; the oldest go first'),
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    ...OTEL_EXPORTER_OTLP_ENDPOINT,
    what: 'a collector of OpenTelemetry that gets all that Satellites tell as well, below /v1/',
  },
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT,
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
  OTEL_EXPORTER_OTLP_HEADERS: {
    ...OTEL_EXPORTER_OTLP_HEADERS,
    what: 'headers for the addresses of OTEL_EXPORTER_OTLP_…',
  },
  OTEL_EXPORTER_OTLP_PROTOCOL,
  OTEL_EXPORTER_OTLP_COMPRESSION,
  OTEL_EXPORTER_OTLP_TIMEOUT,
} as const satisfies Record<string, Property>

export type ForwardSettings = Pick<TelemetrySettings, 'targets' | 'protocol' | 'isCompressed' | 'timeout'>

export type CenterTelemetrySettings = {
  readonly kept: Kept
  /** Of one environment. */
  readonly series: number
  readonly forward: ForwardSettings
}

/** @param value reads one of the properties */
export function centerTelemetrySettingsOf(value: (name: string) => unknown): CenterTelemetrySettings {
  const { targets, protocol, isCompressed, timeout } = telemetrySettingsOf(value)
  return {
    kept: {
      steps: {
        raw: value('TELEMETRY_RAW_KEPT') as number,
        minute: value('TELEMETRY_MINUTES_KEPT') as number,
        hour: value('TELEMETRY_HOURS_KEPT') as number,
      },
      logs: value('LOGS_KEPT') as number,
      logSize: value('LOGS_KEPT_SIZE') as number,
      traces: value('TRACES_KEPT') as number,
      spans: value('TRACES_SPANS') as number,
    },
    series: value('TELEMETRY_SERIES') as number,
    forward: { targets, protocol, isCompressed, timeout },
  }
}

function quantity(kind: 'time' | 'size' | 'count', text: string, what: string): Property {
  return { default: text, read: (given) => parseQuantity(kind, given) || undefined, form: quantityForm(kind), what }
}
