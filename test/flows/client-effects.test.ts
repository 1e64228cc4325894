import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openClient, openClientPage, openOnce } from '../support/client-page.ts'
import { addClientSolution, button, label, linesOf, outputOf } from '../support/client-solution.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { addUser, askAdmin, visit } from '../support/users.ts'

// Tests how a client's scripts affect the session and browser navigation, and how the end of the session affects the
// client.

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
  for (const name of ['anna', 'bert']) await addUser(host, name)
  const parts = {
    elements: [
      label('text', 'i18n:text'),
      ...[
        'hello',
        'dutch',
        'tenant',
        'out',
        'away',
        'elsewhere',
        'mailto',
        'fail',
        'rest',
        'close',
        'closeFor',
        'closeTo',
      ].map(button),
    ],
    script: `
      function hello() { forms.main.elements.text.label = 'hello' }
      function dutch() { i18n.setLocale('nl', 'BE') }
      function tenant() { security.setTenantValue(['north', 7]); forms.main.elements.text.label = security.getTenantValue().join() }
      function out() { security.logout('other', 'from here') }
      function away() { security.logout(); application.showURL('https://example.org/goodbye') }
      function elsewhere() { application.showURL('/solution/other/index.html?a=b', '_blank') }
      function mailto() { application.showURL('mailto:help@example.org') }
      function fail() { application.showURL('/never'); security.logout(); i18n.setLocale('nl'); throw new Error('as it should') }
      function close() { application.closeSolution() }
      function closeFor() { application.closeSolution('other', 'start', 'from here') }
      function closeTo() { application.closeSolution('nowhere') }
      function rest() { forms.main.elements.text.label = 'rested' }
    `,
    globals: `
      function onSolutionOpen(arg, q) {
        if (q.how === 'dutch') i18n.setLocale('nl', 'BE')
        if (q.how === 'tenant') security.setTenantValue('south')
        if (q.how === 'go') application.showURL('https://example.org/start')
        if (q.how === 'out') security.logout()
        if (q.how === 'fail') { i18n.setLocale('nl', 'BE'); missing() }
      }
      function onSolutionClose() { application.output('closed') }
    `,
    files: { 'i18n/default.json': '{"text": "Text"}', 'i18n/nl.json': '{"text": "Tekst"}' },
  }
  await addClientSolution(host, 'effects', { ...parts, manifest: { authenticator: 'DEFAULT' } })
  await addClientSolution(host, 'open', parts)
  await addClientSolution(host, 'other', { elements: [label('text')], script: '', manifest: { authenticator: 'NONE' } })
})
afterAll(() => host.stop())

async function signedIn(username = 'anna') {
  const browser = await visit(host, 'effects')
  const { status } = await browser.signIn(username)
  if (status !== 303) throw new Error(`${username} was answered ${status}`)
  // Opens the client's page, whose hidden token is needed to sign out.
  await browser.open()
  return browser
}

type Browser = Awaited<ReturnType<typeof signedIn>>
const clientOf = (browser: Browser) => openClient(host.url, 'effects', browser)
const opened = (browser: Browser, how: string) => openOnce(host.url, 'effects', browser, `?how=${how}`)

// --- onSolutionOpen -----------------------------------------------------------------------------------------------------

test('onSolutionOpen: setLocale applies to the first form, the page around it and the session', async () => {
  const browser = await signedIn()
  const page = await opened(browser, 'dutch')
  expect(page.text('main', 'text')).toBe('Tekst')
  expect(page.everything()).toContain('Ingelogd als anna')
  expect((await browser.session()).json()).toMatchObject({ locale: 'nl-BE' })
  expect((await browser.open()).text).toContain('<html lang="nl-BE"')
})

test('onSolutionOpen: setTenantValue applies to the session, and arrays stay arrays', async () => {
  const browser = await signedIn()
  expect((await browser.session()).json()).toMatchObject({ tenant: null })
  await opened(browser, 'tenant')
  expect((await browser.session()).json()).toMatchObject({ tenant: ['south'] })
})

test('onSolutionOpen: showURL redirects the browser', async () => {
  const page = await opened(await signedIn(), 'go')
  expect(await page.frame('go')).toEqual({ kind: 'go', href: 'https://example.org/start' })
})

