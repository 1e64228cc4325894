import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import Koa from 'koa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { httpServer } from '../../base/tls/server.ts'
import { readSettings } from '../../host/config/settings.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'

// Tests attacks from the network: by a machine in the same network, a proxy or a slow client.

const PAGE = '/solution/tenant-login/index.html'

let open: TestHost
let proxied: TestHost
beforeAll(async () => {
  open = await startTestHost({ ADMIN_FAILURES: '3' })
  proxied = await startTestHost({
    ADMIN_FAILURES: '3',
    TRUSTED_PROXIES: '127.0.0.1',
    PUBLIC_URL: 'https://apps.example.org',
  })
  for (const host of [open, proxied]) {
    await host.upload('tenant-login', await packFolder(exampleFolder('tenant-login')))
  }
})
afterAll(() => Promise.all([open.stop(), proxied.stop()]))

/** Sends raw bytes. @returns everything received until the host closes the connection */
async function raw(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(bytes)
  // If the host stops reading, the connection is reset, possibly before the response is complete.
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await new Promise((resolve) => socket.on('error', resolve).on('end', resolve).on('close', resolve))
  socket.destroy()
  return String(Buffer.concat(chunks))
}

/** @returns the status codes of all responses in the raw text */
const statuses = (text: string) => [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map((match) => Number(match[1]))

async function guess(host: TestHost, forwardedFor: string): Promise<number> {
  const authorization = `Basic ${Buffer.from('admin:wrong').toString('base64')}`
  const headers = { authorization, 'x-forwarded-for': forwardedFor }
  return (await ask(`${host.url}/admin/api/solutions`, { headers })).status
}

// --- forwarding headers and host names -----------------------------------------------------------------------------------

test('X-Forwarded-* headers from an untrusted sender are ignored: the host name, scheme and address stay the same', async () => {
  const lies = {
    'x-forwarded-host': 'localhost',
    'x-forwarded-proto': 'https',
    forwarded: 'host=localhost;proto=https',
  }
  for (const url of [`${open.url}/`, `${open.adminUrl}/admin/`]) {
    const answer = await ask(url, { headers: { ...lies, host: 'evil.example', accept: 'text/html' } })
    expect([url, answer.status]).toEqual([url, 421])
  }
  const { headers } = await ask(`${open.url}${PAGE}`, { headers: lies })
  expect(headers['set-cookie']?.[0]).toMatch(/^login-tenant-login=[^;]+; path=[^;]+; samesite=lax; httponly$/i)
  const answers: number[] = []
  for (let tried = 1; tried <= 4; tried++) answers.push(await guess(open, `198.51.100.${tried}`))
  expect(answers).toEqual([401, 401, 401, 429])
})

test('behind a trusted proxy the host uses the address that the proxy saw, whatever the browser sent', async () => {
  const answers: number[] = []
  for (let tried = 1; tried <= 4; tried++) answers.push(await guess(proxied, `198.51.100.${tried}, 203.0.113.7`))
  expect(answers).toEqual([401, 401, 401, 429])
  expect(await guess(proxied, '203.0.113.8')).toBe(401)
})

test('the host name from a trusted proxy is used, but if PUBLIC_URL is https, cookies are always Secure', async () => {
  const said = { host: 'evil.example', 'x-forwarded-host': 'apps.example.org', 'x-forwarded-proto': 'http' }
  const { status, headers } = await ask(`${proxied.url}${PAGE}`, { headers: said })
  expect(status).toBe(200)
  expect(headers['set-cookie']?.[0]).toMatch(/^__Secure-login-tenant-login=[^;]+; .*; secure; httponly$/i)
  // The host uses the first of several values, so a proxy must replace the browser's value, not append its own.
  const added = { ...said, 'x-forwarded-host': 'evil.example, apps.example.org' }
  expect((await ask(`${proxied.url}${PAGE}`, { headers: added })).status).toBe(421)
})

test('a page that points its host name to the admin port (DNS rebinding) cannot access the pages or the API, even with credentials', async () => {
  for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example', 'evil.example:8081']) {
    const headers = { host, authorization: open.admin }
    for (const path of ['/admin/', '/admin/api/solutions']) {
      expect([host, path, (await ask(`${open.adminUrl}${path}`, { headers })).status]).toEqual([host, path, 421])
    }
  }
})

test('DNS rebinding through a trusted proxy with a forwarded host name is also blocked', async () => {
  for (const name of ['localhost', '127.0.0.1', 'apps.example.org']) {
    const headers = { host: 'evil.example:8081', 'x-forwarded-host': name, authorization: proxied.admin }
    for (const path of ['/admin/', '/admin/api/solutions']) {
      expect([name, path, (await ask(`${proxied.adminUrl}${path}`, { headers })).status]).toEqual([name, path, 421])
    }
  }
  expect(
    (await ask(`${proxied.adminUrl}/admin/sign-in`, { headers: { 'x-forwarded-host': 'localhost' } })).status,
  ).toBe(200)
})

