import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { openOnce } from '../support/client-page.ts'
import { hasCommand } from '../support/commands.ts'
import { startTestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { sharedHost } from '../support/shared-host.ts'
import { zipOf } from '../support/zip.ts'

const run = promisify(execFile)
let host: Awaited<ReturnType<typeof sharedHost>>
beforeAll(async () => {
  host = await sharedHost()
  const uploaded = await host.upload('tenant-login', await packFolder(exampleFolder('tenant-login')))
  expect(await uploaded.json()).toMatchObject({ active: true, warnings: [] })
  const main = "function onSolutionOpen(arg, q) { if (q.out) security.logout(q.out, 'from here') }"
  const others = [
    ['other', ACCEPTS_ALL, ''],
    ['leaves', LEAVES, ''],
    ['outs', LEAVES.replace('application.showURL(arg)', ''), main],
  ] as const
  for (const [name, script, globals] of others) {
    expect((await host.upload(name, await renamed(name, script, globals))).status).toBe(201)
  }
})

const PAGE = '/solution/tenant-login/index.html'
const ANNA = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }
const BRAM = { username: 'bram', password: 'bram-tries-van-dijk', custom_tenant: 'van-dijk' }

async function signedIn(fields: Record<string, string> = ANNA, page = PAGE) {
  const visitor = createVisitor(host.url)
  await visitor.get(page)
  const answer = await visitor.post(page, fields)
  return { visitor, answer }
}

test.skipIf(!hasCommand('zip') || !hasCommand('curl'))(
  'a solution zipped with zip -r and uploaded with curl signs a user in with a form POST',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'solhost-zip-'))
    const zip = join(folder, 'bundle.zip')
    await run('zip', ['-qr', zip, '.'], { cwd: exampleFolder('tenant-login') })
    const url = `${host.url}/admin/api/solutions/tenant-login`
    const curl = ['-sS', '-u', 'admin:test admin password', '-H', 'Content-Type: application/zip', '-T', zip, url]
    const uploaded = JSON.parse((await run('curl', curl)).stdout)
    expect(uploaded).toMatchObject({ name: 'tenant-login', version: '1.0.0', active: true, warnings: [] })
    const { visitor, answer } = await signedIn()
    expect(answer.status).toBe(303)
    expect((await visitor.get('/solution/tenant-login/session')).status).toBe(200)
    rmSync(folder, { recursive: true })
  },
)

test('GET index.html shows the solution’s login page in the browser’s language', async () => {
  const answer = await createVisitor(host.url).get(PAGE, { 'accept-language': 'de-AT,de;q=0.9' })
  expect(answer.status).toBe(200)
  expect(answer.text).toContain('<h1>Am Arbeitsplatz anmelden</h1>')
  expect(answer.text).toContain('<html lang="de">')
  expect(answer.text).not.toContain('#errorlabel{display:block')
})

test('a login that the script accepts becomes a session with its permissions, tenant and locale', async () => {
  const { visitor, answer } = await signedIn(BRAM)
  expect([answer.status, answer.headers.location]).toEqual([303, PAGE])
  const session = await visitor.get('/solution/tenant-login/session')
  expect(session.json()).toEqual({
    username: 'bram',
    uid: 'v-1',
    permissions: ['Users', 'Planners'],
    tenant: ['van-dijk', -1],
    locale: 'nl-BE',
    loggedInAt: expect.any(Number),
    methods: ['script'],
    confirmedAt: expect.any(Number),
  })
  expect((await visitor.get(PAGE)).text).toContain('<html lang="nl-BE"')
  const shown = (await openOnce(host.url, 'tenant-login', visitor)).words()
  for (const words of ['Ingelogd als bram', 'v-1', 'Users, Planners', 'van-dijk, -1', 'nl-BE']) {
    expect(shown).toContain(words)
  }
})

test('a wrong password gets 401 and the translated message, and the input is kept', async () => {
  const visitor = createVisitor(host.url)
  await visitor.get(PAGE)
  const headers = { 'accept-language': 'nl' }
  const answer = await visitor.post(PAGE, { ...ANNA, password: 'wrong-one' }, { headers })
  expect(answer.status).toBe(401)
  expect(answer.headers['www-authenticate']).toBe('FormBased realm="tenant-login"')
  expect(answer.text).toContain('De organisatie, de gebruikersnaam of het wachtwoord is onjuist.')
  expect(answer.text).toContain('#errorlabel{display:block!important}')
  expect(answer.text).toMatch(/name="username"[^>]* value="anna"/)
  expect(answer.text).toMatch(/<option value="acme" selected/)
  expect(answer.text).not.toContain('wrong-one')
  expect((await visitor.get('/solution/tenant-login/session')).status).toBe(401)
})

