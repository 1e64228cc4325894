import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { adminCookie, NAVIGATION, signInToAdmin } from '../support/admin.ts'
import { ADMIN_PASSWORD, startTestHost, type TestHost } from '../support/host.ts'
import { type Answer, ask } from '../support/http.ts'

let host: TestHost
beforeAll(async () => {
  host = await startTestHost({ ADMIN_FAILURES: '1000', PLATFORM_TESTING_MODE: 'true', TRUSTED_PROXIES: '127.0.0.1' })
})
afterAll(() => host.stop())

const MINUTE = 60_000
const RIGHT = { username: 'admin', password: ADMIN_PASSWORD }
const FORM = { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded' }

type Adminned = Pick<TestHost, 'adminUrl'>

function signIn(at: Adminned, fields: Record<string, string>, headers: Record<string, string> = FORM): Promise<Answer> {
  return ask(`${at.adminUrl}/admin/sign-in`, {
    method: 'POST',
    headers,
    body: new URLSearchParams(fields).toString(),
  })
}

const getPage = (at: Adminned, cookie: string, headers: Record<string, string> = {}) =>
  ask(`${at.adminUrl}/admin/`, { headers: { ...NAVIGATION, cookie, ...headers } })

/** The host rejects the cookie, so the page redirects to the sign-in page. */
async function expectSignedOut(at: Adminned, cookie: string, headers: Record<string, string> = {}): Promise<void> {
  const answer = await getPage(at, cookie, headers)
  expect([answer.status, answer.headers.location]).toEqual([302, '/admin/sign-in?to=%2Fadmin%2F'])
}

function setClock(clockOffsetMs: number): Promise<Answer> {
  return ask(`${host.url}/admin/api/testing`, {
    method: 'POST',
    headers: { authorization: host.admin, 'content-type': 'application/json' },
    body: JSON.stringify({ clockOffsetMs }),
  })
}

test('sign-in: a visitor is redirected to the sign-in page, and afterwards back to the requested page with its parameters', async () => {
  const asked = await ask(`${host.adminUrl}/admin/audit?action=sign-in&outcome=ok`, { headers: NAVIGATION })
  const to = '/admin/audit?action=sign-in&outcome=ok'
  expect([asked.status, asked.headers.location]).toEqual([302, `/admin/sign-in?to=${encodeURIComponent(to)}`])
  const page = await ask(`${host.adminUrl}${asked.headers.location}`, { headers: NAVIGATION })
  expect(page.status).toBe(200)
  expect(page.text).toContain('<input type="hidden" name="to" value="/admin/audit?action=sign-in&amp;outcome=ok">')
  const answer = await signIn(host, { ...RIGHT, to })
  expect([answer.status, answer.headers.location]).toEqual([303, to])
})

test('sign-in: a wrong password returns 401, keeps the name in the form, and sets no cookie', async () => {
  const answer = await signIn(host, { username: 'adm"><script>', password: 'wrong' })
  expect(answer.status).toBe(401)
  expect(answer.headers['set-cookie']).toBeUndefined()
  expect(answer.text).toContain('value="adm&quot;&gt;&lt;script&gt;"')
  expect(answer.text).toContain('The username or password is wrong.')
  expect(answer.text).not.toContain('value="wrong"')
})

test('sign-in: the right password with another name is rejected', async () => {
  expect((await signIn(host, { ...RIGHT, username: 'Admin' })).status).toBe(401)
})

test('sign-in: failures on pages and in the API are counted together; over the limit, even the right password gets 429 with Retry-After', async () => {
  const strict = await startTestHost({ ADMIN_FAILURES: '3' })
  try {
    const wrong = { authorization: `Basic ${Buffer.from('admin:wrong').toString('base64')}` }
    expect((await signIn(strict, { ...RIGHT, password: 'wrong' })).status).toBe(401)
    expect((await ask(`${strict.url}/admin/api/solutions`, { headers: wrong })).status).toBe(401)
    expect((await ask(`${strict.adminUrl}/admin/api/solutions`, { headers: wrong })).status).toBe(401)
    const throttled = await signIn(strict, RIGHT)
    expect([throttled.status, Number(throttled.headers['retry-after'])]).toEqual([429, expect.any(Number)])
    expect(Number(throttled.headers['retry-after'])).toBeGreaterThan(0)
    expect(throttled.text).toContain('value="admin"')
    expect(throttled.text).toContain('Too many failed sign-ins from this network. Try again in 15 min.')
    const api = await ask(`${strict.url}/admin/api/solutions`, { headers: { authorization: strict.admin } })
    expect(api.status).toBe(429)
  } finally {
    await strict.stop()
  }
})

test('sign-out: it ends the session on the host, not only in the browser', async () => {
  const { cookie, csrfToken } = await signInToAdmin(host)
  const answer = await ask(`${host.adminUrl}/admin/sign-out`, {
    method: 'POST',
    headers: { ...FORM, cookie },
    body: new URLSearchParams({ csrf_token: csrfToken }).toString(),
  })
  expect([answer.status, answer.headers.location]).toEqual([303, '/admin/sign-in'])
  expect(answer.headers['set-cookie']?.[0]).toMatch(/^administration-\d+=; path=\/admin\/; expires=Thu, 01 Jan 1970/)
  await expectSignedOut(host, cookie)
})

test('sign-out: a request without the page’s token does not sign the user out', async () => {
  const { cookie } = await signInToAdmin(host)
  const body = new URLSearchParams({ csrf_token: 'made up' }).toString()
  await ask(`${host.adminUrl}/admin/sign-out`, { method: 'POST', headers: { ...FORM, cookie }, body })
  expect((await getPage(host, cookie)).status).toBe(200)
})

test('sign-in: signing in again ends the previous session', async () => {
  const first = await adminCookie(host)
  const answer = await signIn(host, RIGHT, { ...FORM, cookie: first })
  const second = answer.headers['set-cookie']?.[0]?.split(';', 1)[0] ?? ''
  await expectSignedOut(host, first)
  expect((await getPage(host, second)).status).toBe(200)
})

test('session: it ends after 30 idle minutes; a page’s automatic requests do not count as use', async () => {
  const cookie = await adminCookie(host)
  await setClock(20 * MINUTE)
  expect((await getPage(host, cookie)).status).toBe(200)
  await setClock(40 * MINUTE)
  const unattended = { cookie, 'x-unattended': '1', 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' }
  expect((await ask(`${host.adminUrl}/admin/health.json`, { headers: unattended })).status).toBe(200)
  await setClock(51 * MINUTE)
  expect((await ask(`${host.adminUrl}/admin/health.json`, { headers: unattended })).status).toBe(401)
  await expectSignedOut(host, cookie)
  await setClock(0)
})

test('session: it ends after 12 hours, even if it is in use', async () => {
  const cookie = await adminCookie(host)
  for (let minutes = 20; minutes < 12 * 60; minutes += 20) {
    await setClock(minutes * MINUTE)
    expect([minutes, (await getPage(host, cookie)).status]).toEqual([minutes, 200])
  }
  await setClock(12 * 60 * MINUTE + 1000)
  await expectSignedOut(host, cookie)
  await setClock(0)
})

test('session: it is valid on other hosts with the same database, and ends when a host starts with another password', async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-test-'))
  const one = await startTestHost({}, { home })
  const other = await startTestHost({}, { home })
  const cookie = await adminCookie(one)
  // Forwards the browser's Host header, as a load balancer does.
  const at = { host: new URL(one.adminUrl).host }
  expect((await getPage(other, cookie, at)).status).toBe(200)
  await Promise.all([one.stop(), other.stop()])
  const same = await startTestHost({}, { home })
  expect((await getPage(same, cookie, at)).status).toBe(200)
  await same.stop()
  const changed = await startTestHost({ SERVLET_PASSWORD: 'another admin password' }, { home })
  await expectSignedOut(changed, cookie, at)
  await changed.stop()
  rmSync(home, { recursive: true })
})

const SAME = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }
const API_CALLS: readonly [string, string, Record<string, string>, number][] = [
  ['PUT', 'with the token, from our page', { ...SAME, 'x-csrf-token': 'TOKEN' }, 200],
  ['PUT', 'with the token, from a browser that says Origin alone', { origin: 'OWN', 'x-csrf-token': 'TOKEN' }, 200],
  ['PUT', 'without the token', SAME, 403],
  ['PUT', 'with a made up token', { ...SAME, 'x-csrf-token': 'A'.repeat(43) }, 403],
  ['PUT', 'with the token, from another site', { 'sec-fetch-site': 'cross-site', 'x-csrf-token': 'TOKEN' }, 403],
  ['PUT', 'with the token, from another port', { 'sec-fetch-site': 'same-site', 'x-csrf-token': 'TOKEN' }, 403],
  ['PUT', 'with the token and a foreign Origin', { origin: 'https://evil.example', 'x-csrf-token': 'TOKEN' }, 403],
  ['PUT', 'with neither', {}, 403],
  ['GET', 'from our page, without the token', SAME, 200],
  ['GET', 'with the token, where the browser does not say from where', { 'x-csrf-token': 'TOKEN' }, 200],
  ['GET', 'from another site', { 'sec-fetch-site': 'cross-site' }, 403],
  ['GET', 'from another site, with the token', { 'sec-fetch-site': 'cross-site', 'x-csrf-token': 'TOKEN' }, 403],
  ['GET', 'from the address bar', { 'sec-fetch-site': 'none' }, 403],
  ['GET', 'with neither', {}, 403],
]

