import type { Property } from './property.ts'

const COLLECTOR = 'an http or https URL without a username and password, such as https://collector.example.org:4318'

/** Properties of telemetry export, with OpenTelemetry's names and defaults. */
export const EXPORT_PROPERTIES = {
  OTEL_EXPORTER_OTLP_ENDPOINT: collector(
    'URL of the OpenTelemetry collector; /v1/metrics, /v1/logs and /v1/traces are appended to it',
  ),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: collector('full URL for metrics, including the path'),
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: collector('full URL for logs, including the path'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector('full URL for traces, including the path'),
  OTEL_EXPORTER_OTLP_HEADERS: {
    default: '',
    read: readHeaders,
    form: 'name=value pairs separated by commas, percent-encoded',
    what: 'headers sent to the OTEL_EXPORTER_OTLP_… URLs, never to CLOUD_URL',
    secret: true,
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    default: 'http/protobuf',
    read: (text) => (text === 'http/protobuf' || text === 'http/json' ? text : undefined),
    form: 'one of http/protobuf, http/json',
    what: 'format in which telemetry is sent',
  },
  OTEL_EXPORTER_OTLP_COMPRESSION: {
    default: 'none',
    read: (text) => (text === 'none' || text === 'gzip' ? text : undefined),
    form: 'one of none, gzip',
    what: 'whether telemetry is compressed',
  },
  OTEL_EXPORTER_OTLP_TIMEOUT: {
    default: '10000',
    read: (text) => readWhole(text, 100, 60_000),
    form: 'a number of milliseconds from 100 to 60000',
    what: 'timeout for one request to a collector',
  },
} as const satisfies Record<string, Property>

/** A host's environment variables for telemetry. Those defined by OpenTelemetry keep its names and defaults. */
export const TELEMETRY_PROPERTIES = {
  METRICS_PORT: {
    default: '',
    read: (text) => (text === '' ? null : readPort(text)),
    form: 'a port from 0 to 65535 (0 for any free port); if empty, none',
    what: 'port that serves /metrics without authentication; on the admin port, /metrics requires a token',
  },
  METRICS_HOST: {
    default: '127.0.0.1',
    read: (text) => (/^[^\p{Cc}\s]{1,253}$/u.test(text) ? text : undefined),
    form: 'an IP address or host name',
    what: 'address for METRICS_PORT',
  },
  ...EXPORT_PROPERTIES,
  OTEL_METRIC_EXPORT_INTERVAL: {
    default: '60000',
    read: (text) => readWhole(text, 100, 3_600_000),
    form: 'a number of milliseconds from 100 to 3600000',
    what: 'time between two exports of metrics',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    default: '0.1',
    read: (text) => (/^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/.test(text) ? Number(text) : undefined),
    form: 'a number from 0 to 1',
    what: 'fraction of requests that are traced, unless a trusted proxy has already decided whether to trace the request',
  },
  TELEMETRY_SOLUTION_LOGS: {
    default: 'true',
    read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
    form: 'true or false',
    what: 'whether to send solutions’ logs (script output and errors) to the collector',
  },
} as const satisfies Record<string, Property>

function collector(what: string) {
  return {
    default: '',
    read: (text: string) => (text === '' ? null : readAddress(text)),
    form: COLLECTOR,
    what,
  } as const
}

function readAddress(text: string): URL | undefined {
  const url = URL.parse(text)
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return isPlain && url.hash === '' ? url : undefined
}

/** W3C baggage format without properties, as the OTLP specification requires for its variables. */
function readHeaders(text: string): Readonly<Record<string, string>> | undefined {
  const headers: Record<string, string> = {}
  for (const pair of text.split(',').filter((one) => one.trim() !== '')) {
    const [, name, raw] = /^\s*([A-Za-z0-9!#$%&'*+.^_`|~-]{1,100})\s*=\s*([^\s].*?|)\s*$/.exec(pair) ?? []
    const value = decoded(raw)
    if (name === undefined || value === undefined || !/^[\x20-\x7e]{0,4096}$/.test(value)) return undefined
    headers[name.toLowerCase()] = value
  }
  return headers
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function readPort(text: string): number | undefined {
  return readWhole(text, 0, 65_535)
}

function readWhole(text: string, least: number, most: number): number | undefined {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return number >= least && number <= most ? number : undefined
}