test.each([
  ['constructor', 'The tenant, username or password is wrong.'],
  ['a b', 'have at most 50 letters, digits'],
  ['x'.repeat(51), 'have at most 50 letters, digits'],
  ['', 'Choose your tenant'],
])('the script rejects the tenant "%s"', async (tenant, message) => {
  const { answer } = await signedIn({ ...ANNA, custom_tenant: tenant })
  expect(answer.status).toBe(401)
  expect(answer.text).toContain(message)
})

test('a deep link selects the tenant, and its query is kept during the sign-in', async () => {
  const page = `${PAGE}?custom_tenant=van-dijk&argument=order-5&x=%20y`
  const visitor = createVisitor(host.url)
  expect((await visitor.get(page)).text).toMatch(/<option value="van-dijk" selected/)
  const answer = await visitor.post(page, { username: 'bram', password: 'bram-tries-van-dijk' })
  expect([answer.status, answer.headers.location]).toEqual([303, page])
})

test('a username and password in the URL are never passed to the script', async () => {
  const visitor = createVisitor(host.url)
  await visitor.get(PAGE)
  const answer = await visitor.post(`${PAGE}?username=anna&password=anna-tries-acme`, { custom_tenant: 'acme' })
  expect(answer.status).toBe(401)
})

test('a new sign-in gets a new session id and ends the previous session', async () => {
  const { visitor } = await signedIn()
  const before = visitor.cookies.get('session-tenant-login')?.value ?? ''
  const tokenBefore = visitor.cookies.get('login-tenant-login')?.value
  await visitor.get(PAGE)
  expect((await visitor.post(PAGE, BRAM)).status).toBe(303)
  expect(visitor.cookies.get('session-tenant-login')?.value).not.toBe(before)
  expect(visitor.cookies.get('login-tenant-login')?.value).not.toBe(tokenBefore)
  const old = { cookie: `session-tenant-login=${before}` }
  expect((await ask(`${host.url}/solution/tenant-login/session`, { headers: old })).status).toBe(401)
})

test('cookies are HttpOnly, SameSite=Lax and, on a shared origin, limited to the solution’s path', async () => {
  const { answer } = await signedIn()
  const line = answer.headers['set-cookie']?.find((cookie) => cookie.startsWith('session-tenant-login='))
  expect(line).toMatch(/^session-tenant-login=[\w-]{43}; path=\/solution\/tenant-login\/; samesite=lax; httponly$/i)
})

test('behind a trusted proxy with https, cookies are Secure and have the prefix __Secure-', async () => {
  const own = await startTestHost({ TRUSTED_PROXIES: '127.0.0.1', PUBLIC_URL: 'https://apps.example.org' })
  await own.upload('tenant-login', await packFolder(exampleFolder('tenant-login')))
  const headers = { host: 'apps.example.org', 'x-forwarded-proto': 'https' }
  const answer = await createVisitor(own.url, headers).get(PAGE)
  expect(answer.headers['set-cookie']?.[0]).toMatch(
    /^__Secure-login-tenant-login=[\w-]+; path=\/solution\/tenant-login\/; samesite=lax; secure; httponly$/i,
  )
  await own.stop()
})

test('two tabs: the token from the first page still works after a second page was opened', async () => {
  const visitor = createVisitor(host.url)
  await visitor.get(PAGE)
  const first = visitor.token()
  await visitor.get(PAGE)
  expect((await visitor.post(PAGE, ANNA, { token: first })).status).toBe(303)
})

test.each([
  ['missing', { token: null }],
  ['wrong', { token: 'x'.repeat(43) }],
  ['from another site (Fetch Metadata)', { headers: { 'sec-fetch-site': 'cross-site' } }],
  ['from another port of the host (Fetch Metadata)', { headers: { 'sec-fetch-site': 'same-site' } }],
  ['from another site (Origin)', { headers: { origin: 'https://evil.example' } }],
  ['from an opaque origin', { headers: { origin: 'null' } }],
])('a form whose token or origin is %s gets 403 and a page that offers to try again', async (_case, options) => {
  const visitor = createVisitor(host.url)
  await visitor.get(PAGE)
  const refused = await visitor.post(PAGE, ANNA, options)
  expect(refused.status).toBe(403)
  expect(refused.text).toContain('This page has expired. Please sign in again.')
  expect(refused.text).toMatch(/name="username"[^>]* value="anna"/)
  expect((await visitor.get('/solution/tenant-login/session')).status).toBe(401)
  expect((await visitor.post(PAGE, ANNA)).status).toBe(303)
})

