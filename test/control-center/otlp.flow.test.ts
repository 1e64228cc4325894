import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { SimulatedHost, sendOtlp, TYPES } from '../support/otlp.ts'

let center: TestCenter
let token = ''

beforeAll(async () => {
  center = await startTestCenter()
  token = (await center.environment('east')).token
})

afterAll(() => center.stop())

const sessions = async (environment: string) => {
  const { body } = await center.api('GET', `organisations/acme/analysis?range=1h&environment=${environment}`)
  const line = body.charts[0].lines.find(({ name }: { name: string }) => name === 'begun')
  return (line?.values ?? []).reduce((sum: number, value: number) => sum + value, 0)
}

const hostWith = (logins: number) => {
  const host = new SimulatedHost()
  host.add('solhost_logins_total', { solution: 'shop', mode: 'default', result: 'ok' }, logins)
  return host
}

test('otlp: gzip-compressed protobuf metrics are stored, and the response is an empty protobuf message', async () => {
  const { token: own } = await center.environment('packed')
  const host = hostWith(7)
  const { writeRequest } = await import('../../control-center/telemetry/otlp/messages.ts')
  const body = gzipSync(writeRequest('metrics', host.metrics(), 'pb'))
  const answer = await sendOtlp(center.url, own, 'metrics', body, { headers: { 'content-encoding': 'gzip' } })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, TYPES.pb])
  expect((await answer.arrayBuffer()).byteLength).toBe(0)
  expect(await sessions('packed')).toBe(7)
})

test('otlp: the response to metrics in JSON is JSON', async () => {
  const { token: own } = await center.environment('json')
  const answer = await sendOtlp(center.url, own, 'metrics', hostWith(3).metrics(), { format: 'json' })
  expect([answer.status, await answer.json()]).toEqual([200, {}])
  expect(await sessions('json')).toBe(3)
})

test('otlp: if a request is sent again after a lost response, its data is stored once', async () => {
  const { token: own } = await center.environment('again')
  const host = hostWith(5)
  const lines = host.logs([{ message: 'only once' }])
  for (const _ of [1, 2, 3]) {
    expect((await sendOtlp(center.url, own, 'metrics', host.metrics(1e12 + Date.now() - 1e12))).status).toBe(200)
    expect((await sendOtlp(center.url, own, 'logs', lines)).status).toBe(200)
  }
  expect(await sessions('again')).toBe(5)
  const { body } = await center.api('GET', 'organisations/acme/logs?environment=again')
  expect(body.items).toHaveLength(1)
})

test('otlp: a request with a missing, wrong or revoked token gets 401, with a Status in the request’s format', async () => {
  const { id, token: own } = await center.environment('revoked')
  const [made] = await center.parts.environmentTokens.list(id)
  await center.parts.environmentTokens.remove(id, made?.id ?? '')
  for (const one of [null, `ret_${'A'.repeat(43)}`, own]) {
    const answer = await sendOtlp(center.url, one, 'logs', { resourceLogs: [] }, { format: 'json' })
    expect([answer.status, ((await answer.json()) as { code: number }).code]).toEqual([401, 16])
  }
})

/** A log line whose body is a list nested `depth` levels deep. */
function nested(depth: number): string {
  const value = `${'{"arrayValue":{"values":['.repeat(depth)}{}${']}}'.repeat(depth)}`
  return `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${value}}]}]}]}`
}

test.each([
  ['a body that is not OTLP', 'application/x-protobuf', '', Buffer.from('hello'), 400],
  ['invalid JSON', 'application/json', '', Buffer.from('{'), 400],
  ['JSON with the wrong structure', 'application/json', '', Buffer.from('{"resourceLogs":[{"scopeLogs":7}]}'), 400],
  [
    'an invalid id',
    'application/json',
    '',
    Buffer.from('{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"xyz"}]}]}]}'),
    400,
  ],
  ['a list', 'application/json', '', Buffer.from('[]'), 400],
  ['deeply nested values', 'application/json', '', Buffer.from(nested(50_000)), 400],
  ['uncompressed data declared as gzip', 'application/json', 'gzip', Buffer.from('{}'), 400],
  ['another compression', 'application/json', 'br', Buffer.from('{}'), 415],
  ['another type', 'text/plain', '', Buffer.from('{}'), 415],
  ['a body that is too large', 'application/json', '', Buffer.alloc(5 * 1024 * 1024, ' '), 413],
  [
    'a body that expands to too many objects',
    'application/x-protobuf',
    'gzip',
    gzipSync(Buffer.alloc(16_000_000, Buffer.from([0x0a, 0x00]))),
    413,
  ],
  [
    'JSON that expands to too many objects',
    'application/json',
    'gzip',
    gzipSync(`{"resourceLogs":[${'{},'.repeat(2_000_000)}{}]}`),
    413,
  ],
  ['a field longer than its message', 'application/x-protobuf', '', Buffer.from([0x0a, 0x02, 0x12, 0x7f]), 400],
  [
    'a body that unpacks to too many bytes',
    'application/json',
    'gzip',
    gzipSync(Buffer.alloc(20 * 1024 * 1024, ' ')),
    413,
  ],
])('otlp: %s is rejected', async (_, type, encoding, body, status) => {
  const headers = { 'content-type': type, ...(encoding === '' ? {} : { 'content-encoding': encoding }) }
  const answer = await sendOtlp(center.url, token, 'logs', body, { headers })
  expect(answer.status).toBe(status)
})

