import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { signInToAdmin } from '../support/admin.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { type Answer, ask, createVisitor } from '../support/http.ts'
import { bundleOf } from '../support/zip.ts'

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
  await host.upload('tenant-login', await packFolder(exampleFolder('tenant-login')))
  const asking = {
    name: 'crm',
    authenticator: 'NONE',
    databases: { crm: { server: 'alpha' } },
    http: ['api.example.org'],
    permissions: ['Users'],
  }
  await host.upload('crm', await bundleOf(asking))
})
afterAll(() => host.stop())

const PAGE = '/solution/tenant-login/index.html'
const ANNA = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }

function send(method: string, path: string, body?: unknown, authorization = host.admin): Promise<Answer> {
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  return ask(`${host.url}/admin/api${path}`, {
    method,
    headers: { authorization, ...type },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
}

const codeOf = (answer: Answer) => [answer.status, (answer.json() as { code: string }).code]
const detailOf = (answer: Answer) => (answer.json() as { detail: string }).detail

async function makeToken(scopes: readonly string[], extra: object = {}) {
  const made = await send('POST', '/tokens', { name: 'test', scopes, ...extra })
  const { id, token } = made.json() as { id: string; token: string }
  return { id, token, bearer: `Bearer ${token}` }
}

async function audited(query: string): Promise<Record<string, unknown>[]> {
  return ((await send('GET', `/audit?${query}`)).json() as { items: Record<string, unknown>[] }).items
}

async function signIn() {
  const visitor = createVisitor(host.url)
  await visitor.get(PAGE)
  expect((await visitor.post(PAGE, ANNA)).status).toBe(303)
  return visitor
}

// --- tokens ----------------------------------------------------------------------------------------------------------

test('tokens: POST creates one with 201, the list omits the token itself, and DELETE returns 204', async () => {
  const expiresAt = Date.now() + 60_000
  const made = await send('POST', '/tokens', { name: 'ci', scopes: ['solutions:crm:write'], expiresAt })
  const { token, ...shown } = made.json() as { id: string; token: string }
  expect([made.status, made.headers.location]).toEqual([201, `/admin/api/tokens/${shown.id}`])
  const ofCalls = { permissions: [], tenant: null }
  expect(shown).toEqual({ id: shown.id, name: 'ci', scopes: ['solutions:crm:write'], expiresAt, ...ofCalls })
  const { items } = (await send('GET', '/tokens')).json() as { items: { id: string }[] }
  expect(items.find(({ id }) => id === shown.id)).toEqual(shown)
  expect((await send('DELETE', `/tokens/${shown.id}`)).status).toBe(204)
  expect(codeOf(await send('DELETE', `/tokens/${shown.id}`))).toEqual([404, 'ERR_NOT_FOUND'])
  expect((await send('GET', '/solutions/crm', undefined, `Bearer ${token}`)).status).toBe(401)
})

test('tokens: a token without an expiry never expires, and duplicate scopes are merged', async () => {
  const made = await send('POST', '/tokens', { name: 'x', scopes: ['users:read', 'users:read'] })
  expect(made.json()).toMatchObject({ scopes: ['users:read'], expiresAt: null })
})

test.each([
  ['an unknown scope', { name: 'a', scopes: ['tokens:write'] }, '{area}:read or {area}:write'],
  ['no scope', { name: 'a', scopes: [] }, 'scopes'],
  ['an expiry in the past', { name: 'a', scopes: ['users:read'], expiresAt: 1000 }, 'must be a future time'],
  ['a name with a line break', { name: 'a\r\nb', scopes: ['users:read'] }, 'must not contain control characters'],
  ['no name', { scopes: ['users:read'] }, 'name'],
  ['an unknown key', { name: 'a', scopes: ['users:read'], admin: true }, 'admin'],
])('tokens: %s is rejected with the reason', async (_case, body, reason) => {
  const answer = await send('POST', '/tokens', body)
  expect(codeOf(answer)).toEqual([422, 'ERR_REQUEST_INVALID'])
  expect(detailOf(answer)).toContain(reason)
})

test('an expired token is rejected', async () => {
  const { bearer } = await makeToken(['audit:read'], { expiresAt: Date.now() + 400 })
  expect((await send('GET', '/audit', undefined, bearer)).status).toBe(200)
  await expect.poll(async () => (await send('GET', '/audit', undefined, bearer)).status).toBe(401)
})

const GRANTS = { databases: {}, http: [], users: false }
const SECRET = { value: 'v', hosts: ['a.org'] }
const TOKEN_FOR = { username: 'a', uid: 'a', permissions: ['Users'] }
test.each([
  ['GET', '/solutions', 'solutions:*:read', undefined],
  ['GET', '/solutions/crm', 'solutions:crm:read', undefined],
  ['GET', '/solutions/crm/log', 'solutions:crm:read', undefined],
  ['GET', '/solutions/crm/grants', 'solutions:crm:read', undefined],
  ['GET', '/solutions/crm/secrets', 'solutions:crm:read', undefined],
  ['PUT', '/solutions/crm/secrets/A', 'solutions:crm:write', SECRET],
  ['DELETE', '/solutions/crm/secrets/A', 'solutions:crm:write', undefined],
  ['POST', '/solutions/crm/login-tokens', 'solutions:crm:write', TOKEN_FOR],
  ['GET', '/sessions', 'sessions:read', undefined],
  ['DELETE', '/sessions/none', 'sessions:write', undefined],
  ['GET', '/audit', 'audit:read', undefined],
  ['GET', '/maintenance', 'maintenance:read', undefined],
  ['PUT', '/maintenance', 'maintenance:write', { on: false }],
])('scopes: %s %s requires %s', async (method, path, scope, body) => {
  const all = ['solutions:other:write', 'users:write', 'sessions:write', 'audit:write', 'maintenance:write']
  const subject = scope.split(':')[0] as string
  const others = all.filter((one) => one.startsWith('solutions:other') || !one.startsWith(`${subject}:`))
  if (scope.endsWith(':write')) others.push(scope.replace(/write$/, 'read'))
  const refused = await send(method, path, body, (await makeToken(others)).bearer)
  expect(codeOf(refused)).toEqual([403, 'ERR_FORBIDDEN'])
  expect(detailOf(refused)).toContain(scope)
  const allowed = await send(method, path, body, (await makeToken([scope])).bearer)
  expect([200, 201, 204, 404]).toContain(allowed.status)
  const wider = await makeToken([scope.replace(/^solutions:crm/, 'solutions:*').replace(/read$/, 'write')])
  expect([200, 201, 204, 404]).toContain((await send(method, path, body, wider.bearer)).status)
})

test.each([
  ['GET', '/tokens', undefined],
  ['POST', '/tokens', { name: 'a', scopes: ['users:read'] }],
  ['DELETE', '/tokens/none', undefined],
  ['PUT', '/solutions/crm/grants', GRANTS],
])('scopes: %s %s requires the admin account; a token with all scopes is rejected', async (method, path, body) => {
  const scopes = ['solutions:*:write', 'users:write', 'sessions:write', 'audit:write', 'maintenance:write']
  const answer = await send(method, path, body, (await makeToken(scopes)).bearer)
  expect(codeOf(answer)).toEqual([403, 'ERR_FORBIDDEN'])
})

test('wrong tokens are throttled like wrong passwords; a valid token and a cached password still work', async () => {
  const own = await startTestHost({ ADMIN_FAILURES: '3' })
  const get = (authorization: string) => ask(`${own.url}/admin/api/audit`, { headers: { authorization } })
  const made = await ask(`${own.url}/admin/api/tokens`, {
    method: 'POST',
    headers: { authorization: own.admin, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'a', scopes: ['audit:read'] }),
  })
  const { token } = made.json() as { token: string }
  const wrong = `Bearer sol_${'A'.repeat(43)}`
  const statuses: number[] = []
  for (let attempt = 0; attempt < 5; attempt++) statuses.push((await get(wrong)).status)
  expect(statuses).toEqual([401, 401, 401, 429, 429])
  expect(Number((await get(wrong)).headers['retry-after'])).toBeGreaterThan(0)
  expect((await get(`Basic ${Buffer.from('admin:wrong').toString('base64')}`)).status).toBe(429)
  expect((await get(`bearer ${token}`)).status).toBe(200)
  expect((await get(own.admin)).status).toBe(200)
  await own.stop()
})

test('audit log: successful API sign-ins are recorded once, rejected ones each time, and throttled ones once', async () => {
  const own = await startTestHost({ ADMIN_FAILURES: '2' })
  const get = (authorization: string) =>
    ask(`${own.url}/admin/api/audit?action=admin-sign-in`, { headers: { authorization } })
  const wrong = `Basic ${Buffer.from('typed-password-here:wrong').toString('base64')}`
  for (const authorization of [own.admin, own.admin, wrong, wrong, wrong, wrong]) await get(authorization)
  const { items } = (await get(own.admin)).json() as { items: { actor: string; outcome: string; address: string }[] }
  expect(items.map(({ actor, outcome }) => `${actor} ${outcome}`)).toEqual([
    'admin throttled',
    'admin refused',
    'admin refused',
    'admin ok',
  ])
  expect(items[0]?.address).toBe('127.0.0.1')
  expect(JSON.stringify(items)).not.toContain('typed-password-here')
  await own.stop()
})

test('audit log: the first use of a token is recorded once, and its actions are recorded under its name', async () => {
  const { id, bearer } = await makeToken(['solutions:crm:write'])
  for (let n = 0; n < 3; n++) await send('PUT', '/solutions/crm/secrets/AUDITED', SECRET, bearer)
  const entries = (await audited(`actor=token:${id}`)).map(({ action, outcome }) => `${action} ${outcome}`)
  expect(entries.sort()).toEqual(['admin-sign-in ok', ...Array<string>(3).fill('solution-secret ok')])
})

test('a token that a browser page sends in a header works; a token in a cookie does not', async () => {
  const { bearer, token } = await makeToken(['audit:read'])
  const url = `${host.url}/admin/api/audit`
  const page = await ask(url, { headers: { authorization: bearer, 'sec-fetch-site': 'same-origin' } })
  expect(page.status).toBe(200)
  expect((await ask(url, { headers: { cookie: `token=${token}` } })).status).toBe(401)
})

// --- grants ----------------------------------------------------------------------------------------------------------

test('grants: a solution has no grants until they are set; GET returns them without passwords', async () => {
  expect((await send('GET', '/solutions/crm/grants')).json()).toEqual(GRANTS)
  const crm = { server: 'alpha', database: 'crm', username: 'crm' }
  const wanted = { databases: { crm: { ...crm, password: 'db-pass' } }, http: ['API.example.org'], users: true }
  const shown = { databases: { crm: { ...crm, hasPassword: true } }, http: ['api.example.org'], users: true }
  const put = await send('PUT', '/solutions/crm/grants', wanted)
  expect([put.status, put.json()]).toEqual([200, { ...shown, warnings: [] }])
  expect((await send('GET', '/solutions/crm/grants')).json()).toEqual(shown)
})

test('grants: the GET response can be sent back with PUT, and the password is kept', async () => {
  const crm = { server: 'alpha', database: 'crm', username: 'crm', password: 'db-pass' }
  await send('PUT', '/solutions/crm/grants', { ...GRANTS, databases: { crm } })
  const got = (await send('GET', '/solutions/crm/grants')).json()
  expect((await send('PUT', '/solutions/crm/grants', got)).json()).toEqual({ ...(got as object), warnings: [] })
})

test('grants: unrequested grants and a shared database account cause warnings, but still apply', async () => {
  const databases = { other: { server: 'gamma', database: 'x' } }
  const put = await send('PUT', '/solutions/crm/grants', { databases, http: ['b.org'] })
  const { warnings } = put.json() as { warnings: { code: string }[] }
  expect(warnings.map(({ code }) => code)).toEqual(['not_asked_for', 'shared_account', 'not_asked_for'])
  expect((await send('GET', '/solutions/crm/grants')).json()).toMatchObject({ http: ['b.org'], users: false })
})

const database = (extra: object) => ({ databases: { crm: { server: 'alpha', database: 'crm', ...extra } } })
test.each([
  ['an unknown server', database({ server: 'delta' })],
  ['the embedded server', database({ server: 'embedded' })],
  ['a database name with a semicolon', database({ database: 'crm;x' })],
  ['a database name with a line break', database({ database: 'crm\nx' })],
  ['a username with a line break', database({ username: 'a\r\nb' })],
  ['a password without a username', database({ password: 'secret-in-error' })],
  ['a password that is not a string', database({ username: 'a', password: 12345 })],
  ['a name that is not an identifier', { databases: { 'a-b': { server: 'alpha', database: 'a' } } }],
  ['the name of a property that every object has', { databases: { constructor: { server: 'alpha', database: 'a' } } }],
  ['a URL as host', { http: ['https://a.org/'] }],
  ['a pattern as host', { http: ['*.a.org'] }],
  ['a host with a line break', { http: ['a.org\r\nX: y'] }],
  ['a non-boolean value for users', { users: 'yes' }],
  ['an unknown key', { hosts: [] }],
  ['a list', []],
])('grants: %s is rejected', async (_case, body) => {
  const answer = await send('PUT', '/solutions/crm/grants', body)
  expect(codeOf(answer)).toEqual([422, 'ERR_REQUEST_INVALID'])
  expect(answer.text).not.toMatch(/secret-in-error|12345/)
})

test('grants: an unknown solution returns 404, invalid JSON 400, another content type 415', async () => {
  expect(codeOf(await send('GET', '/solutions/nobody/grants'))).toEqual([404, 'ERR_SOLUTION_NOT_FOUND'])
  expect(codeOf(await send('PUT', '/solutions/nobody/grants', GRANTS))).toEqual([404, 'ERR_SOLUTION_NOT_FOUND'])
  expect(codeOf(await send('PUT', '/solutions/crm/grants', 'no json'))).toEqual([400, 'ERR_BAD_REQUEST'])
  const text = await ask(`${host.url}/admin/api/solutions/crm/grants`, {
    method: 'PUT',
    headers: { authorization: host.admin, 'content-type': 'text/plain' },
    body: '{}',
  })
  expect(text.status).toBe(415)
})

// --- secrets ---------------------------------------------------------------------------------------------------------

test('secrets: setting and deleting one returns 204, and the list shows only names and hosts', async () => {
  const put = await send('PUT', '/solutions/crm/secrets/IDP', { value: 'top', hosts: ['IDP.org', '10.0.0.1:8443'] })
  expect([put.status, put.text]).toEqual([204, ''])
  const list = await send('GET', '/solutions/crm/secrets')
  expect((list.json() as { items: object[] }).items).toContainEqual({
    name: 'IDP',
    hosts: ['idp.org', '10.0.0.1:8443'],
  })
  expect((await send('DELETE', '/solutions/crm/secrets/IDP')).status).toBe(204)
  expect(codeOf(await send('DELETE', '/solutions/crm/secrets/IDP'))).toEqual([404, 'ERR_NOT_FOUND'])
})

test.each([
  ['a lowercase name', 'idp', SECRET],
  ['a name with a line break', 'IDP%0d%0aX', SECRET],
  ['a name that is too long', 'A'.repeat(65), SECRET],
  ['no list of hosts', 'IDP', { value: 'hidden-value' }],
  ['a URL as host', 'IDP', { value: 'hidden-value', hosts: ['https://a.org'] }],
  ['an empty value', 'IDP', { value: '', hosts: ['a.org'] }],
  ['a value that is not a string', 'IDP', { value: 987654, hosts: ['a.org'] }],
  ['an unknown key', 'IDP', { ...SECRET, more: 1 }],
])('secrets: %s is rejected, and the error does not show the value', async (_case, name, body) => {
  const answer = await send('PUT', `/solutions/crm/secrets/${name}`, body)
  expect(codeOf(answer)).toEqual([422, 'ERR_REQUEST_INVALID'])
  expect(answer.text).not.toMatch(/hidden-value|987654/)
})

test('secrets: an unknown solution returns 404', async () => {
  expect((await send('GET', '/solutions/nobody/secrets')).status).toBe(404)
  expect((await send('PUT', '/solutions/nobody/secrets/A', SECRET)).status).toBe(404)
  expect((await send('DELETE', '/solutions/nobody/secrets/A')).status).toBe(404)
})

// --- login tokens ----------------------------------------------------------------------------------------------------

test('login tokens: 201 returns a token and its expiry', async () => {
  const before = Date.now()
  const made = await send('POST', '/solutions/crm/login-tokens', { ...TOKEN_FOR, expiresIn: 60_000 })
  const { token, expiresAt } = made.json() as { token: string; expiresAt: number }
  expect([made.status, Object.keys(made.json() as object)]).toEqual([201, ['token', 'expiresAt']])
  expect(token).toMatch(/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/)
  expect(expiresAt).toBeGreaterThanOrEqual(before + 60_000)
  expect(expiresAt).toBeLessThanOrEqual(Date.now() + 60_000)
})

test.each([
  ['no permission', { permissions: [] }, 'permissions'],
  ['a permission that no manifest lists', { permissions: ['Root'] }, 'lists the permission "Root"'],
  ['an empty username', { username: '' }, 'username'],
  ['a username with a line break', { username: 'a\r\nb' }, 'must not contain control characters'],
  ['a uid that reverses the text direction', { uid: 'a\u202eb' }, 'direction'],
  ['a uid of 201 characters', { uid: 'a'.repeat(201) }, 'uid'],
  ['a lifetime that exceeds a day', { expiresIn: 86_400_001 }, 'expiresIn'],
  ['an expiry in seconds instead of milliseconds', { expiresIn: 300 }, 'expiresIn'],
])('login tokens: %s is rejected with the reason', async (_case, change, reason) => {
  const answer = await send('POST', '/solutions/crm/login-tokens', { ...TOKEN_FOR, ...change })
  expect(codeOf(answer)).toEqual([422, 'ERR_REQUEST_INVALID'])
  expect(detailOf(answer)).toContain(reason)
})

test('login tokens: a token signs its user in on the login page, once', async () => {
  const made = await send('POST', '/solutions/tenant-login/login-tokens', {
    username: 'carla',
    uid: 'c-1',
    permissions: ['Users'],
  })
  const { token } = made.json() as { token: string }
  const fields = { username: '', password: '', id_token: token }
  const [first, second] = [createVisitor(host.url), createVisitor(host.url)]
  for (const visitor of [first, second]) await visitor.get(PAGE)
  expect((await first.post(PAGE, fields)).status).toBe(303)
  const session = (await first.get('/solution/tenant-login/session')).json()
  expect(session).toMatchObject({ username: 'carla', uid: 'c-1', permissions: ['Users'] })
  expect((await second.post(PAGE, fields)).status).toBe(401)
  await first.post('/solution/tenant-login/logout', {}, { headers: { 'sec-fetch-site': 'same-origin' } })
})

test('login tokens: an unknown solution returns 404', async () => {
  expect((await send('POST', '/solutions/nobody/login-tokens', TOKEN_FOR)).status).toBe(404)
})

// --- sessions --------------------------------------------------------------------------------------------------------

test('sessions: the list is paged and can be filtered by solution and uid, and a session can be ended by its public id', async () => {
  const visitors = [await signIn(), await signIn(), await signIn()]
  type List = { items: { id: string; uid: string }[]; next?: string }
  const list = async (query: string) => (await send('GET', `/sessions?${query}`)).json() as List
  const { items } = await list('solution=tenant-login')
  expect(items).toHaveLength(3)
  expect(items[0]).toEqual({
    id: expect.any(String),
    solution: 'tenant-login',
    uid: expect.any(String),
    username: 'anna',
    createdAt: expect.any(Number),
    lastSeenAt: expect.any(Number),
    address: '127.0.0.1',
    agent: null,
  })
  const uid = items[0]?.uid as string
  expect((await list(`uid=${uid}`)).items).toEqual(items)
  expect([(await list('uid=nobody')).items, (await list('solution=crm')).items]).toEqual([[], []])
  const first = await list('limit=2')
  const second = await list(`limit=2&after=${first.next}`)
  expect([...first.items, ...second.items]).toEqual(items)
  expect(second.next).toBeUndefined()
  const cookies = visitors.flatMap(({ cookies }) => [...cookies.values()].map(({ value }) => value))
  expect(cookies.some((cookie) => JSON.stringify(items).includes(cookie))).toBe(false)

  expect((await send('DELETE', `/sessions/${items[0]?.id}`)).status).toBe(204)
  expect(codeOf(await send('DELETE', `/sessions/${items[0]?.id}`))).toEqual([404, 'ERR_NOT_FOUND'])
  const statuses = await Promise.all(visitors.map((one) => one.get('/solution/tenant-login/session')))
  expect(statuses.map(({ status }) => status).sort()).toEqual([200, 200, 401])
  expect((await audited('action=session-end'))[0]).toMatchObject({ actor: 'admin', outcome: 'ERR_NOT_FOUND' })
  expect(codeOf(await send('GET', '/sessions?limit=0'))).toEqual([422, 'ERR_REQUEST_INVALID'])
})

// --- audit log -------------------------------------------------------------------------------------------------------

test('audit log: entries are listed in pages, newest first, and can be filtered', async () => {
  for (let n = 0; n < 3; n++) await send('PUT', '/maintenance', { on: false })
  const page = (await send('GET', '/audit?action=maintenance&limit=2')).json() as { items: object[]; next: string }
  expect(page.items).toEqual(
    Array<object>(2).fill({
      time: expect.any(Number),
      actor: 'admin',
      action: 'maintenance',
      target: 'off',
      outcome: 'ok',
      address: '127.0.0.1',
      correlationId: expect.any(String),
    }),
  )
  const older = (await send('GET', `/audit?action=maintenance&before=${page.next}`)).json() as { items: object[] }
  expect(older.items.length).toBeGreaterThan(0)
  expect((await audited('solution=tenant-login')).every(({ solution }) => solution === 'tenant-login')).toBe(true)
  expect(await audited('actor=nobody')).toEqual([])
  for (const query of ['limit=1001', 'before=x', 'other=1']) {
    expect([query, (await send('GET', `/audit?${query}`)).status]).toEqual([query, 422])
  }
})

test('audit log: CR and LF in a name from the URL do not start a new line', async () => {
  await send('PUT', '/solutions/a%0d%0aadmin%20did%20it/grants', GRANTS)
  const [entry] = await audited('action=solution-grants')
  expect(entry).toMatchObject({ solution: 'a\u{fffd}\u{fffd}admin did it', outcome: 'ERR_SOLUTION_NOT_FOUND' })
  expect(host.logged()).not.toMatch(/^admin did it/m)
})

// --- maintenance -----------------------------------------------------------------------------------------------------

test('maintenance: new sign-ins are blocked; signed-in users, the API and health probes keep working', async () => {
  const visitor = await signIn()
  expect((await send('GET', '/maintenance')).json()).toEqual({ on: false })
  const waiting = createVisitor(host.url)
  await waiting.get(PAGE)
  const on = await send('PUT', '/maintenance', { on: true })
  expect([on.status, on.json()]).toEqual([200, { on: true }])
  try {
    expect((await send('GET', '/maintenance')).json()).toEqual({ on: true })
    for (const path of ['/', PAGE, '/solution/crm/index.html']) {
      const page = await createVisitor(host.url).get(path, { 'accept-language': 'nl' })
      expect([path, page.status, page.headers['retry-after']]).toEqual([path, 503, '60'])
      expect(page.text).toContain('lang="nl"')
    }
    expect((await waiting.post(PAGE, ANNA)).status).toBe(503)
    const asked = await ask(`${host.url}${PAGE}`, { headers: { accept: 'application/json' } })
    expect(codeOf(asked)).toEqual([503, 'ERR_MAINTENANCE'])
    expect((await visitor.get(PAGE)).status).toBe(200)
    expect((await visitor.get('/solution/tenant-login/session')).status).toBe(200)
    expect((await ask(`${host.url}/health/ready`)).status).toBe(200)
    expect((await (await signInToAdmin(host)).get('/admin/')).status).toBe(200)
  } finally {
    await send('PUT', '/maintenance', { on: false })
  }
  expect((await createVisitor(host.url).get(PAGE)).status).toBe(200)
  expect(host.logged()).not.toContain('ERR_MAINTENANCE')
})

test('maintenance: any value except a boolean is rejected', async () => {
  for (const body of [{}, { on: 'yes' }, { on: true, more: 1 }]) {
    expect(codeOf(await send('PUT', '/maintenance', body))).toEqual([422, 'ERR_REQUEST_INVALID'])
  }
})

// --- operators' secrets ----------------------------------------------------------------------------------------------

test('no password, secret or token appears in the database files, the log, the audit log or a list', async () => {
  const own = ['granted-pass-zq81', 'secret-value-zq82']
  const crm = { server: 'alpha', database: 'crm', username: 'crm', password: own[0] }
  await send('PUT', '/solutions/crm/grants', { ...GRANTS, databases: { crm } })
  await send('PUT', '/solutions/crm/secrets/HIDDEN', { value: own[1], hosts: ['a.org'] })
  const api = await makeToken(['audit:read'])
  await send('GET', '/audit', undefined, api.bearer)
  const login = (await send('POST', '/solutions/crm/login-tokens', TOKEN_FOR)).json() as { token: string }
  const hidden = [...own, api.token, login.token, login.token.split('.')[1] as string]
  const lists = [
    '/audit?limit=1000',
    '/tokens',
    '/solutions/crm/grants',
    '/solutions/crm/secrets',
    '/solutions/crm/log',
  ]
  const shown = await Promise.all(lists.map(async (path) => (await send('GET', path)).text))
  const files = readdirSync(host.home).filter((name) => name.startsWith('platform.sqlite'))
  const kept = files.map((name) => readFileSync(join(host.home, name), 'latin1'))
  expect(kept.join('').includes('solution-secret')).toBe(true)
  for (const text of [...shown, ...kept, host.logged()]) {
    expect(hidden.filter((secret) => text.includes(secret))).toEqual([])
  }
})

test('an unsupported method returns 405 with the allowed methods', async () => {
  const answer = await send('PATCH', '/maintenance')
  expect([answer.status, answer.headers.allow]).toEqual([405, 'HEAD, GET, PUT'])
})
