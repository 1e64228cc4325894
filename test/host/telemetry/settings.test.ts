import { describe, expect, test } from 'vitest'
import { readSettings } from '../../../host/config/settings.ts'

const SATELLITE = { ENVIRONMENT: 'onprem', REMOTE_ENVIRONMENT_TOKEN: 'the-token' }
const CLOUD = { ...SATELLITE, CLOUD_URL: 'https://cloud.example.org' }
const targetsOf = (set: Record<string, string>) => readSettings(set).telemetry.targets

test('telemetry settings: without any nothing is sent and nothing listens', () => {
  expect(readSettings({}).telemetry).toEqual({
    targets: {},
    protocol: 'http/protobuf',
    isCompressed: false,
    timeout: 10_000,
    interval: 60_000,
    sampled: 0.1,
    solutionLogs: true,
    scraping: null,
  })
})

test('telemetry settings: a Satellite with a token tells the control center, and its token goes there', () => {
  const headers = { authorization: 'Bearer the-token' }
  expect(targetsOf(CLOUD)).toEqual({
    metrics: { url: 'https://cloud.example.org/otlp/v1/metrics', headers },
    logs: { url: 'https://cloud.example.org/otlp/v1/logs', headers },
    traces: { url: 'https://cloud.example.org/otlp/v1/traces', headers },
  })
})

test('telemetry settings: a token or an address alone connects to nothing', () => {
  expect(targetsOf({ CLOUD_URL: 'https://cloud.example.org' })).toEqual({})
  expect(targetsOf({ ...CLOUD, ENVIRONMENT: 'prod' })).toEqual({})
})

test('telemetry settings: the standard variables win, and get their own headers and never the token', () => {
  const targets = targetsOf({
    ...CLOUD,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/base/',
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://logs:1234/in',
    OTEL_EXPORTER_OTLP_HEADERS: 'Api-Key=a%20b, x=1',
  })
  const headers = { 'api-key': 'a b', x: '1' }
  expect(targets).toEqual({
    metrics: { url: 'http://collector:4318/base/v1/metrics', headers },
    logs: { url: 'http://logs:1234/in', headers },
    traces: { url: 'http://collector:4318/base/v1/traces', headers },
  })
})

test('telemetry settings: one signal elsewhere, the others to the control center', () => {
  const { traces, metrics } = targetsOf({ ...CLOUD, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://other/t' })
  expect(traces).toEqual({ url: 'http://other/t', headers: {} })
  expect(metrics?.url).toBe('https://cloud.example.org/otlp/v1/metrics')
})

describe('telemetry settings: faults', () => {
  test('a token without an address to connect to is one, without the token in it', () => {
    const read = () => readSettings(SATELLITE)
    expect(read).toThrow(/REMOTE_ENVIRONMENT_TOKEN is set with ENVIRONMENT=onprem, but nothing says where/)
    expect(read).not.toThrow(/the-token/)
  })

  test.each([
    ['CLOUD_URL', 'http://cloud.example.org'],
    ['CLOUD_URL', 'https://cloud.example.org/path'],
    ['CLOUD_URL', 'https://user:secret@cloud.example.org'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '0'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'no value'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%0d%0ab: c'],
    ['OTEL_METRIC_EXPORT_INTERVAL', '1'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['METRICS_PORT', '70000'],
    ['TELEMETRY_SOLUTION_LOGS', 'yes'],
  ])('%s=%s', (name, value) => {
    expect(() => readSettings({ [name]: value })).toThrow(new RegExp(`^  ${name} must be `, 'm'))
  })

  test('http is fine for a control center on loopback', () => {
    expect(targetsOf({ ...CLOUD, CLOUD_URL: 'http://127.0.0.1:9000' }).logs?.url).toBe(
      'http://127.0.0.1:9000/otlp/v1/logs',
    )
  })
})

test('telemetry settings: neither token nor headers are shown', () => {
  const set = { ...CLOUD, OTEL_EXPORTER_OTLP_HEADERS: 'key=hidden' }
  expect(JSON.stringify(readSettings(set).shown)).not.toMatch(/the-token|hidden/)
})