test.each(API_CALLS)('API with the cookie: %s %s returns $3', async (method, _from, given, status) => {
  const { cookie, csrfToken } = await signInToAdmin(host)
  const values: Record<string, string> = { TOKEN: csrfToken, OWN: host.adminUrl }
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, values[value] ?? value]))
  const body = method === 'PUT' ? { body: JSON.stringify({ on: false }) } : {}
  const answer = await ask(`${host.adminUrl}/admin/api/maintenance`, {
    method,
    headers: { ...headers, cookie, 'content-type': 'application/json' },
    ...body,
  })
  expect(answer.status).toBe(status)
  if (status === 403) expect(answer.json()).toMatchObject({ code: 'ERR_FOREIGN_ORIGIN' })
})

test('API: the CSRF token of another session is rejected', async () => {
  const [one, other] = [await signInToAdmin(host), await signInToAdmin(host)]
  const answer = await one.api('PUT', 'maintenance', { on: true }, { 'x-csrf-token': other.csrfToken })
  expect([answer.status, answer.json()]).toEqual([403, expect.objectContaining({ code: 'ERR_FOREIGN_ORIGIN' })])
})

test('API: actions on pages are recorded in the audit log as actions of the admin account', async () => {
  const { api } = await signInToAdmin(host)
  const done = await api('PUT', 'maintenance', { on: false })
  const correlationId = done.headers['x-correlation-id']
  expect((await api('GET', `audit?correlationId=${correlationId}`)).json()).toMatchObject({
    items: [{ actor: 'admin', action: 'maintenance', outcome: 'ok' }],
  })
})

