import { afterAll, beforeAll, expect, test } from 'vitest'
import { NAVIGATION, signInToAdmin } from '../support/admin.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { addAuthenticatorSolution, addDefaultSolution, addUser, askAdmin, visit } from '../support/users.ts'

const MARKUP = '<script>alert(1)</script>'
const ESCAPED = '&lt;script&gt;alert(1)&lt;/script&gt;'
const AUTHENTICATOR = `function onSolutionOpen(arg, parameters) { security.login(parameters.username, 'u1', ['Users']) }`

let host: TestHost
let admin: Awaited<ReturnType<typeof signInToAdmin>>
let uid: string
beforeAll(async () => {
  host = await startTestHost({ PLATFORM_KEY: 'a platform key of many characters', HTTP_ALLOWED_HOSTS: '127.0.0.1:9' })
  await addDefaultSolution(host, 'crm', { title: MARKUP, permissions: ['Users', MARKUP] })
  await addAuthenticatorSolution(host, 'shop', AUTHENTICATOR)
  uid = await addUser(host, MARKUP, { displayName: MARKUP, permissions: ['Users', MARKUP] })
  await (await visit(host, 'crm')).signIn(MARKUP)
  const caller = { scopes: ['solutions:crm:call'], permissions: [MARKUP], tenant: [MARKUP] }
  await askAdmin(host, 'POST', 'tokens', { name: MARKUP, ...caller })
  admin = await signInToAdmin(host)
})
afterAll(() => host.stop())

const PAGES = [
  '/admin/users',
  '/admin/users/new',
  '/admin/users/import',
  '/admin/users/some-uid',
  '/admin/sessions',
  '/admin/tokens',
  '/admin/tokens/new',
  '/admin/audit',
  '/admin/health',
  '/admin/maintenance',
  '/admin/settings',
]

test.each(PAGES)(
  '%s redirects to the sign-in page without a session, and is not available on the main port',
  async (path) => {
    const answer = await ask(`${host.adminUrl}${path}`, { headers: NAVIGATION })
    expect([answer.status, answer.headers.location]).toEqual([302, `/admin/sign-in?to=${encodeURIComponent(path)}`])
    expect((await ask(`${host.url}${path}`, { headers: { ...NAVIGATION, cookie: admin.cookie } })).status).toBe(404)
  },
)

test.each([
  ['/admin/users', 3],
  ['/admin/users/new', 1],
  ['/admin/users/{uid}', 5],
  ['/admin/sessions', 2],
  ['/admin/tokens', 5],
  ['/admin/audit', 1],
  [`/admin/users?search=${encodeURIComponent('"><script>')}`, 0],
  [`/admin/sessions?username=${encodeURIComponent(`"><script>`)}`, 0],
  [`/admin/sessions?solution=${encodeURIComponent(`"><script>`)}`, 0],
  [`/admin/audit?actor=${encodeURIComponent(`"><script>`)}&solution=${encodeURIComponent(`"><script>`)}`, 0],
  [`/admin/settings?search=${encodeURIComponent(`"><script>`)}`, 0],
])('%s: HTML markup in names is escaped', async (path, least) => {
  const { status, text } = await admin.get(path.replace('{uid}', uid))
  expect(status).toBe(200)
  expect(text.match(/<script(?! nonce=)/g)).toBeNull()
  expect(text.split(ESCAPED).length - 1).toBeGreaterThanOrEqual(least)
})

test('an unknown user returns 404 with an error page', async () => {
  const { status, headers } = await admin.get('/admin/users/some-uid')
  expect([status, headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
})

test('users: each page shows 50 users, and links to the next and first page that keep the search', async () => {
  const lines = Array.from({ length: 120 }, (_, at) => `many${String(at).padStart(3, '0')}`)
  const body = `username\n${lines.join('\n')}\n`
  const headers = { authorization: host.admin, 'content-type': 'text/csv' }
  expect((await ask(`${host.url}/admin/api/users.csv`, { method: 'POST', headers, body })).status).toBe(200)
  const seen: string[] = []
  let path: string | null = '/admin/users?search=many'
  while (path !== null) {
    const { text } = await admin.get(path)
    seen.push(...[...text.matchAll(/<bdi>(many\d+)<\/bdi>/g)].map(([, name]) => name ?? ''))
    path = /<a class="button button-quiet" href="([^"]+)">Next page/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? null
    expect(text.includes('href="/admin/users?search=many">Back to the first page')).toBe(seen.length > 50)
  }
  expect(seen).toEqual(lines)
})

test('sessions and audit log: links to more entries keep the filter', async () => {
  for (let at = 0; at < 101; at++) expect((await (await visit(host, 'shop')).signIn(`u${at}`)).status).toBe(303)
  const sessions = await admin.get('/admin/sessions?solution=shop')
  expect(sessions.text.split('<tr role="row">').length - 2).toBe(100)
  const next = /href="(\/admin\/sessions\?solution=shop&amp;after=[^"]+)">Next page/.exec(sessions.text)?.[1] ?? ''
  expect((await admin.get(next.replaceAll('&amp;', '&'))).text.split('<tr role="row">').length - 2).toBe(1)
  const audit = await admin.get('/admin/audit?solution=shop&action=sign-in')
  const older = /href="(\/admin\/audit\?[^"]*before=\d+)">Older entries/.exec(audit.text)?.[1] ?? ''
  expect(older).toContain('action=sign-in')
  expect(older).toContain('solution=shop')
  expect((await admin.get(older.replaceAll('&amp;', '&'))).text.split('<tr role="row">').length - 2).toBe(1)
})