test('one solution’s token and session are invalid in another solution', async () => {
  const visitor = createVisitor(host.url)
  await visitor.get(PAGE)
  const token = visitor.token()
  expect((await visitor.post(PAGE, ANNA)).status).toBe(303)
  const stolen = visitor.cookies.get('session-tenant-login')?.value ?? ''
  const headers = { cookie: `session-other=${stolen}; session-tenant-login=${stolen}` }
  expect((await ask(`${host.url}/solution/other/session`, { headers })).status).toBe(401)
  await visitor.get('/solution/other/index.html')
  expect((await visitor.post('/solution/other/index.html', ANNA, { token })).status).toBe(403)
})

test('logout ends the session on the server, clears the cookie and redirects to a page that does not sign the user in again', async () => {
  const { visitor } = await signedIn()
  const stolen = visitor.cookies.get('session-tenant-login')?.value ?? ''
  await visitor.get(PAGE)
  const answer = await visitor.post('/solution/tenant-login/logout', {})
  expect([answer.status, answer.headers.location]).toEqual([303, `${PAGE}?signed-out`])
  expect(visitor.cookies.has('session-tenant-login')).toBe(false)
  const headers = { cookie: `session-tenant-login=${stolen}` }
  expect((await ask(`${host.url}/solution/tenant-login/session`, { headers })).status).toBe(401)
  const after = await visitor.get(`${PAGE}?signed-out`)
  expect([after.status, after.text.includes('csrf_token')]).toEqual([200, false])
})

test('logout from another site, or without proof that our page sent it, is rejected', async () => {
  const { visitor } = await signedIn()
  const foreign = { headers: { 'sec-fetch-site': 'cross-site' } }
  expect((await visitor.post('/solution/tenant-login/logout', {}, foreign)).status).toBe(403)
  expect((await visitor.post('/solution/tenant-login/logout', {}, { token: null })).status).toBe(403)
  expect((await visitor.get('/solution/tenant-login/session')).status).toBe(200)
})

const LEAVES = `function onSolutionOpen(arg, q) {
  if (q.username === 'in') security.login('in', 'u', ['x'])
  application.showURL(arg)
}`

test.each([
  ['in', '/solution/leaves/session', 303, '/solution/leaves/session'],
  ['nobody', '/else?where=1', 303, '/else?where=1'],
  ['in', 'https://sso.example/start?a="b"', 200, undefined],
  ['nobody', 'mailto:help@example.org', 200, undefined],
])(
  'at a sign-in as "%s", application.showURL(%s) redirects directly if the URL is same-origin, otherwise through an intermediate page',
  async (username, address, status, path) => {
    const page = `/solution/leaves/index.html?argument=${encodeURIComponent(address)}`
    const visitor = createVisitor(host.url)
    await visitor.get(page)
    const answer = await visitor.post(page, { username, password: 'x' })
    expect([answer.status, answer.headers.location]).toEqual([status, path === undefined ? undefined : host.url + path])
    if (status === 200)
      expect(answer.text).toMatch(/<meta http-equiv="refresh" content="0; ?url=(https:\/\/sso|mailto)/)
    expect((await visitor.get('/solution/leaves/session')).status).toBe(username === 'in' ? 200 : 401)
  },
)

test('security.logout(solution, argument) in an open solution signs the user out and opens that solution', async () => {
  const page = '/solution/outs/index.html'
  for (const [target, location] of [
    ['outs', `${host.url}${page}?argument=from+here`],
    ['nobody', `${page}?signed-out`],
  ]) {
    const visitor = createVisitor(host.url)
    await visitor.get(page)
    await visitor.post(page, { username: 'in', password: 'x' })
    await visitor.get(`${page}?out=${target}`)
    const { token } = await (await openOnce(host.url, 'outs', visitor, `?out=${target}`)).frame('sign-out')
    const answer = await visitor.post('/solution/outs/logout', { after: token })
    expect([answer.status, answer.headers.location]).toEqual([303, location])
    expect((await visitor.get('/solution/outs/session')).status).toBe(401)
  }
})

const ACCEPTS_ALL = "function onSolutionOpen(arg, q) { security.login(q.username, 'u', ['x']) }"

async function renamed(name: string, script: string, main: string): Promise<Uint8Array> {
  return zipOf({
    'solution.json': JSON.stringify({ name, version: '1.0.0', authenticator: 'AUTHENTICATOR', modules: ['auth'] }),
    'modules/auth/solution.json': JSON.stringify({ name: 'auth', version: '1.0.0', type: 'authenticator' }),
    'modules/auth/globals.js': script,
    'globals.js': main,
  })
}