test('API on the main port: the cookie is not accepted', async () => {
  const { cookie, csrfToken } = await signInToAdmin(host)
  const headers = { ...SAME, cookie, 'x-csrf-token': csrfToken }
  expect((await ask(`${host.url}/admin/api/solutions`, { headers })).status).toBe(401)
  expect((await ask(`${host.url}/admin/`, { headers: { ...NAVIGATION, cookie } })).status).toBe(404)
})

test('cookie: it is HttpOnly, SameSite=Lax and limited to /admin/; behind an https proxy, it is also Secure and prefixed', async () => {
  const attributes = (answer: Answer) => (answer.headers['set-cookie']?.[0] ?? '').replace(/-\d+=[^;]+/, '-PORT=…')
  expect(attributes(await signIn(host, RIGHT))).toBe('administration-PORT=…; path=/admin/; samesite=lax; httponly')
  const proxied = await signIn(host, RIGHT, { ...FORM, 'x-forwarded-proto': 'https' })
  expect(attributes(proxied)).toBe('__Secure-administration-PORT=…; path=/admin/; samesite=lax; secure; httponly')
})

test('cookie: a cookie set by a page on another port does not hide the session', async () => {
  const { cookie } = await signInToAdmin(host)
  const [name] = cookie.split('=')
  const sent = `${name}=${'A'.repeat(43)}; ${name}=short; ${cookie}`
  expect((await ask(`${host.adminUrl}/admin/`, { headers: { ...NAVIGATION, cookie: sent } })).status).toBe(200)
})