test('otlp: data that cannot be stored is reported as a partial success, and the rest is stored', async () => {
  const { token: own } = await center.environment('partial')
  const host = hostWith(2)
  const request = host.metrics() as { resourceMetrics: { scopeMetrics: { metrics: object[] }[] }[] }
  request.resourceMetrics[0]?.scopeMetrics[0]?.metrics.push(
    { name: 'a_summary', summary: { dataPoints: [{ timeUnixNano: String(Date.now() * 1e6) }] } },
    { name: 'no_time', gauge: { dataPoints: [{ asDouble: 1 }] } },
  )
  const answer = await sendOtlp(center.url, own, 'metrics', request, { format: 'json' })
  const { partialSuccess } = (await answer.json()) as {
    partialSuccess: { rejectedDataPoints: string; errorMessage: string }
  }
  expect([answer.status, partialSuccess.rejectedDataPoints]).toEqual([200, '2'])
  expect(partialSuccess.errorMessage).toMatch(/summaries/)
  expect(await sessions('partial')).toBe(2)
})

test('otlp: bodies that are declared but do not arrive block nobody', async () => {
  const tokens = await Promise.all(
    [1, 2, 3, 4, 5, 6].map(async (one) => (await center.environment(`slow-${one}`)).token),
  )
  const held = tokens.flatMap((own) => Array.from({ length: 6 }, () => slowly(own)))
  try {
    await Promise.all(held.map(({ begun }) => begun))
    for (const by of [...tokens, token]) {
      expect((await sendOtlp(center.url, by, 'logs', { resourceLogs: [] }, { format: 'json' })).status).toBe(200)
    }
  } finally {
    for (const { sent } of held) sent.destroy()
  }
})

test('otlp: bodies that are still arriving count only towards their own environment’s limit, until they end', async () => {
  const { token: own } = await center.environment('much')
  const much = () => slowly(own, 4 * 1024 * 1024 - 1)
  const held = Array.from({ length: 6 }, much)
  try {
    const send = (by: string) => sendOtlp(center.url, by, 'logs', { resourceLogs: [] }, { format: 'json' })
    await Promise.all(held.map(({ begun }) => begun))
    const statusWhenFull = async () => {
      const { status } = await send(own)
      // To accept these few bytes, the server may have dropped a pending body. So start another one.
      if (status !== 429) held.push(much())
      return status
    }
    await expect.poll(statusWhenFull).toBe(429)
    expect((await send(token)).status).toBe(200)
    for (const { sent } of held) sent.destroy()
    await expect.poll(async () => (await send(own)).status).toBe(200)
  } finally {
    for (const { sent } of held) sent.destroy()
  }
})

/**
 * Declares a body of the maximum size, but sends only the first `bytes` bytes. `begun` resolves when they have been
 * sent.
 */
function slowly(by: string, bytes = 1) {
  const sent = request(`${center.url}/otlp/v1/logs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${by}`, 'content-type': TYPES.json, 'content-length': 4 * 1024 * 1024 },
  })
  sent.on('error', () => {})
  const begun = new Promise<void>((resolve) => void sent.write(' '.repeat(bytes), () => resolve()))
  return { sent, begun }
}

test('otlp: only POST is allowed', async () => {
  const answer = await fetch(`${center.url}/otlp/v1/logs`, { headers: { authorization: `Bearer ${token}` } })
  expect(answer.status).toBe(405)
})
