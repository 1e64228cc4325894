import { describe, expect, test } from 'vitest'
import { readSettings } from '../../../host/config/settings.ts'

const SATELLITE = { ENVIRONMENT: 'onprem', REMOTE_ENVIRONMENT_TOKEN: 'the-token' }
const CLOUD = { ...SATELLITE, CLOUD_URL: 'https://cloud.example.org' }
const targetsOf = (set: Record<string, string>) => readSettings(set).telemetry.targets

test('telemetry settings: by default nothing is sent and nothing listens', () => {
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

test('telemetry settings: a Satellite with a token sends to the control center, with its token', () => {
  const headers = { authorization: 'Bearer the-token' }
  const from = { url: 'CLOUD_URL', headers: 'REMOTE_ENVIRONMENT_TOKEN' }
  expect(targetsOf(CLOUD)).toEqual({
    metrics: { url: 'https://cloud.example.org/otlp/v1/metrics', headers, from },
    logs: { url: 'https://cloud.example.org/otlp/v1/logs', headers, from },
    traces: { url: 'https://cloud.example.org/otlp/v1/traces', headers, from },
  })
})

test('telemetry settings: nothing is sent if only a token or only a URL is set', () => {
  expect(targetsOf({ CLOUD_URL: 'https://cloud.example.org' })).toEqual({})
  expect(targetsOf({ ...CLOUD, ENVIRONMENT: 'prod' })).toEqual({})
})

test('telemetry settings: the standard variables take precedence, with their own headers and never the token', () => {
  const targets = targetsOf({
    ...CLOUD,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/base/',
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://logs:1234/in',
    OTEL_EXPORTER_OTLP_HEADERS: 'Api-Key=a%20b, x=1',
  })
  const headers = { 'api-key': 'a b', x: '1' }
  const from = { url: 'OTEL_EXPORTER_OTLP_ENDPOINT', headers: 'OTEL_EXPORTER_OTLP_HEADERS' }
  expect(targets).toEqual({
    metrics: { url: 'http://collector:4318/base/v1/metrics', headers, from },
    logs: { url: 'http://logs:1234/in', headers, from: { ...from, url: 'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT' } },
    traces: { url: 'http://collector:4318/base/v1/traces', headers, from },
  })
})

test('telemetry settings: one signal can be sent elsewhere while the others are sent to the control center', () => {
  const { traces, metrics } = targetsOf({ ...CLOUD, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://other/t' })
  expect(traces).toMatchObject({ url: 'http://other/t', headers: {} })
  expect(metrics?.url).toBe('https://cloud.example.org/otlp/v1/metrics')
})

describe('telemetry settings: invalid settings are reported', () => {
  test('a token without a URL is an error, which does not contain the token', () => {
    const read = () => readSettings(SATELLITE)
    expect(read).toThrow(/REMOTE_ENVIRONMENT_TOKEN is set with ENVIRONMENT=onprem, but there is no URL to connect to/)
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
    const line = new RegExp(`^  ${name} must be `, 'm')
    expect(() => readSettings({ [name]: value })).toThrow(line)
    expect(() => readSettings({ ...SATELLITE, [name]: value })).toThrow(line)
  })

  test('http is allowed for a control center on loopback', () => {
    expect(targetsOf({ ...CLOUD, CLOUD_URL: 'http://127.0.0.1:9000' }).logs?.url).toBe(
      'http://127.0.0.1:9000/otlp/v1/logs',
    )
  })
})

test('telemetry settings: neither token nor headers are shown', () => {
  const set = { ...CLOUD, OTEL_EXPORTER_OTLP_HEADERS: 'key=hidden' }
  expect(JSON.stringify(readSettings(set).shown)).not.toMatch(/the-token|hidden/)
})

test('telemetry settings: a key in a URL’s query is sent, but neither shown nor quoted in an error', () => {
  const set = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example.org/in?key=hidden' }
  expect(targetsOf(set).logs?.url).toBe('https://collector.example.org/in/v1/logs?key=hidden')
  const shown = readSettings(set).shown.find(({ name }) => name === 'OTEL_EXPORTER_OTLP_ENDPOINT')
  expect(shown?.value).toBe('https://collector.example.org/in?…')
  const wrong = [
    'https://user:hidden@collector.example.org/',
    'https://hidden@collector.example.org/',
    'https://user:hid/den@collector.example.org/',
    'user:hidden@collector:4317',
    'collector:4317?key=hidden',
    'ftp://collector/#hidden',
  ]
  for (const address of wrong) {
    const read = () => readSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: address })
    expect(read).toThrow(/OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL/)
    expect(read).not.toThrow(/hid/)
    expect(read).not.toThrow(/den/)
  }
})

test('telemetry settings: a URL without a key is shown as written', () => {
  const set = { ALLOWED_HOSTS: 'a.example.org, b.example.org', PUBLIC_URL: 'https://a.example.org:8443' }
  const shown = new Map(readSettings(set).shown.map(({ name, value }) => [name, value]))
  expect(Object.keys(set).map((name) => shown.get(name))).toEqual(Object.values(set))
})