test('cookie: its value is not in any of the platform’s files', async () => {
  const cookie = await adminCookie(host)
  const value = cookie.split('=')[1] ?? ''
  const files = readdirSync(host.home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  expect(files.length).toBeGreaterThan(1)
  const holding = files.filter((file) => readFileSync(join(file.parentPath, file.name)).includes(value))
  expect([value.length, holding.map(({ name }) => name)]).toEqual([43, []])
  expect(host.logged()).not.toContain(value)
})

test.each([
  ['//evil.example'],
  ['//evil.example/admin/'],
  ['https://evil.example/admin/'],
  ['http:evil'],
  ['/\\evil.example/admin/'],
  ['\\\\evil.example/admin/'],
  ['\t//evil.example/admin/'],
  ['/admin/../..//evil.example/admin/'],
  ['/admin/%2e%2e//evil.example/'],
  ['javascript:alert(1)'],
  ['/solution/crm/index.html'],
  ['/admin/sign-out'],
  ['/admin/./sign-out'],
  ['/admin/sign-in?to=/admin/sign-in'],
  [''],
])('the query parameter `to`: the sign-in ignores %j and redirects to the first page', async (to) => {
  const answer = await signIn(host, { ...RIGHT, to })
  expect([answer.status, answer.headers.location]).toEqual([303, '/admin/'])
})

test('the query parameter `to`: line breaks in the value cannot create a header', async () => {
  const answer = await signIn(host, { ...RIGHT, to: '/admin/\r\nset-cookie: a=b' })
  expect([answer.status, answer.headers.location]).toEqual([303, '/admin/set-cookie:%20a=b'])
  expect(answer.headers['set-cookie']).toHaveLength(1)
})

test('sign-in: the response to a tool that sends neither Origin nor Sec-Fetch-Site refers to the API', async () => {
  const answer = await signIn(host, RIGHT, { 'content-type': 'application/x-www-form-urlencoded' })
  expect(answer.headers['set-cookie']).toBeUndefined()
  expect(answer.json()).toMatchObject({
    status: 403,
    code: 'ERR_FOREIGN_ORIGIN',
    detail:
      'The request has no Origin header, which browsers always send. From other programs, use /admin/api with an Authorization header.',
  })
})

test.each([
  ['another site', { 'sec-fetch-site': 'cross-site' }],
  ['a solution on another port of the host', { 'sec-fetch-site': 'same-site' }],
])('sign-in: a form from %s is rejected', async (_from, headers) => {
  const answer = await signIn(host, RIGHT, { ...FORM, ...headers })
  expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined])
})

test('sign-in: a form from a foreign Origin is rejected, one from our own origin is accepted', async () => {
  const without = { 'content-type': 'application/x-www-form-urlencoded' }
  expect((await signIn(host, RIGHT, { ...without, origin: 'https://evil.example' })).status).toBe(403)
  expect((await signIn(host, RIGHT, { ...without, origin: 'null' })).status).toBe(403)
  expect((await signIn(host, RIGHT, { ...without, origin: host.adminUrl })).status).toBe(303)
})

test('pages: they cannot be fetched or framed, with or without a session', async () => {
  const cookie = await adminCookie(host)
  for (const path of ['/admin/', '/admin/users', '/admin/sign-in']) {
    for (const destination of ['iframe', 'empty', 'image']) {
      const headers = { ...NAVIGATION, cookie, 'sec-fetch-dest': destination }
      expect([path, destination, (await ask(`${host.adminUrl}${path}`, { headers })).status]).toEqual([
        path,
        destination,
        403,
      ])
    }
  }
})
