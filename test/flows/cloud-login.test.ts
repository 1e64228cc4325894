import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { AuthenticateAnswer, LoginPageAnswer } from '../../base/protocol/protocol.ts'
import { addApp, codeOf } from '../support/authenticator-app.ts'
import {
  ANNA,
  addCloudSolution,
  CLOUD_PASSWORD,
  CLOUD_TOKEN,
  DESIGNED,
  send,
  startSatellite,
  startTestCloud,
  type TestCloud,
} from '../support/cloud.ts'
import { startTestHost } from '../support/host.ts'
import { askAdmin, visit } from '../support/users.ts'
import { bundleOf } from '../support/zip.ts'

let cloud: TestCloud
let host: Awaited<ReturnType<typeof startSatellite>>
beforeAll(async () => {
  cloud = await startTestCloud()
  host = await startSatellite(cloud)
  await addCloudSolution(host, 'harbour', {
    'media/login.html': '<form name="login_form"><input name="username"><input type="password" name="password"></form>',
    'i18n/default.json': '{"design.branch":"not this one","own":"Own"}',
    'i18n/de.json': '{"design.branch":"diese nicht"}',
  })
})
beforeEach(() => cloud.behave())
afterAll(async () => {
  await host.stop()
  await cloud.stop()
})

const signIn = async (fields: Record<string, string> = {}, headers: Record<string, string> = {}) => {
  const browser = await visit(host, 'harbour', headers)
  return { browser, answer: await browser.signIn('anna', CLOUD_PASSWORD, fields) }
}
const logOf = async (name: string, on = host) => {
  const { items } = await askAdmin(on, 'GET', `solutions/${name}/log`)
  return (items as { message: string }[]).map(({ message }) => message)
}
const title = async (on = host) => /<h1>([^<]*)/.exec((await (await visit(on, 'harbour')).open()).text)?.[1]
let clock = 0
async function laterByAMinute(): Promise<void> {
  clock += 61_000
  await host.setClock(clock)
}
/** A timeout for busy machines: tests run in parallel, and a sandbox process must compile the page. */
const SLOW = { timeout: 20_000 }
const healthOf = async (on = host) => (await askAdmin(on, 'GET', 'health')).cloudLogins

test('the page designed in the control center is shown, also in languages that only this page has', async () => {
  const page = async (language: string) => {
    return (await (await visit(host, 'harbour')).open({ 'accept-language': language })).text
  }
  expect(await page('en')).toContain('<h1>Harbour sign-in</h1>')
  expect(await page('it')).toContain('<h1>Accesso porto</h1>')
  const german = await page('de-AT')
  expect(german).toContain('<h1>Anmeldung Hafen</h1>')
  expect(german).toContain('>Niederlassung</label>')
  expect(german).not.toContain('diese nicht')
})

test('the uid, username, listed permissions and tenant values in the response become a session', async () => {
  cloud.answer(() => ({ ...ANNA, permissions: ['Users', 'Elsewhere', 'Users', 'Pilots'] }))
  const { browser, answer } = await signIn({ custom_branch: 'north' })
  expect([answer.status, answer.headers.location]).toEqual([303, '/solution/harbour/index.html'])
  expect((await browser.session()).json()).toMatchObject({
    username: 'anna',
    uid: 'c-1',
    permissions: ['Users', 'Pilots'],
    tenant: ['acme', 7],
  })
  expect(JSON.parse(cloud.asked('authenticate').at(-1)?.body ?? '')).toEqual({
    username: 'anna',
    password: CLOUD_PASSWORD,
    custom: { custom_branch: 'north' },
    address: '127.0.0.1',
  })
})

test('a user without any of the solution’s permissions is rejected, and so is a wrong password', async () => {
  cloud.answer(() => ({ ...ANNA, permissions: ['Elsewhere'] }))
  const { answer } = await signIn()
  expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'FormBased realm="harbour"'])
  cloud.behave()
  const browser = await visit(host, 'harbour')
  const wrong = await browser.signIn('anna', 'not this one')
  expect(wrong.status).toBe(401)
  expect(wrong.text).toContain('#errorlabel{display:block')
  expect(wrong.text).toContain('value="anna"')
  expect((await browser.session()).status).toBe(401)
})

test('a second factor is stored on this host: the control center gets neither codes nor a request for them', async () => {
  cloud.answer(() => ({ ...ANNA, uid: 'c-77', username: 'gerda' }))
  const { browser } = await signIn()
  const { secret } = await addApp(browser, 'harbour')
  const { browser: other, answer } = await signIn()
  expect(answer.headers.location).toBe('/solution/harbour/second-step')
  expect((await other.session()).status).toBe(401)
  await other.get('/solution/harbour/second-step')
  const done = await other.post('/solution/harbour/second-step', { code: codeOf(secret, 0) })
  expect(done.headers.location).toBe('/solution/harbour/index.html')
  expect((await other.session()).json()).toMatchObject({ username: 'gerda', uid: 'c-77' })
})