test('onSolutionOpen: security.logout ends the session through a token that the page posts, and no form is shown', async () => {
  const browser = await signedIn()
  const page = await opened(browser, 'out')
  expect(page.frames.map(({ kind }) => kind)).not.toContain('form')
  const answer = await browser.post('/solution/effects/logout', { after: (await page.frame('sign-out')).token })
  expect([answer.status, answer.headers.location]).toEqual([303, '/solution/effects/index.html?signed-out'])
  expect((await browser.session()).status).toBe(401)
})

test('onSolutionOpen: if it fails, the client closes with a reference, and none of its effects apply', async () => {
  const browser = await signedIn()
  const page = await opened(browser, 'fail')
  const { text } = await page.frame('message')
  expect([await page.closed(), (await page.frame('closed')).why]).toEqual([4500, 'failed'])
  const line = (await linesOf(host, 'effects')).find(({ code }) => code === 'script_error') as {
    correlationId?: string
  }
  expect(line).toMatchObject({ message: 'ReferenceError: missing is not defined' })
  expect(text).toBe(`This page could not be opened. Give the reference ${line.correlationId} when you ask for help.`)
  expect(page.frames.map(({ kind }) => kind)).not.toContain('form')
  expect((await browser.session()).json()).toMatchObject({ locale: 'en' })
})

// --- handlers -----------------------------------------------------------------------------------------------------------

test('setLocale and setTenantValue in a handler apply to the session and to clients opened later', async () => {
  const browser = await signedIn()
  const page = await clientOf(browser)
  await page.press('main', 'dutch')
  await page.press('main', 'tenant')
  expect((await browser.session()).json()).toMatchObject({ locale: 'nl-BE', tenant: ['north', 7] })
  const next = await clientOf(browser)
  expect(next.text('main', 'text')).toBe('Tekst')
})

test.each([
  ['elsewhere', { kind: 'go', href: '/solution/other/index.html?a=b', target: '_blank' }],
  ['mailto', { kind: 'go', href: 'mailto:help@example.org' }],
])('showURL in a handler navigates the browser: %s', async (name, frame) => {
  const page = await clientOf(await signedIn())
  await page.press('main', name)
  expect(await page.frame('go')).toEqual(frame)
})

test('a handler that fails has no effects', async () => {
  const browser = await signedIn()
  const page = await clientOf(browser)
  await page.press('main', 'fail')
  await page.frame('message')
  const kinds = page.frames.map(({ kind }) => kind)
  for (const kind of ['go', 'sign-out'] as const) expect(kinds).not.toContain(kind)
  expect((await browser.session()).json()).toMatchObject({ locale: 'en' })
  await page.press('main', 'hello')
  expect(page.text('main', 'text')).toBe('hello')
})

test('security.logout to another solution: the page posts the token and opens that solution with the argument', async () => {
  const browser = await signedIn()
  const page = await clientOf(browser)
  page.fire('main', 'out', 'onAction')
  const { token } = await page.frame('sign-out')
  const answer = await browser.post('/solution/effects/logout', { after: token })
  const location = `${host.url}/solution/other/index.html?argument=from+here`
  expect([answer.status, answer.headers.location]).toEqual([303, location])
  expect((await browser.session()).status).toBe(401)
})

test('security.logout with showURL: the user is signed out and sent to that URL', async () => {
  const browser = await signedIn()
  const page = await clientOf(browser)
  page.fire('main', 'away', 'onAction')
  const answer = await browser.post('/solution/effects/logout', { after: (await page.frame('sign-out')).token })
  expect([answer.status, answer.text.includes('https://example.org/goodbye')]).toEqual([200, true])
  expect((await browser.session()).status).toBe(401)
})

test('security.logout: if the host stops before the page has posted the token, the host signs the user out first', async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-test-'))
  const own = await startTestHost({}, { home })
  await addUser(own, 'anna')
  await addClientSolution(own, 'short', {
    elements: [button('out')],
    script: 'function out() { security.logout() }',
    manifest: { authenticator: 'DEFAULT' },
  })
  const browser = await visit(own, 'short')
  await browser.signIn('anna')
  const cookie = `session-short=${browser.cookies.get('session-short')?.value}`
  const statusAt = async ({ url }: TestHost) =>
    (await ask(`${url}/solution/short/session`, { headers: { cookie } })).status
  const page = await openClient(own.url, 'short', browser)
  page.fire('main', 'out', 'onAction')
  await page.frame('sign-out')
  expect(await statusAt(own)).toBe(200)
  await own.stop()
  const again = await startTestHost({}, { home })
  expect(await statusAt(again)).toBe(401)
  await again.stop()
  rmSync(home, { recursive: true, force: true })
})

