import { randomBytes } from 'node:crypto'
import type { Context } from 'koa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFormTokens, type FormTokens } from '../../base/accounts/form-token.ts'
import { createSessions } from '../../base/accounts/sessions.ts'
import { openPlatformKey } from '../../base/config/platform-key.ts'
import { openHostDatabase } from '../../host/database/open.ts'
import type { HostDatabase } from '../../host/database/tables.ts'
import { type ClientSignIns, createClientSignIns } from '../../host/login/sign-in-token.ts'
import { createSignOutTargets, type SignOutTarget, type SignOutTargets } from '../../host/login/sign-out-target.ts'
import { createLimits } from '../../runtime/limits.ts'
import { codeOf, firstCodeOf, readNewApp, wrongCode } from '../support/authenticator-app.ts'
import { formWith } from '../support/forms.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'

// Tests the request that a client's page posts after a script signs a user in or out. The test issues the tokens
// itself, as another host with the same database would.

const KEY = 'a key that this test and its host know'

type Place = {
  readonly host: TestHost
  readonly db: HostDatabase
  readonly signIns: ClientSignIns
  readonly targets: SignOutTargets
  readonly formTokens: FormTokens
}

let place: Place
beforeAll(async () => {
  place = await startPlace()
  await addUser(place.host, 'dora')
})
afterAll(() => stopPlace(place))

async function startPlace(properties: Record<string, string> = {}): Promise<Place> {
  const host = await startTestHost({ PLATFORM_KEY: KEY, ...properties })
  const manifest = { loginForm: 'login', permissions: ['Users', 'Planners'] }
  const files = { 'forms/login.json': JSON.stringify(formWith()) }
  await addDefaultSolution(host, 'crm', manifest, files)
  await addDefaultSolution(host, 'other')
  const db = await openHostDatabase(host.home)
  const key = await openPlatformKey(db, host.home, KEY)
  return {
    host,
    db,
    signIns: createClientSignIns(db, key),
    targets: createSignOutTargets(key),
    formTokens: createFormTokens(key),
  }
}

async function stopPlace({ host, db }: Place): Promise<void> {
  await db.destroy()
  await host.stop()
}

const PAGE = '/solution/crm/index.html'
const ANNA = {
  login: { username: 'anna', uid: 'a-1', permissions: ['Users'] },
  tenant: ['acme', 7],
  locale: 'nl-BE',
  page: PAGE,
  showUrl: null,
  authenticated: null,
  needsSecondFactor: false,
}

/**
 * Opens a browser with a client in which no user has signed in. The page contains a form token, and requests send the
 * token's cookie.
 */