test('an unconfirmed email address has its own message', async () => {
  cloud.answer(() => ({ outcome: 'refused', reason: 'verify' }))
  const { answer } = await signIn({}, { 'accept-language': 'nl' })
  expect(answer.status).toBe(401)
  expect(answer.text).toContain('Bevestig eerst uw e-mailadres')
  expect(answer.text).not.toContain('#errorlabel{display:block')
})

test('429 from the control center shows the throttled page, with the time to wait', async () => {
  cloud.misbehave((_, response) => response.writeHead(429, { 'retry-after': '77' }).end())
  const { answer } = await signIn()
  expect([answer.status, answer.headers['retry-after']]).toEqual([429, '77'])
  expect(answer.text).toContain('Too many sign-in attempts')
  expect(answer.text).toContain('value="anna"')
})

test('while the control center is down, signed-in users are not affected, others get a message in their language, and no data is lost', async () => {
  const { browser } = await signIn({ remember: 'on' })
  const cookie = browser.cookie('remember')
  await cloud.goAway()
  try {
    expect((await browser.session()).status).toBe(200)
    expect((await browser.open()).text).toContain('Signed in as anna')
    for (const [language, words] of Object.entries(AWAY)) {
      const { answer } = await signIn({ custom_branch: 'east' }, { 'accept-language': language })
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '10'])
      expect(answer.text).toContain(words)
      expect(answer.text).toContain('value="anna"')
      expect(answer.text).toContain('value="east"')
      expect(answer.text).not.toContain('#errorlabel{display:block')
    }
    browser.close()
    const remembered = await browser.open({ 'accept-language': 'de' })
    expect([remembered.status, remembered.headers['retry-after']]).toEqual([503, '10'])
    expect(remembered.text).toContain(AWAY.de)
    expect(remembered.text).toContain('<h1>Anmeldung Hafen</h1>')
    expect(browser.cookie('remember')).toBe(cookie)
    expect(await healthOf()).toEqual([{ solution: 'harbour', problem: 'away' }])
  } finally {
    await cloud.comeBack()
  }
  expect((await browser.open()).text).toContain('Signed in as anna')
  expect(browser.cookie('remember')).not.toBe(cookie)
  expect(await healthOf()).toEqual([])
})

const AWAY = {
  en: 'The sign-in service can’t be reached',
  nl: 'De inlogdienst is op dit moment niet bereikbaar',
  de: 'Der Anmeldedienst ist gerade nicht erreichbar',
  fr: 'Le service de connexion est injoignable',
  es: 'En este momento no se puede acceder al servicio',
}

test('a remembered login is checked with the time of the last password change, applies current permissions, and ends when it is rejected', async () => {
  const before = Date.now()
  const { browser } = await signIn({ remember: 'on' })
  browser.close()
  cloud.answer(() => ({ ...ANNA, username: 'anna.b', permissions: ['Pilots'], tenant: null }))
  expect((await browser.open()).text).toContain('Signed in as anna.b')
  expect((await browser.session()).json()).toMatchObject({ permissions: ['Pilots'], tenant: null })
  const asked = JSON.parse(cloud.asked('refresh').at(-1)?.body ?? '')
  expect(asked).toEqual({ uid: 'c-1', since: expect.any(Number) })
  expect(asked.since).toBeGreaterThanOrEqual(before)
  browser.close()
  cloud.answer(() => ({ outcome: 'refused', reason: 'credentials' }))
  expect((await browser.open()).text).toContain('name="password"')
  expect(browser.cookie('remember')).toBeUndefined()
})

test('a remembered browser that is checked too often waits as long as the control center requires, and stays remembered', async () => {
  const { browser } = await signIn({ remember: 'on' })
  const cookie = browser.cookie('remember')
  browser.close()
  cloud.misbehave((_, response) => response.writeHead(429, { 'retry-after': '33' }).end())
  const page = await browser.open()
  expect([page.status, page.headers['retry-after'], browser.cookie('remember')]).toEqual([429, '33', cookie])
  expect(page.text).toContain('Too many sign-in attempts')
})