test('requests without a host name, or with two, are rejected', async () => {
  expect(statuses(await raw(open.url, 'GET / HTTP/1.0\r\n\r\n'))).toEqual([421])
  expect(statuses(await raw(open.url, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'))).toEqual([400])
  const unreadable = await raw(open.url, 'GET http://[x/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  expect(statuses(unreadable)).toEqual([400])
  expect(unreadable).toMatch(/nosniff[\s\S]*ERR_BAD_REQUEST/i)
  const two = 'GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n'
  expect(statuses(await raw(open.url, two))).toEqual([400])
})

// --- ambiguous and slow requests ----------------------------------------------------------------------------------------

const HIDDEN = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'

test.each([
  ['Content-Length and chunked encoding', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${HIDDEN}`],
  ['two Content-Length headers', `Content-Length: 0\r\nContent-Length: ${HIDDEN.length}\r\n`, HIDDEN],
  ['an invalid Content-Length', 'Content-Length: +0\r\n', HIDDEN],
  ['an unknown encoding', 'Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${HIDDEN}`],
  ['chunked that is not the final encoding', 'Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${HIDDEN}`],
  ['a space before the colon', `Content-Length : ${HIDDEN.length}\r\n`, HIDDEN],
  ['a line that ends with only LF', `X: y\nContent-Length: ${HIDDEN.length}\r\n`, HIDDEN],
])('an ambiguous request is rejected, and the smuggled request gets no response: %s', async (_case, headers, body) => {
  for (const url of [open.url, open.adminUrl]) {
    const text = await raw(url, `POST / HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${body}`)
    expect(statuses(text)).toEqual([400])
  }
})

test.each([
  ['one header of 20 kB', `X-Long: ${'x'.repeat(20_000)}\r\n`, '/'],
  ['2,000 headers of 20 bytes', 'X-Many: 0123456789\r\n'.repeat(2000), '/'],
  ['a URL of 20 kB', '', `/${'x'.repeat(20_000)}`],
])('%s gets 431 with the standard headers, on both ports', async (_case, headers, path) => {
  for (const url of [open.url, open.adminUrl]) {
    const text = await raw(url, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`)
    expect(statuses(text)).toEqual([431])
    expect(text).toContain('X-Content-Type-Options: nosniff')
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({
      code: 'ERR_HEADERS_TOO_LARGE',
      detail: expect.stringContaining('larger than 16384 bytes. Shorten the URL, or send fewer or shorter headers'),
    })
  }
})

test('a request that is too large, or not allowed, is rejected before its body is sent', async () => {
  const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000000\r\nConnection: close'
  expect(statuses(await raw(open.url, `POST ${PAGE} HTTP/1.1\r\nHost: localhost\r\n${form}\r\n\r\n`))).toEqual([413])
  const zip = 'Content-Type: application/zip\r\nContent-Length: 9000000\r\nConnection: close'
  const upload = `PUT /admin/api/solutions/crm HTTP/1.1\r\nHost: localhost\r\n${zip}\r\n\r\n`
  for (const url of [open.url, open.adminUrl]) expect(statuses(await raw(url, upload))).toEqual([401])
})

test('a slow client does not block others, and has one minute for its headers and five for its request', async () => {
  const slow = Array.from({ length: 50 }, () => connect(Number(new URL(open.url).port), '127.0.0.1'))
  for (const socket of slow) socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx')
  expect((await ask(`${open.url}/health/live`)).status).toBe(200)
  for (const socket of slow) socket.destroy()

  const server = httpServer(new Koa())
  expect([server.headersTimeout, server.requestTimeout]).toEqual([60_000, 300_000])
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [socket] = await once(server, 'connection')
  // Node.js reports a request timeout with this event.
  server.emit('clientError', Object.assign(new Error('too slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket)
  expect(String(Buffer.concat(await client.toArray()))).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\nConnection: close/)
  server.close()
})

// --- other accounts on the machine --------------------------------------------------------------------------------------

test('no other account on the machine can read the platform’s data', () => {
  const files = readdirSync(open.home)
  expect(files).toEqual(expect.arrayContaining(['platform-key', 'platform.sqlite', 'platform.sqlite-wal']))
  expect(files.filter((file) => statSync(join(open.home, file)).mode & 0o077)).toEqual([])
})

// --- settings -----------------------------------------------------------------------------------------------------------

test('an unknown database type and an invalid control center URL are reported as errors in the settings', () => {
  const set = { PLATFORM_DATABASE: 'delta', ENVIRONMENT: 'onprem', REMOTE_ENVIRONMENT_TOKEN: 'token' }
  expect(() => readSettings(set)).toThrow(
    /PLATFORM_DATABASE must be one of embedded, alpha, beta, gamma.*REMOTE_ENVIRONMENT_TOKEN is set with ENVIRONMENT=onprem, but/s,
  )
})