test('audit log: a time filter without a zone is UTC, and includes the whole minute', async () => {
  const { text } = await admin.get('/admin/audit?from=2026-01-02T03:04&to=2026-01-02T03:05')
  const [from, to] = [Date.UTC(2026, 0, 2, 3, 4), Date.UTC(2026, 0, 2, 3, 5, 59, 999)]
  expect(text).toContain(`href="/admin/api/audit.csv?from=${from}&amp;to=${to}"`)
  expect(text).toContain('name="from" value="2026-01-02T03:04"')
})

test('unknown or invalid query parameters are ignored', async () => {
  for (const path of ['/admin/audit?from=x&before=y', '/admin/users?after=&search=', '/admin/health?range=year']) {
    expect([path, (await admin.get(path)).status]).toEqual([path, 200])
  }
})

test('settings: secrets are only shown as set; their values do not appear on the page', async () => {
  const { text } = await admin.get('/admin/settings')
  expect(text).not.toContain('a platform key of many characters')
  expect(text).not.toContain('test admin password')
  expect(text).toContain('127.0.0.1:9')
})

test('settings: links at the top open the groups, and a search shows only groups with matches', async () => {
  const groupsOf = (text: string) => [...text.matchAll(/<h2 id="(\w+)" class="section-title">([^<]+)</g)]
  const { text } = await admin.get('/admin/settings')
  const groups = groupsOf(text).map(([, id, title]) => [id, title])
  expect([groups.length, groups[0]]).toEqual([13, ['addresses', 'Addresses']])
  for (const [id, title] of groups) expect(text).toContain(`<a href="#${id}">${title}</a>`)
  expect(text.indexOf('>PORT</code>')).toBeLessThan(text.indexOf('>HOST</code>'))
  const shownIn = (html: string) => html.replace(/<section [^>]*hidden>.*?<\/section>/gs, '')
  const searched = await admin.get('/admin/settings?search=Sandbox+Process')
  expect(groupsOf(shownIn(searched.text)).map(([, id]) => id)).toEqual(['host', 'scripts', 'bundles'])
  // The HTML contains all groups. When the search changes, the page's script can show the hidden ones.
  expect(groupsOf(searched.text).length).toBe(13)
  const { items } = await askAdmin(host, 'GET', 'settings')
  expect(text).toContain(`Settings: ${(items as unknown[]).length}`)
})

test('health: the page’s refresh request requires a session and works only for fetch', async () => {
  const headers = { 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin', cookie: admin.cookie }
  const path = `${host.adminUrl}/admin/health.json?range=day`
  const fresh = await ask(path, { headers })
  expect([fresh.status, fresh.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  const { html } = fresh.json() as { html: string }
  expect(html).toContain('<h2 id="charts">History</h2>')
  expect(html).not.toContain('<html')
  expect((await ask(path, { headers: { ...headers, cookie: '' } })).status).toBe(401)
  expect((await ask(path, { headers: { ...headers, 'sec-fetch-dest': 'iframe' } })).status).toBe(403)
})
