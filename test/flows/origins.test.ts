import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { signInToAdmin } from '../support/admin.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { askAdmin } from '../support/users.ts'

let shared: TestHost
let own: TestHost
beforeAll(async () => {
  shared = await startTestHost({ ALLOWED_HOSTS: 'apps.example.org' })
  own = await startTestHost({
    SOLUTION_ORIGIN: 'https://{name}.apps.example.org',
    PUBLIC_URL: 'https://platform.example.org',
  })
  for (const host of [shared, own]) {
    for (const name of ['hello', 'tenant-login']) await host.upload(name, await packFolder(exampleFolder(name)))
  }
})
afterAll(() => Promise.all([shared.stop(), own.stop()]))

const HTML = { accept: 'text/html' }
const from = (host: TestHost, name: string, path: string, options: Parameters<typeof ask>[1] = {}) =>
  ask(`${host.url}${path}`, { ...options, headers: { host: name, ...HTML, ...options.headers } })

test('SOLUTION_ORIGIN: a solution’s host name serves only that solution', async () => {
  const hello = 'hello.apps.example.org'
  expect((await from(own, hello, '/solution/hello/index.html')).status).toBe(200)
  for (const path of [
    '/solution/tenant-login/index.html',
    '/admin/api/solutions',
    '/admin/',
    '/metrics',
    '/anything',
  ]) {
    expect([path, (await from(own, hello, path)).status]).toEqual([path, 404])
  }
  const start = await from(own, hello, '/')
  expect([start.status, start.headers.location]).toEqual([302, '/solution/hello/index.html'])
})

test('no alternative spelling of a path reaches a solution on the platform’s host name, and unusual names return 404', async () => {
  for (const path of ['/Solution/hello/index.html', '/SOLUTION/hello/session', '/solution/Hello/index.html']) {
    expect([path, (await from(own, '127.0.0.1', path)).status]).toEqual([path, 404])
    expect([path, (await from(own, 'hello.apps.example.org', path)).status]).toEqual([path, 404])
  }
  for (const path of [
    '/solution/%0d%0aa/',
    '/solution/%F0%9F%98%80/',
    '/solution/%2F%2Fevil/',
    '/solution/..%2f/',
    '/solution/%zz/index.html',
  ]) {
    const { status, headers } = await ask(shared.url, { path })
    expect([path, [400, 404].includes(status), headers.location]).toEqual([path, true, undefined])
  }
})

test('SOLUTION_ORIGIN: an unknown host name, or one that is not a valid solution name, gets 421', async () => {
  for (const name of [
    'evil.example',
    'nobody.apps.example.org',
    'a.hello.apps.example.org',
    'x@hello.apps.example.org',
  ]) {
    expect([name, (await from(own, name, '/')).status]).toEqual([name, 421])
  }
})

test('SOLUTION_ORIGIN: the platform’s host names list solutions and redirect GET requests to a solution’s own host name, with the query', async () => {
  const list = await from(own, 'platform.example.org', '/')
  expect(list.text).toContain('href="https://hello.apps.example.org/solution/hello/index.html"')
  const sent = await from(own, '127.0.0.1', '/solution/hello/index.html?a=%20b')
  expect([sent.status, sent.headers.location]).toEqual([
    308,
    'https://hello.apps.example.org/solution/hello/index.html?a=%20b',
  ])
  expect((await from(own, '127.0.0.1', '/solution/hello/index.html', { method: 'POST' })).status).toBe(421)
  expect((await from(own, '127.0.0.1', '/solution/nobody/index.html')).status).toBe(404)
  const admin = await from(own, '127.0.0.1', '/admin/api/solutions', { headers: { authorization: own.admin } })
  expect(admin.status).toBe(200)
})

test('SOLUTION_ORIGIN with https: cookies are limited to the host name', async () => {
  const answer = await from(own, 'tenant-login.apps.example.org', '/solution/tenant-login/index.html')
  expect(answer.headers['set-cookie']?.[0]).toMatch(
    /^__Host-login-tenant-login=[\w-]+; path=\/; samesite=lax; secure; httponly$/i,
  )
})

test('SOLUTION_ORIGIN: a form from another solution’s origin is rejected', async () => {
  const base = { host: 'tenant-login.apps.example.org' }
  const visitor = createVisitor(own.url, base)
  await visitor.get('/solution/tenant-login/index.html')
  const fields = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }
  const headers = { origin: 'https://hello.apps.example.org' }
  expect((await visitor.post('/solution/tenant-login/index.html', fields, { headers })).status).toBe(403)
  const right = { headers: { origin: 'https://tenant-login.apps.example.org' } }
  expect((await visitor.post('/solution/tenant-login/index.html', fields, right)).status).toBe(303)
})

test('without SOLUTION_ORIGIN: loopback, ALLOWED_HOSTS and this machine’s addresses are allowed; other host names get 421', async () => {
  for (const name of ['localhost', '127.0.0.1:9999', '[::1]', 'apps.example.org']) {
    expect([name, (await from(shared, name, '/')).status]).toEqual([name, 200])
  }
  expect((await from(shared, 'evil.example', '/')).status).toBe(421)
})