test('security.logout without a session: the browser goes to the other solution', async () => {
  const page = await openClient(host.url, 'open', createVisitor(host.url))
  await page.press('main', 'out')
  expect(await page.frame('go')).toEqual({
    kind: 'go',
    href: `${host.url}/solution/other/index.html?argument=from+here`,
  })
  await page.press('main', 'rest')
  expect(page.text('main', 'text')).toBe('rested')
})

// --- the end of the session ---------------------------------------------------------------------------------------------

test.each([
  ['by the API', (browser: Browser) => endByApi(browser)],
  ['by the page', (browser: Browser) => browser.logOut().then(({ status }) => expect(status).toBe(303))],
])('a session that ends %s closes its clients with 4401; other users’ clients keep running', async (_case, end) => {
  const [anna, bert] = [await signedIn('anna'), await signedIn('bert')]
  const pages = [await clientOf(anna), await clientOf(anna)]
  const other = await clientOf(bert)
  const closes = (await outputOf(host, 'effects')).length
  await end(anna)
  const before = performance.now()
  for (const page of pages) {
    expect([await page.closed(), (await page.frame('closed')).why]).toEqual([4401, 'signed-out'])
  }
  expect(performance.now() - before).toBeLessThan(3000)
  await expect.poll(async () => (await outputOf(host, 'effects')).slice(closes)).toEqual(['closed', 'closed'])
  // A page that did not receive the reason would connect again.
  const late = await openClientPage(host.url, 'effects', anna)
  expect([await late.closed(), late.frames]).toEqual([4401, [{ kind: 'closed', why: 'signed-out' }]])
  await other.press('main', 'hello')
  expect(other.text('main', 'text')).toBe('hello')
})

async function endByApi(browser: Browser): Promise<void> {
  const { items } = (await askAdmin(host, 'GET', 'sessions?solution=effects')) as {
    items: { id: string; username: string; lastSeenAt: number; createdAt: number }[]
  }
  const { username, loggedInAt } = (await browser.session()).json() as { username: string; loggedInAt: number }
  const one = items.find((session) => session.username === username && session.createdAt === loggedInAt)
  await askAdmin(host, 'DELETE', `sessions/${one?.id}`, undefined, 204)
}

// --- tests that wait for the real clock, all at the same time ----------------------------------------------------------

test.concurrent.each([
  ['close', 'effects/index.html'],
  ['closeFor', 'other/index.html?argument=from+here'],
  ['closeTo', 'effects/index.html'],
])(
  'application.closeSolution, %s: the client closes, the page goes to %s, the user stays signed in',
  async (name, target) => {
    const browser = await signedIn()
    const page = await clientOf(browser)
    page.fire('main', name, 'onAction')
    expect(await page.frame('go')).toEqual({ kind: 'go', href: `${host.url}/solution/${target}` })
    expect(await page.closed()).toBe(1000)
    expect((await browser.session()).status).toBe(200)
  },
)

test.concurrent('security.logout: if the page never posts the token, the user is still signed out', async () => {
  const browser = await signedIn()
  const page = await clientOf(browser)
  const before = performance.now()
  page.fire('main', 'out', 'onAction')
  await page.frame('sign-out')
  await expect.poll(async () => (await browser.session()).status).toBe(401)
  expect(performance.now() - before).toBeLessThan(8000)
  expect(await page.closed()).toBe(1000)
})

test.concurrent('events count as session activity: an active user stays signed in, an idle user is signed out', async () => {
  const own = await startTestHost({ SESSION_IDLE: '8s' })
  await addClientSolution(own, 'idle', {
    elements: [label('text'), button('up')],
    script: 'let n = 0; function up() { forms.main.elements.text.label = String(++n) }',
    manifest: { authenticator: 'DEFAULT' },
  })
  const [active, idle] = await Promise.all(
    ['anna', 'bert'].map(async (username) => {
      await addUser(own, username)
      const browser = await visit(own, 'idle')
      await browser.signIn(username)
      return openClient(own.url, 'idle', browser)
    }),
  )
  if (active === undefined || idle === undefined) throw new TypeError('there are two')
  let presses = 0
  while (idle.socket.readyState === idle.socket.OPEN) {
    await active.press('main', 'up')
    presses++
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  expect([await idle.closed(), (await idle.frame('closed')).why]).toEqual([4401, 'signed-out'])
  await active.press('main', 'up')
  expect(active.text('main', 'text')).toBe(String(presses + 1))
  await own.stop()
})
