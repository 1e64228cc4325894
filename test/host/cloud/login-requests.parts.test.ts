import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createCloudLoginRequests } from '../../../host/cloud/login/login-requests.ts'
import {
  ANNA,
  CLOUD_PASSWORD,
  CLOUD_TOKEN,
  DESIGNED,
  type Misbehaviour,
  send,
  startTestCloud,
  type TestCloud,
} from '../../support/cloud.ts'

let cloud: TestCloud
beforeAll(async () => {
  cloud = await startTestCloud()
})
beforeEach(() => cloud.behave())
afterAll(() => cloud.stop())

const CLOCK = 1_700_000_000_000
const GIVEN = { username: 'anna', password: CLOUD_PASSWORD, address: '192.0.2.1' }

function requestsOf(url = cloud.url, patience?: number, token = CLOUD_TOKEN) {
  const stopped = new AbortController().signal
  const given = { cloud: { url: new URL(url), token }, stopped, now: () => CLOCK }
  return createCloudLoginRequests({ ...given, ...(patience ? { patience } : {}) })
}

test('cloud requests: a page is received with its ETag; a request with that ETag finds it unchanged', async () => {
  const requests = requestsOf()
  expect(await requests.loginPage('harbour', null)).toEqual({ kind: 'said', value: DESIGNED, tag: '"1"' })
  expect(await requests.loginPage('harbour', '"1"')).toEqual({ kind: 'unchanged' })
})

test('cloud requests: each request contains the time on this host’s clock', async () => {
  const clocks: unknown[] = []
  cloud.misbehave((request, response) => {
    clocks.push(request.headers['solhost-clock'])
    send(response, 200, ANNA)
  })
  await requestsOf().refresh('harbour', { uid: 'c-1', since: CLOCK - 1 })
  expect(clocks).toEqual([String(CLOCK)])
})

test('cloud requests: sequential requests reuse one connection', async () => {
  const requests = requestsOf()
  await requests.loginPage('harbour', null)
  const before = cloud.connections()
  for (let time = 0; time < 5; time++) {
    expect(await requests.authenticate('harbour', GIVEN)).toEqual({ kind: 'said', value: ANNA, tag: null })
  }
  expect(cloud.connections()).toBe(before)
})

const status = (code: number, headers: Record<string, string> = {}): Misbehaviour => {
  return (_, response) => response.writeHead(code, headers).end('<h1>no</h1>')
}
const json =
  (body: unknown): Misbehaviour =>
  (_, response) =>
    send(response, 200, body)
const failure = (kind: string, why: string, retryAfter: number | null = null) => ({ kind, why, retryAfter })
const FORM = 'the control center’s response does not follow the protocol'

test.each<[string, Misbehaviour, object]>([
  ['429 with Retry-After', status(429, { 'retry-after': '7' }), { kind: 'throttled', retryAfter: 7 }],
  ['429 with a Retry-After of days', status(429, { 'retry-after': '999999' }), { kind: 'throttled', retryAfter: 3600 }],
  ['401', status(401), failure('token', 'the control center returned HTTP 401')],
  ['403', status(403), failure('token', 'the control center returned HTTP 403')],
  ['404', status(404), failure('unknown', 'the control center returned HTTP 404')],
  [
    '503 with Retry-After',
    status(503, { 'retry-after': '30' }),
    failure('away', 'the control center returned HTTP 503', 30),
  ],
  ['500', status(500), failure('away', 'the control center returned HTTP 500')],
  ['422', status(422), failure('answer', 'the control center returned HTTP 422')],
  ['304 without an ETag', status(304), failure('answer', 'the control center returned HTTP 304')],
  ['HTML', status(200), failure('answer', FORM)],
  ['a wrong type', json({ outcome: 'accepted', uid: 7 }), failure('answer', FORM)],
  ['an unknown outcome', json({ outcome: 'maybe' }), failure('answer', FORM)],
  ['1,001 permissions', json({ ...ANNA, permissions: Array(1001).fill('x') }), failure('answer', FORM)],
  [
    'a number without bounds',
    (_, r) => r.end('{"outcome":"accepted","uid":"u","username":"u","permissions":[],"tenant":[1e999]}'),
    failure('answer', FORM),
  ],
  [
    '10 MB',
    (_, r) => r.end(Buffer.alloc(10_000_000, 32)),
    failure('answer', 'the control center’s response is longer than 524288 bytes'),
  ],
  ['a closed connection', (request) => request.socket.destroy(), failure('away', 'UND_ERR_SOCKET')],
])('cloud requests: the response %s is classified as documented', async (_, misbehaviour, expected) => {
  cloud.misbehave(misbehaviour)
  expect(await requestsOf().authenticate('harbour', GIVEN)).toEqual(expected)
})

test('cloud requests: redirects are not followed, so the password is not sent elsewhere', async () => {
  const asked: string[] = []
  const other = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`
  for (const code of [301, 302, 307, 308]) {
    cloud.misbehave(status(code, { location }))
    expect(await requestsOf().authenticate('harbour', GIVEN)).toEqual(
      failure('answer', `the control center returned HTTP ${code}`),
    )
  }
  expect(asked).toEqual([])
  other.close()
})

test('cloud requests: a response that arrives too slowly is abandoned, as is one that never arrives', async () => {
  const timers: NodeJS.Timeout[] = []
  const drips: Misbehaviour = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    timers.push(setInterval(() => response.write(' '), 20))
  }
  for (const misbehaviour of [drips, () => {}]) {
    cloud.misbehave(misbehaviour)
    expect(await requestsOf(cloud.url, 200).authenticate('harbour', GIVEN)).toEqual(
      failure('away', 'the server did not respond in time'),
    )
  }
  for (const timer of timers) clearInterval(timer)
})

test('cloud requests: a server that is not listening is reported as unreachable', async () => {
  expect(await requestsOf('http://127.0.0.1:1').loginPage('harbour', null)).toMatchObject({ kind: 'away' })
})

test('cloud requests: a token that does not belong to the environment is reported', async () => {
  expect(await requestsOf(cloud.url, 5000, 'another').loginPage('harbour', null)).toMatchObject({ kind: 'token' })
})