test('health probes work with any host name', async () => {
  expect((await from(shared, 'evil.example', '/health/live')).json()).toEqual({ status: 'ok' })
  expect((await from(own, 'hello.apps.example.org', '/health/ready')).status).toBe(200)
})

test('the admin page is available only on its own port, and only at loopback, ADMIN_HOST and ALLOWED_HOSTS', async () => {
  const page = await (await signInToAdmin(shared)).get('/admin/')
  expect(page.status).toBe(200)
  expect(page.text).toContain('tenant-login')
  const under = { headers: { ...HTML, host: 'apps.example.org' } }
  expect((await ask(`${shared.adminUrl}/admin/sign-in`, under)).status).toBe(200)
  expect((await ask(`${shared.adminUrl}/admin/`, { headers: { ...HTML, host: 'evil.example' } })).status).toBe(421)
  expect((await from(shared, 'localhost', '/admin/')).status).toBe(404)
  expect((await ask(`${shared.adminUrl}/solution/hello/index.html`, { headers: HTML })).status).toBe(404)
})

const SET = {
  'cross-origin-opener-policy': 'noopener-allow-popups',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
}
test.each([
  ['/', {}],
  ['/nothing', {}],
  ['/health/live', {}],
  ['/solution/hello', {}],
  ['/solution/hello/index.html', {}],
  ['/solution/tenant-login/index.html', {}],
  ['/solution/tenant-login/session', {}],
  ['/solution/tenant-login/media/mark.svg', {}],
  ['/solution/tenant-login/media/nothing.png', {}],
  ['/admin/api/solutions', {}],
  ['/solution/hello/index.html', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' }],
])('%s has the standard security headers', async (path, options) => {
  const { headers } = await ask(`${shared.url}${path}`, options)
  expect(headers).toMatchObject(SET)
  expect(headers['content-security-policy']).toMatch(/default-src 'none'/)
  if (!path.includes('mark.svg')) expect(headers['cache-control']).toBe('no-store')
})

test('the login page has the documented Content-Security-Policy', async () => {
  const { headers, text } = await ask(`${shared.url}/solution/tenant-login/index.html`)
  const nonce = /'nonce-([^']+)'/.exec(String(headers['content-security-policy']))?.[1] ?? 'missing'
  expect(headers['content-security-policy']).toBe(
    `default-src 'none'; script-src 'nonce-${nonce}' 'strict-dynamic'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; connect-src 'none'; worker-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; sandbox allow-scripts allow-forms allow-same-origin allow-modals allow-downloads`,
  )
  const alone = await from(own, 'tenant-login.apps.example.org', '/solution/tenant-login/index.html')
  expect(alone.headers['content-security-policy']).toMatch(/frame-ancestors 'none'$/)
  expect(text).toContain(`<script nonce="${nonce}">`)
  const again = await ask(`${shared.url}/solution/tenant-login/index.html`)
  expect(again.headers['content-security-policy']).not.toContain(nonce)
})

test('HTML is only served for navigations: a fetched or framed page gets 403 with problem+json', async () => {
  for (const path of ['/', '/solution/hello/index.html', '/solution/tenant-login/index.html']) {
    for (const destination of ['iframe', 'empty', 'object', 'script']) {
      const answer = await ask(`${shared.url}${path}`, { headers: { ...HTML, 'sec-fetch-dest': destination } })
      expect([path, answer.status, answer.headers['content-type']]).toEqual([path, 403, 'application/problem+json'])
    }
    expect((await ask(`${shared.url}${path}`, { headers: { ...HTML, 'sec-fetch-dest': 'document' } })).status).toBe(200)
  }
  const missing = await ask(`${shared.url}/solution/nobody/index.html`, {
    headers: { ...HTML, 'sec-fetch-dest': 'iframe' },
  })
  expect(missing.headers['content-type']).toBe('application/problem+json')
})

test('media: responses have an ETag and a type, and a sandbox policy for types that a browser would execute', async () => {
  const url = `${shared.url}/solution/tenant-login/media/mark.svg`
  const first = await ask(url)
  expect([first.status, first.headers['content-type'], first.headers['content-security-policy']]).toEqual([
    200,
    'image/svg+xml',
    "sandbox; default-src 'none'",
  ])
  const again = await ask(url, { headers: { 'if-none-match': String(first.headers.etag) } })
  expect([again.status, again.text]).toEqual([304, ''])
  for (const path of ['login.html', '../solution.json', '%2e%2e/solution.json', 'nothing.png', '']) {
    expect([path, (await ask(`${shared.url}/solution/tenant-login/media/${path}`)).status]).toEqual([path, 404])
  }
})