const HOSTILE: [string, AuthenticateAnswer | object | string][] = [
  ['another user than requested', { ...ANNA, uid: 'c-2' }],
  ['HTML', '<html><script>alert(1)</script>'],
  ['wrong types', { outcome: 'accepted', uid: {}, username: [], permissions: 'all', tenant: {} }],
  ['a name with control characters', { ...ANNA, username: 'an\u202ena' }],
  ['10 MB', 'x'.repeat(10_000_000)],
]
test.each(HOSTILE)('a malicious response causes an error page, and the cookie stays: %s', async (what, body) => {
  const { browser } = await signIn({ remember: 'on' })
  const cookie = browser.cookie('remember')
  browser.close()
  cloud.misbehave(
    (_, response) => void response.writeHead(200).end(typeof body === 'string' ? body : JSON.stringify(body)),
  )
  const page = await browser.open()
  expect([page.status, page.headers['retry-after']]).toEqual([503, '60'])
  expect(page.text).toContain('doesn’t accept this server')
  expect(page.text).toContain('<h1>Harbour sign-in</h1>')
  expect(browser.cookie('remember')).toBe(cookie)
  if (what === 'another user than requested') return
  const answer = await browser.signIn('anna', CLOUD_PASSWORD)
  expect(answer.status).toBe(503)
  expect(answer.text).toContain('value="anna"')
  expect(await healthOf()).toEqual([{ solution: 'harbour', problem: 'answer' }])
})

test('attempts that could not be checked do not count towards the host’s throttle; wrong passwords do', async () => {
  const strict = await startSatellite(cloud, { THROTTLE_ACCOUNT_NETWORK: '2' })
  await addCloudSolution(strict)
  const browser = await visit(strict, 'harbour')
  cloud.misbehave((_, response) => response.writeHead(503).end())
  for (let time = 0; time < 5; time++) expect((await browser.signIn('anna', CLOUD_PASSWORD)).status).toBe(503)
  cloud.behave()
  const asked = cloud.asked('authenticate').length
  for (const status of [401, 401, 429, 429]) expect((await browser.signIn('anna', 'wrong')).status).toBe(status)
  expect(cloud.asked('authenticate').length - asked).toBe(2)
  await strict.stop()
})

test('a changed page is shown within a minute, and requested at most once a minute', async () => {
  expect(await title()).toBe('Harbour sign-in')
  const asked = cloud.asked('login-page').length
  cloud.design({ ...DESIGNED, texts: { default: { 'design.title': 'New sign-in', 'design.branch': 'B' } } })
  expect(await title()).toBe('Harbour sign-in')
  expect(cloud.asked('login-page').length).toBe(asked)
  await laterByAMinute()
  await expect.poll(() => title(), SLOW).toBe('New sign-in')
  expect(cloud.asked('login-page').length).toBe(asked + 1)
  expect(cloud.asked('login-page').at(-1)?.tag).toMatch(/^"\d+"$/)
})

test('an invalid page is not used: the previous page stays, and the operator gets a warning', async () => {
  await laterByAMinute()
  await expect.poll(() => title(), SLOW).toBe('Harbour sign-in')
  const faultsAndTitle = async () => [await title(), await healthOf()]
  cloud.design({ template: '<h1>No form</h1>', texts: {} })
  await laterByAMinute()
  const page = [{ solution: 'harbour', problem: 'page' }]
  await expect.poll(faultsAndTitle, SLOW).toEqual(['Harbour sign-in', page])
  expect((await logOf('harbour')).at(-1)).toMatch(
    /^The login page from the control center was rejected: the page does not have /,
  )
  const asked = cloud.asked('login-page').length
  await laterByAMinute()
  await expect.poll(faultsAndTitle, SLOW).toEqual(['Harbour sign-in', page])
  await expect.poll(() => cloud.asked('login-page').length, SLOW).toBe(asked + 1)
  cloud.behave()
  await laterByAMinute()
  await expect.poll(faultsAndTitle, SLOW).toEqual(['Harbour sign-in', []])
})

const HOSTILE_PAGES: [string, LoginPageAnswer | string, string][] = [
  [
    'texts with markup',
    { ...DESIGNED, texts: { default: { 'design.title': '<script>alert(1)</script>%%username%%' } } },
    '<h1>&lt;script&gt;alert(1)&lt;/script&gt;%%username%%</h1>',
  ],
  [
    'a form that sends passwords elsewhere',
    { ...DESIGNED, template: DESIGNED.template.replace('<form ', '<form action="https://evil.example/" ') },
    "form-action 'self'",
  ],
  ['250,000 open elements', { template: '<b>'.repeat(80_000), texts: {} }, 'Harbour sign-in'],
  ['more than the protocol allows', { template: 'x'.repeat(300_000), texts: {} }, 'Harbour sign-in'],
  ['HTML', '<html></html>', 'Harbour sign-in'],
]
test.each(HOSTILE_PAGES)('a malicious page is shown safely or not used: %s', async (_, design, expected) => {
  await laterByAMinute()
  await expect.poll(() => title(), SLOW).toBe('Harbour sign-in')
  const asked = cloud.asked('login-page').length
  if (typeof design === 'string') cloud.misbehave((_, response) => void response.writeHead(200).end(design))
  else cloud.design(design)
  await laterByAMinute()
  const shown = async () => {
    const { text, headers } = await (await visit(host, 'harbour')).open()
    return [cloud.asked('login-page').length > asked, `${headers['content-security-policy']}${text}`] as const
  }
  await expect.poll(shown, SLOW).toEqual([true, expect.stringContaining(expected)])
  expect((await signIn()).answer.status).toBe(typeof design === 'string' ? 503 : 303)
})