function openBrowser({ host, formTokens, signIns, targets }: Place = place, solution = 'crm') {
  const visitor = createVisitor(host.url)
  const scope = { realm: solution, secure: false, ownHost: false }
  const path = `/solution/${solution}/`
  visitor.cookies.set(`login-${solution}`, { value: randomBytes(24).toString('base64url'), path })
  const handshake = () => {
    const value = visitor.cookies.get(`login-${solution}`)?.value
    return { get: () => `login-${solution}=${value}` } as unknown as Context
  }
  const post = (address: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    visitor.post(address, fields, { token: formTokens.issue(handshake(), scope), headers })
  const issue = (more: Partial<Parameters<ClientSignIns['issue']>[0]> = {}) =>
    signIns.issue({ ...ANNA, solution, browser: formTokens.browserOf(handshake(), scope) ?? '', ...more })
  return {
    ...visitor,
    post,
    postBare: visitor.post,
    issue,
    signIn: (more: object = {}) => post(PAGE, { id_token: issue(more) }),
    session: () => visitor.get(`${path}session`),
    cookie: (kind: string) => visitor.cookies.get(`${kind}-${solution}`)?.value,
    /** Signs out with the request that a client's page sends after its script set the redirect target. */
    async signOut(target: SignOutTarget, headers: Record<string, string> = {}) {
      const { items } = await askAdmin(host, 'GET', `sessions?solution=${solution}`)
      const [{ id }] = items as [{ id: string }]
      return post(`${path}logout`, { after: targets.issue(solution, id, target) }, headers)
    },
  }
}

async function newestSignIn({ host }: Place = place): Promise<unknown> {
  const { items } = await askAdmin(host, 'GET', 'audit?limit=1&action=sign-in')
  return (items as unknown[])[0]
}

/** Ends the sessions of previous tests, so that `signOut` finds only the current one. */
const endAll = () => createSessions(place.db, createLimits()).endAll('crm')

test('login form: when its script signs a user in, the browser gets a session with a new id, tenant and locale, and the requested page', async () => {
  const browser = openBrowser()
  const login = browser.cookie('login')
  const page = `${PAGE}?argument=order-5&x=%20y`
  const answer = await browser.post(page, { id_token: browser.issue({ page }), remember: 'on' })
  expect([answer.status, answer.headers.location]).toEqual([303, page])
  expect((await browser.session()).json()).toEqual({
    username: 'anna',
    uid: 'a-1',
    permissions: ['Users'],
    tenant: ['acme', 7],
    locale: 'nl-BE',
    loggedInAt: expect.any(Number),
    methods: ['script'],
    confirmedAt: expect.any(Number),
  })
  expect(browser.cookie('remember')).toBeUndefined()
  expect(browser.cookie('login')).not.toBe(login)
  expect(await newestSignIn()).toMatchObject({ actor: 'user:anna', solution: 'crm', outcome: 'ok' })
})

test.each([
  ['was disabled', { enabled: false }],
  ['got a new password', { password: 'another long pass phrase' }],
])('login form: a user of the users table who %s after the script’s check is not signed in', async (what, change) => {
  const username = what.replaceAll(' ', '-')
  const uid = await addUser(place.host, username)
  const { password_changed_at: passwordChangedAt } = await place.db
    .selectFrom('users')
    .select('password_changed_at')
    .where('uid', '=', uid)
    .executeTakeFirstOrThrow()
  const browser = openBrowser()
  const login = { ...ANNA.login, username, uid }
  const issue = () => browser.issue({ login, authenticated: { uid, passwordChangedAt } })
  expect((await browser.post(PAGE, { id_token: issue() })).status).toBe(303)
  expect((await browser.session()).status).toBe(200)
  const token = issue()
  await askAdmin(place.host, 'PATCH', `users/${uid}`, change)
  expect((await browser.session()).status).toBe(401)
  await browser.post(PAGE, { id_token: token })
  expect((await browser.session()).status).toBe(401)
  // The script's own users have nothing to do with the users table, even if they have the same uid.
  const second = openBrowser()
  expect((await second.signIn({ login })).status).toBe(303)
})

test('login form: its page sets the cookie and token that a sign-in needs, and does not contain the login page', async () => {
  const browser = openBrowser()
  browser.cookies.delete('login-crm')
  const page = await browser.get(PAGE)
  expect([page.status, page.text.includes('name="password"')]).toEqual([200, false])
  expect((await browser.session()).status).toBe(401)
  await browser.postBare(PAGE, { id_token: browser.issue() })
  expect((await browser.session()).status).toBe(200)
})

test('login form: signing in again starts a new session and ends the previous one', async () => {
  const browser = openBrowser()
  await browser.signIn()
  const before = browser.cookie('session') ?? ''
  await browser.signIn({ login: { ...ANNA.login, username: 'bram' } })
  expect((await browser.session()).json()).toMatchObject({ username: 'bram' })
  browser.cookies.set('session-crm', { value: before, path: '/solution/crm/' })
  expect((await browser.session()).status).toBe(401)
})

test('login form: showURL in its script redirects the browser', async () => {
  const path = await openBrowser().signIn({ showUrl: '/solution/crm/media/hello.html' })
  expect([path.status, path.headers.location]).toEqual([303, `${place.host.url}/solution/crm/media/hello.html`])
  const elsewhere = await openBrowser().signIn({ showUrl: 'https://example.org/hello' })
  expect(elsewhere.status).toBe(200)
  expect(elsewhere.text).toContain('href="https://example.org/hello"')
})

test('login form: a login token from the platform also signs a user in', async () => {
  const login = { username: 'visitor', uid: 'v-1', permissions: ['Users'] }
  const { token } = await askAdmin(place.host, 'POST', 'solutions/crm/login-tokens', login)
  const browser = openBrowser()
  const answer = await browser.post(`${PAGE}?a=1`, { id_token: token as string })
  expect([answer.status, answer.headers.location]).toEqual([303, `${PAGE}?a=1`])
  expect((await browser.session()).json()).toMatchObject({ ...login, tenant: null, locale: 'en' })
})

test('login form: a script that signs in with a uid from the users table does not get that account', async () => {
  const uid = await addUser(place.host, 'carl', { permissions: ['Users', 'Administrators'] })
  const browser = openBrowser()
  await browser.signIn({ login: { ...ANNA.login, uid } })
  expect((await browser.session()).json()).toMatchObject({ uid })
  expect((await browser.get('/solution/crm/password')).status).toBe(404)
  const sources = place.db.selectFrom('sessions').select('source').where('uid', '=', uid).execute()
  expect(await sources).toEqual([{ source: '' }])
})

type Browser = ReturnType<typeof openBrowser>
test.each<[string, (browser: Browser) => Record<string, string> | Promise<Record<string, string>>]>([
  ['issued in another browser', () => ({ id_token: openBrowser().issue() })],
  [
    'for another solution',
    (browser) => ({ id_token: browser.issue({ solution: 'other', page: '/solution/other/index.html' }) }),
  ],
  ['with a permission that the solution does not list', (browser) => ({ id_token: browser.issue(withPermission) })],
  ['that was modified', (browser) => ({ id_token: `${browser.issue().slice(0, -3)}xxx` })],
  ['that is invalid', () => ({ id_token: 'x'.repeat(60_000) })],
  [
    'that was already used',
    async (browser) => {
      const id_token = browser.issue()
      const cookie = browser.cookies.get('login-crm') as { value: string; path: string }
      await browser.post(PAGE, { id_token })
      await browser.post('/solution/crm/logout', {})
      // Restores the cookie that the token is bound to.
      browser.cookies.set('login-crm', cookie)
      return { id_token }
    },
  ],
  ['that is missing (the form has the name and password of a user)', () => ({ username: 'dora', password: PASSWORD })],
])(
  'login form: a sign-in with a token %s fails, redirects back to the page, and is recorded in the audit log',
  async (_case, fieldsOf) => {
    const browser = openBrowser()
    const fields = await fieldsOf(browser)
    const answer = await browser.post(`${PAGE}?argument=5`, fields)
    expect([answer.status, answer.headers.location]).toEqual([303, `${PAGE}?argument=5`])
    expect(browser.cookie('session')).toBeUndefined()
    expect((await browser.session()).status).toBe(401)
    expect(await newestSignIn()).toMatchObject({ actor: 'user:', solution: 'crm', outcome: 'refused' })
    if (fields.id_token !== undefined) expect(place.host.logged()).not.toContain(fields.id_token)
  },
)

const withPermission = { login: { ...ANNA.login, permissions: ['Users', 'Administrators'] } }

test('login form: a token that was tried in another browser still works in the right one', async () => {
  const browser = openBrowser()
  const id_token = browser.issue()
  await openBrowser().post(PAGE, { id_token })
  await browser.post(PAGE, { id_token })
  expect((await browser.session()).status).toBe(200)
})

test('login form: only one of ten simultaneous posts of one token signs the user in', async () => {
  const browser = openBrowser()
  const id_token = browser.issue()
  const answers = await Promise.all(Array.from({ length: 10 }, () => browser.post(PAGE, { id_token })))
  const cookies = answers.flatMap(({ headers }) => headers['set-cookie'] ?? [])
  expect(cookies.filter((cookie) => cookie.startsWith('session-crm='))).toHaveLength(1)
})

test.each<[string, (browser: Browser, fields: Record<string, string>) => ReturnType<Browser['post']>]>([
  ['without the hidden token', (browser, fields) => browser.postBare(PAGE, fields, { token: null })],
  ['with another hidden token', (browser, fields) => browser.postBare(PAGE, fields, { token: 'x' })],
  ['from another site', (browser, fields) => browser.post(PAGE, fields, { 'sec-fetch-site': 'cross-site' })],
  ['from another origin', (browser, fields) => browser.post(PAGE, fields, { origin: 'https://example.org' })],
])('login form: a post %s is rejected with an error page, and does not use up the token', async (_case, send) => {
  const browser = openBrowser()
  const id_token = browser.issue()
  const answer = await send(browser, { id_token })
  expect(answer.status).toBe(403)
  expect(answer.text).toContain('<h1>This request was blocked</h1>')
  expect(answer.text).toContain(`<a class="button" href="${PAGE}">Try again</a>`)
  expect((await browser.session()).status).toBe(401)
  await browser.post(PAGE, { id_token }, { 'sec-fetch-site': 'same-origin' })
  expect((await browser.session()).status).toBe(200)
})

test('login form: a post that is not a page navigation is rejected', async () => {
  const browser = openBrowser()
  const answer = await browser.post(PAGE, { id_token: browser.issue() }, { 'sec-fetch-dest': 'empty' })
  expect(answer.status).toBe(403)
  expect((await browser.session()).status).toBe(401)
})

test('login form: nobody can sign in during maintenance, and the token is not used up', async () => {
  const browser = openBrowser()
  const id_token = browser.issue()
  await askAdmin(place.host, 'PUT', 'maintenance', { on: true })
  const answer = await browser.post(PAGE, { id_token })
  await askAdmin(place.host, 'PUT', 'maintenance', { on: false })
  expect([answer.status, answer.headers['retry-after']]).toEqual([503, '60'])
  await browser.post(PAGE, { id_token })
  expect((await browser.session()).status).toBe(200)
})

test('login form: guesses are counted per network; over the limit, a page in the user’s language says when to retry', async () => {
  const own = await startPlace({ THROTTLE_NETWORK: '3' })
  // Successful sign-ins do not count towards the throttle.
  for (let time = 0; time < 5; time++) expect((await openBrowser(own).signIn()).headers.location).toBe(PAGE)
  const browser = openBrowser(own)
  for (let guess = 0; guess < 3; guess++) expect((await browser.post(PAGE, { id_token: 'x.x' })).status).toBe(303)
  const answer = await browser.post(PAGE, { id_token: browser.issue() }, { 'accept-language': 'nl' })
  expect(answer.status).toBe(429)
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(800)
  expect(answer.text).toContain('<h1>Te veel inlogpogingen</h1>')
  expect((await browser.session()).status).toBe(401)
  expect(await newestSignIn(own)).toMatchObject({ solution: 'crm', outcome: 'throttled' })
  await stopPlace(own)
})

test('session: changes by a client’s script are visible on another host within a second', async () => {
  const browser = openBrowser()
  await browser.signIn()
  expect((await browser.session()).json()).toMatchObject({ tenant: ['acme', 7], locale: 'nl-BE' })
  const otherHost = createSessions(place.db, createLimits())
  await otherHost.change('crm', browser.cookie('session') ?? '', { tenant: ['north'], locale: 'fr' })
  const changed = { tenant: ['north'], locale: 'fr', username: 'anna' }
  await expect
    .poll(async () => (await browser.session()).json(), { timeout: 5000, interval: 50 })
    .toMatchObject(changed)
})

const SIGNED_OUT = `${PAGE}?signed-out`

test.each<[string, SignOutTarget, (url: string) => string]>([
  ['a path on the same server', { address: '/solution/crm/media/bye.html' }, () => '/solution/crm/media/bye.html'],
  [
    'another solution with an argument',
    { solution: 'other', argument: 'a b&c' },
    (url) => `${url}/solution/other/index.html?argument=a+b%26c`,
  ],
  ['another solution', { solution: 'other', argument: null }, (url) => `${url}/solution/other/index.html`],
  [
    'the signed-out page instead of a URL that scripts cannot use',
    { address: 'javascript:alert(1)' },
    () => SIGNED_OUT,
  ],
  ['the signed-out page instead of a protocol-relative URL', { address: '//example.org/' }, () => SIGNED_OUT],
  ['the signed-out page instead of a missing solution', { solution: 'nobodys', argument: null }, () => SIGNED_OUT],
])('logout: redirects to %s', async (_case, target, location) => {
  await endAll()
  const browser = openBrowser()
  await browser.signIn()
  const answer = await browser.signOut(target)
  expect([answer.status, answer.headers.location]).toEqual([303, location(place.host.url)])
  expect(browser.cookie('session')).toBeUndefined()
  expect((await browser.session()).status).toBe(401)
})

test('logout: a redirect to another origin uses an intermediate page, because of the form-action policy', async () => {
  await endAll()
  const browser = openBrowser()
  await browser.signIn()
  const answer = await browser.signOut({ address: 'https://example.org/bye?a=1' }, { 'sec-fetch-site': 'same-origin' })
  expect(answer.status).toBe(200)
  expect(answer.text).toContain('href="https://example.org/bye?a=1"')
  expect((await browser.session()).status).toBe(401)
})

test('logout: a redirect target that is forged, or belongs to another session, is ignored', async () => {
  const address = { address: 'https://example.org/' }
  for (const after of [place.targets.issue('crm', 'another session', address), 'x.x', '']) {
    const browser = openBrowser()
    await browser.signIn()
    const answer = await browser.post('/solution/crm/logout', { after })
    expect([after, answer.status, answer.headers.location]).toEqual([after, 303, SIGNED_OUT])
    expect((await browser.session()).status).toBe(401)
  }
})

test('logout: if the browser reports our origin, the hidden token and form fields may be missing', async () => {
  const headers = { 'sec-fetch-site': 'same-origin' }
  const browser = openBrowser()
  await browser.signIn()
  const bare = await browser.postBare('/solution/crm/logout', {}, { token: null, headers })
  expect([bare.status, bare.headers.location]).toEqual([303, SIGNED_OUT])
  await browser.signIn()
  const json = { ...headers, 'content-type': 'application/json' }
  expect((await browser.postBare('/solution/crm/logout', {}, { headers: json })).status).toBe(303)
  expect((await browser.session()).status).toBe(401)
})

test('logout: a request from another site, or without a source and a hidden token, does not sign the user out', async () => {
  await endAll()
  const browser = openBrowser()
  await browser.signIn()
  const target = { address: '/solution/crm/media/bye.html' }
  expect((await browser.signOut(target, { 'sec-fetch-site': 'same-site' })).status).toBe(403)
  expect((await browser.postBare('/solution/crm/logout', {}, { token: null })).status).toBe(403)
  expect((await browser.session()).status).toBe(200)
})

test('login form: a browser that was remembered before the solution had a login form must sign in with the form', async () => {
  await addUser(place.host, 'emma')
  await addDefaultSolution(place.host, 'shop')
  const remembered = await visit(place.host, 'shop')
  expect((await remembered.signIn('emma', PASSWORD, { remember: 'on' })).status).toBe(303)
  const manifest = { loginForm: 'login', version: '2.0.0' }
  await addDefaultSolution(place.host, 'shop', manifest, { 'forms/login.json': JSON.stringify(formWith()) })
  remembered.close()
  expect(remembered.cookie('remember')).toBeDefined()
  await remembered.open()
  expect((await remembered.session()).status).toBe(401)
})

test('login form: a script can require a second factor, and the session starts only after it is set up or used', async () => {
  const person = { login: { ...ANNA.login, username: 'fenna', uid: 'f-1' }, locale: 'en', needsSecondFactor: true }
  const browser = openBrowser()
  const first = await browser.signIn(person)
  expect([first.status, first.headers.location]).toEqual([303, '/solution/crm/set-up'])
  expect((await browser.session()).status).toBe(401)
  const { setup, secret } = readNewApp((await browser.get('/solution/crm/set-up')).text)
  await browser.postBare('/solution/crm/set-up', { act: 'add-app', setup, code: await firstCodeOf(secret) })
  const done = await browser.postBare('/solution/crm/set-up', { act: 'saved' })
  expect(done.headers.location).toBe(PAGE)
  expect((await browser.session()).json()).toMatchObject({ username: 'fenna', tenant: ['acme', 7] })

  // The second factor belongs to the uid, so it is required even if the script does not require it.
  const other = openBrowser()
  const second = await other.signIn({ ...person, needsSecondFactor: false })
  expect(second.headers.location).toBe('/solution/crm/second-step')
  await other.get('/solution/crm/second-step')
  expect((await other.postBare('/solution/crm/second-step', { code: wrongCode(secret) })).status).toBe(401)
  await other.postBare('/solution/crm/second-step', { code: codeOf(secret, 0) })
  expect((await other.session()).json()).toMatchObject({ username: 'fenna' })
  // A different uid is a different account, even if the name is the same.
  const stranger = openBrowser()
  await stranger.signIn({ ...person, login: { ...person.login, uid: 'f-2' }, needsSecondFactor: false })
  expect((await stranger.session()).status).toBe(200)
})