test('a solution’s URL redirects to index.html with the query; an unknown solution, a wrong method, a body that is too large and a wrong content type get 404, 405, 413 and 415', async () => {
  const short = await ask(`${shared.url}/solution/hello?a=1&b`)
  expect([short.status, short.headers.location]).toEqual([308, '/solution/hello/index.html?a=1&b'])
  expect((await ask(`${shared.url}/solution/hello/`)).headers.location).toBe('/solution/hello/index.html')
  const missing = await ask(`${shared.url}/solution/nobody/index.html`, {
    headers: { ...HTML, 'accept-language': 'nl' },
  })
  expect([missing.status, missing.text.includes('<html lang="nl">')]).toEqual([404, true])
  expect((await ask(`${shared.url}/solution/nobody/index.html`)).json()).toMatchObject({
    code: 'ERR_SOLUTION_NOT_FOUND',
  })
  const put = await ask(`${shared.url}/solution/tenant-login/index.html`, { method: 'PUT' })
  expect([put.status, put.headers.allow]).toEqual([405, 'HEAD, GET, POST'])
  const page = `${shared.url}/solution/tenant-login/index.html`
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const large = await ask(page, { method: 'POST', headers: form, body: `a=${'x'.repeat(65_536)}` })
  expect(large.json()).toMatchObject({ status: 413, code: 'ERR_BODY_TOO_LARGE' })
  const many = await ask(page, {
    method: 'POST',
    headers: form,
    body: Array.from({ length: 201 }, (_, n) => `f${n}=1`).join('&'),
  })
  expect(many.json()).toMatchObject({ status: 413, code: 'ERR_TOO_MANY_FIELDS' })
  const typed = await ask(page, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })
  expect(typed.json()).toMatchObject({ status: 415, code: 'ERR_CONTENT_TYPE' })
  expect(
    (await ask(`${shared.url}/solution/hello/index.html`, { method: 'POST', headers: form, body: 'a=1' })).status,
  ).toBe(405)
})

test('unsupported methods on read-only paths get 405, and the response to invalid HTTP has the standard headers', async () => {
  for (const path of ['/', '/health/live']) {
    const answer = await ask(`${shared.url}${path}`, { method: 'PUT' })
    expect([path, answer.status, answer.headers.allow]).toEqual([path, 405, 'HEAD, GET'])
  }
  const { port } = new URL(shared.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.end('this is no HTTP\r\n\r\n')
  const text = String(Buffer.concat(await socket.toArray()))
  expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request/)
  expect(text).toContain('Cross-Origin-Opener-Policy: noopener-allow-popups')
})

test('PLATFORM_CLOUD without a control center shows a 503 page that says so', async () => {
  const { bundleOf } = await import('../support/zip.ts')
  await shared.upload('later', await bundleOf({ name: 'later', authenticator: 'PLATFORM_CLOUD' }))
  const answer = await ask(`${shared.url}/solution/later/index.html`, { headers: HTML })
  expect(answer.status).toBe(503)
  expect(answer.text).toContain('You can’t sign in here yet')
})

test('START_PAGE=none: / returns 404, and shows no solution names', async () => {
  const host = await startTestHost({ START_PAGE: 'none' })
  await host.upload('hello', await packFolder(exampleFolder('hello')))
  const answer = await ask(`${host.url}/`, { headers: HTML })
  expect(answer.status).toBe(404)
  expect(answer.text).toContain('No page exists at this URL.')
  expect(answer.text).not.toMatch(/hello|admin pages/)
  expect((await ask(`${host.url}/solution/hello/index.html`, { headers: HTML })).status).toBe(200)
  await askAdmin(host, 'PUT', 'maintenance', { on: true })
  const statusOf = async (path: string) => (await ask(`${host.url}${path}`, { headers: HTML })).status
  expect([await statusOf('/'), await statusOf('/unknown'), await statusOf('/solution/hello/index.html')]).toEqual([
    404, 404, 503,
  ])
  await host.stop()
})

test('the list of solutions links to the admin pages only in a browser on the same machine as the host', async () => {
  const proxied = { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-host': 'apps.example.org' }
  const host = await startTestHost({ TRUSTED_PROXIES: '127.0.0.1', PUBLIC_URL: 'http://apps.example.org' })
  const list = async (headers: Record<string, string>) =>
    (await ask(`${host.url}/`, { headers: { ...HTML, ...headers } })).text
  expect(await list({})).toContain(`<a href="${host.adminUrl}/admin/">admin pages</a>`)
  for (const headers of [proxied, { 'x-forwarded-for': '192.0.2.7' }, { 'x-forwarded-host': 'apps.example.org' }]) {
    const page = await list(headers)
    expect(page).toContain('No solutions yet.')
    expect(page).not.toContain('/admin/')
  }
  await host.stop()
})

test('DEFAULT_SOLUTION: / redirects to it', async () => {
  const host = await startTestHost({ DEFAULT_SOLUTION: 'hello' })
  const answer = await ask(`${host.url}/`, { headers: HTML })
  expect([answer.status, answer.headers.location]).toEqual([302, `${host.url}/solution/hello/index.html`])
  await host.stop()
})