test('after a restart while the control center is down, the page is shown as before', async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-cloud-'))
  const before = await startSatellite(cloud, {}, { home })
  await addCloudSolution(before)
  expect(await title(before)).toBe('Harbour sign-in')
  await before.stop()
  await cloud.goAway()
  try {
    const again = await startSatellite(cloud, {}, { home })
    expect(await title(again)).toBe('Harbour sign-in')
    await again.stop()
  } finally {
    await cloud.comeBack()
  }
  rmSync(home, { recursive: true })
})

test('if the environment does not have the solution, the operator gets a warning, and users get 503 with the default page', async () => {
  await addCloudSolution(host, 'lost')
  const browser = await visit(host, 'lost')
  const answer = await browser.signIn('anna', CLOUD_PASSWORD)
  expect([answer.status, answer.headers['retry-after']]).toEqual([503, '60'])
  expect(answer.text).toContain('doesn’t accept this server')
  expect(await healthOf()).toContainEqual({ solution: 'lost', problem: 'unknown' })
  expect(await logOf('lost')).toEqual([
    'This environment does not include the solution, so new sign-ins fail: the control center returned HTTP 404. Add the solution to the environment in the control center.',
  ])
  await askAdmin(host, 'DELETE', 'solutions/lost', undefined, 204)
  expect(await healthOf()).not.toContainEqual({ solution: 'lost', problem: 'unknown' })
})

test('if the token is revoked, the operator sees which property to set', async () => {
  const revoked = await startSatellite(cloud, { REMOTE_ENVIRONMENT_TOKEN: 'revoked' })
  await addCloudSolution(revoked)
  const browser = await visit(revoked, 'harbour')
  expect((await browser.signIn('anna', CLOUD_PASSWORD)).status).toBe(503)
  expect(await healthOf(revoked)).toEqual([{ solution: 'harbour', problem: 'token' }])
  expect((await logOf('harbour', revoked)).join()).toContain('Set REMOTE_ENVIRONMENT_TOKEN')
  await revoked.stop()
})

test('a login token from this platform works without the control center', async () => {
  const { token } = await askAdmin(host, 'POST', 'solutions/harbour/login-tokens', {
    username: 'carl',
    uid: 'x-1',
    permissions: ['Users'],
  })
  const browser = await visit(host, 'harbour')
  const asked = cloud.asked('authenticate').length
  expect((await browser.post(browser.page, { id_token: String(token) })).status).toBe(303)
  expect((await browser.session()).json()).toMatchObject({ username: 'carl' })
  expect(cloud.asked('authenticate').length).toBe(asked)
})

test('without a control center, a PLATFORM_CLOUD solution shows a 503 page that says what the operator must do', async () => {
  const alone = await startTestHost()
  await alone.upload('harbour', await bundleOf({ name: 'harbour', authenticator: 'PLATFORM_CLOUD' }))
  const page = await (await visit(alone, 'harbour')).open()
  expect(page.status).toBe(503)
  expect(page.text).toContain('ENVIRONMENT=onprem, CLOUD_URL and REMOTE_ENVIRONMENT_TOKEN')
  await alone.stop()
})

test('the audit log and metrics contain the mode; no log, audit log or error contains the password or the token', async () => {
  const wrong = 'a wrong but secret password'
  await (await visit(host, 'harbour')).signIn('anna', wrong, { custom_branch: 'secret branch' })
  cloud.misbehave((request, response) => send(response, 500, { echo: request.headers.authorization }))
  await (await visit(host, 'harbour')).signIn('anna', wrong)
  cloud.behave()
  const { items } = await askAdmin(host, 'GET', 'audit?action=sign-in&limit=50')
  const outcomes = (items as { outcome: string; solution: string }[]).map(({ outcome }) => outcome)
  for (const one of ['ok', 'refused', 'throttled', 'ERR_CLOUD_UNREACHABLE']) expect(outcomes).toContain(one)
  const metrics = await (await fetch(`${host.adminUrl}/metrics`, { headers: { authorization: host.admin } })).text()
  expect(metrics).toMatch(/logins\S*\{[^}]*mode="platform_cloud"[^}]*\}/)
  const everything = host.logged() + JSON.stringify(items) + (await logOf('harbour')).join() + metrics
  for (const secret of [wrong, CLOUD_PASSWORD, CLOUD_TOKEN, 'secret branch']) expect(everything).not.toContain(secret)
})
