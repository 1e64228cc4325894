import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addClientSolution, label } from '../support/client-solution.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { type Ask, ask } from '../support/http.ts'

// The host handles an upgrade request like any other request, unless it is a client's valid WebSocket handshake.

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
  await addClientSolution(host, 'open', { elements: [label('text')], script: '' })
})
afterAll(() => host.stop())

const CLIENT = '/solution/open/client'
const PAGE = '/solution/open/index.html'

const handshake = (more: Record<string, string> = {}) => ({
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': randomBytes(16).toString('base64'),
  ...more,
})
const own = () => ({ origin: host.url })
const without = (name: string, headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name))
const problem = async (path: string, options: Ask) => {
  const headers = { accept: 'application/json', ...options.headers }
  const answer = await ask(`${host.url}${path}`, { ...options, headers })
  return { ...answer, code: (answer.json() as { code?: string }).code }
}

test.each([
  ['from another site', { origin: 'https://evil.example' }],
  ['from a null origin', { origin: 'null' }],
  ['from another port of the host', { origin: 'http://127.0.0.1:1' }],
  ['with neither Origin nor Sec-Fetch-Site', {}],
  [
    'from another site according to Fetch Metadata, whatever its origin',
    { 'sec-fetch-site': 'cross-site', origin: 'own' },
  ],
  ['from the address bar', { 'sec-fetch-site': 'none' }],
])('a handshake %s gets 403', async (_case, headers: Record<string, string>) => {
  const origin = headers.origin === 'own' ? own() : {}
  const answer = await problem(CLIENT, { headers: handshake({ ...headers, ...origin }) })
  expect([answer.status, answer.code]).toEqual([403, 'ERR_FOREIGN_ORIGIN'])
})

test('handshake: a plain GET request gets 426 with the required protocol, from any source', async () => {
  for (const headers of [{}, own(), { 'sec-fetch-site': 'cross-site' }]) {
    const answer = await problem(CLIENT, { headers })
    expect([answer.status, answer.code, answer.headers.upgrade]).toEqual([426, 'ERR_UPGRADE_REQUIRED', 'websocket'])
  }
})

test('handshake: a method other than GET gets 405', async () => {
  const answer = await problem(CLIENT, { method: 'POST', headers: own() })
  expect([answer.status, answer.headers.allow]).toEqual([405, 'HEAD, GET'])
  const upgraded = await problem(CLIENT, { method: 'POST', headers: handshake(own()) })
  expect(upgraded.status).toBe(405)
})

test.each([
  ['no key', 'sec-websocket-key', null, 400],
  ['an invalid key', 'sec-websocket-key', 'short', 400],
  ['no version', 'sec-websocket-version', null, 400],
])('a handshake with %s is rejected, and nothing hangs', async (_case, name, value, status) => {
  const headers = handshake(own())
  const sent = value === null ? without(name, headers) : { ...headers, [name]: value }
  expect((await ask(`${host.url}${CLIENT}`, { headers: sent })).status).toBe(status)
})

test('a handshake at the URL of an unknown solution gets 404', async () => {
  expect((await problem('/solution/nobody/client', { headers: handshake(own()) })).status).toBe(404)
})

test.each([
  ['h2c', { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' }],
  ['websocket', handshake()],
  ['an unknown protocol', { connection: 'Upgrade', upgrade: 'nonsense/1.0' }],
])('a page request that asks for an upgrade to %s gets the page as usual', async (_case, headers) => {
  const answer = await ask(`${host.url}${PAGE}`, { headers: { accept: 'text/html', ...headers } })
  expect([answer.status, answer.text.includes('id="client-form"')]).toEqual([200, true])
})
