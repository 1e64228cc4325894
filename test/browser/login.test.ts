import { CspEvaluator } from 'csp_evaluator/dist/evaluator.js'
import { Severity } from 'csp_evaluator/dist/finding.js'
import { CspParser } from 'csp_evaluator/dist/parser.js'
import { Secret, TOTP } from 'otpauth'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { browserPath, closeContexts, complaintsOf, lookOf, SOUND_LOOK, sharedBrowser } from '../support/browser.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { addDefaultSolution, addUser, askAdmin, PASSWORD } from '../support/users.ts'
import { zipOf } from '../support/zip.ts'

const TENANT = '/solution/tenant-login/index.html'
const STANDARD = '/solution/standard/index.html'
const USERS = '/solution/users/index.html'
const ACCOUNT = '/solution/users/account'
const HELP = 'Call the help desk: 1234.'

/** A platform page: its path, how users get there from the previous page, and its other content. */
type Step = {
  readonly name: string
  readonly come: (page: Page) => Promise<unknown>
  readonly heading: string
  readonly also?: (page: Page) => Promise<void>
}

/** The pages for each user, in the order in which they are visited. */
const JOURNEYS: Readonly<Record<string, readonly Step[]>> = {
  'tenant-login': [
    {
      name: 'login page',
      come: (page) => page.goto(at(TENANT)),
      heading: 'Sign in to your workspace',
      also: expectNoAlert,
    },
    {
      name: 'refused login page',
      come: (page) => signInAtTenant(page, 'wrong-one'),
      heading: 'Sign in to your workspace',
      also: (page) => expectRefused(page, 'Sign-in failed – Sign in to your workspace', 'tenant'),
    },
    { name: 'page after sign-in', come: (page) => signInAtTenant(page), heading: 'Tenant login' },
    {
      name: 'page after sign-out',
      come: (page) => page.getByRole('button', { name: 'Sign out' }).click(),
      heading: 'You are signed out',
    },
  ],
  'the default login page': [
    { name: 'login page', come: (page) => page.goto(at(STANDARD)), heading: 'Sign in', also: expectNameAndHelp },
    {
      name: 'refused login page',
      come: (page) => signInAtStandard(page, 'wrong-one'),
      heading: 'Sign in',
      also: (page) => expectRefused(page, 'Sign-in failed – Sign in – standard', 'username'),
    },
    { name: 'page after sign-in', come: (page) => signInAtStandard(page), heading: 'standard' },
  ],
  'somebody who has to choose a password': [
    { name: 'page to choose it', come: comeToChoose, heading: 'Choose a new password' },
    {
      name: 'the same after a password that is too short',
      come: (page) => choose(page, 'password1', 'password1'),
      heading: 'Choose a new password',
    },
  ],
  'a user of the users table': [
    { name: 'page after sign-in', come: (page) => signInAtUsers(page, 'olga'), heading: 'users' },
    { name: 'page of the account', come: (page) => page.goto(at(ACCOUNT)), heading: 'Your account' },
    {
      name: 'page on which the password is changed',
      come: (page) => page.goto(at('/solution/users/password')),
      heading: 'Choose a new password',
    },
  ],
  'a user who adds an authenticator app': [
    { name: 'page after sign-in', come: (page) => signInAtUsers(page, 'factory'), heading: 'users' },
    { name: 'page of the new app', come: comeToNewApp, heading: 'Set up an authenticator app' },
    {
      name: 'the same after a wrong code',
      come: (page) => enterCode(page, '000000'),
      heading: 'Set up an authenticator app',
      also: async (page) => expect(await page.innerText('[role=alert]')).toContain('This code is wrong'),
    },
    { name: 'page of the recovery codes', come: comeToCodes, heading: 'Save your recovery codes' },
    { name: 'page of the account', come: (page) => page.goto(at(ACCOUNT)), heading: 'Your account' },
    { name: 'page of the second step', come: comeToSecondStep, heading: 'Confirm that it’s you' },
    {
      name: 'the same for a recovery code',
      come: (page) => page.goto(at('/solution/users/second-step?recovery')),
      heading: 'Confirm that it’s you',
    },
  ],
  'an address with nothing': [{ name: 'its page', come: (page) => page.goto(at('/solution/nobody/')), heading: '' }],
}

async function expectNoAlert(page: Page): Promise<void> {
  expect(await page.getByRole('alert').count()).toBe(0)
}

/** Expects the default page with the solution's title and PASSWORD_HELP, and without an alert. */
async function expectNameAndHelp(page: Page): Promise<void> {
  await expectNoAlert(page)
  expect(await page.title()).toBe('Sign in – standard')
  expect(await page.innerText('.application')).toBe('standard')
  expect(await page.innerText('.password-help')).toBe(HELP)
}

async function expectRefused(page: Page, title: string, field: string): Promise<void> {
  expect([await page.title(), await page.evaluate('document.activeElement.id')]).toEqual([title, field])
}

let host: TestHost
let browser: Browser

const at = (path: string) => `${host.url}${path}`

async function signInAtTenant(page: Page, password = 'anna-tries-acme'): Promise<void> {
  await page.goto(at(TENANT))
  await page.selectOption('#tenant', 'acme')
  await submit(page, 'anna', password)
}

async function signInAtStandard(page: Page, password = 'open'): Promise<void> {
  await page.goto(at(STANDARD))
  await submit(page, 'anna', password)
}

async function signInAtUsers(page: Page, username: string, password = PASSWORD): Promise<void> {
  await page.goto(at(USERS))
  await submit(page, username, password)
}

function comeToChoose(page: Page): Promise<void> {
  return signInAtUsers(page, 'newcomer')
}

async function choose(page: Page, password: string, repeat: string): Promise<void> {
  await page.getByLabel('New password', { exact: true }).fill(password)
  await page.getByLabel('Confirm new password').fill(repeat)
  await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Change password' }).click()])
}

async function comeToNewApp(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Account', exact: true }).click()
  await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
}

/** Enters a code as a user would, on the page that adds an app or on the page for the second step. */
async function enterCode(page: Page, code: string): Promise<void> {
  await page.getByLabel('Code from your authenticator app').pressSequentially(code)
  await page.keyboard.press('Enter')
}

async function comeToCodes(page: Page): Promise<void> {
  await page.getByText('Can’t scan the code?').click()
  const secret = (await page.innerText('.setup-key')).replaceAll(' ', '')
  await enterCode(page, new TOTP({ secret: Secret.fromBase32(secret) }).generate())
}

async function comeToSecondStep(page: Page): Promise<void> {
  await page.goto(at(USERS))
  await page.getByRole('button', { name: 'Sign out' }).click()
  await signInAtUsers(page, 'factory')
}

async function submit(page: Page, username: string, password: string): Promise<void> {
  await page.fill('#username', username)
  await page.fill('#password', password)
  await Promise.all([page.waitForEvent('load'), page.click('button[type=submit]')])
}

describe.skipIf(browserPath === undefined)('signing in with a browser', () => {
  beforeAll(async () => {
    host = await startTestHost({ PASSWORD_HELP: HELP })
    const uploads = [
      await host.upload('tenant-login', await packFolder(exampleFolder('tenant-login'))),
      await host.upload('standard', await standardSolution()),
    ]
    for (const answer of uploads) expect(await answer.json()).toMatchObject({ active: true, warnings: [] })
    await addDefaultSolution(host, 'users')
    await addUser(host, 'olga')
    await addUser(host, 'factory')
    await addUser(host, 'newcomer', { mustChangePassword: true })
    browser = await sharedBrowser()
  })

  afterAll(async () => {
    await closeContexts(browser)
    await host?.stop()
  })

  /** Opens a page in its own browser profile; `complaints` are its console messages except for failed requests. */
  async function open(options: BrowserContextOptions = {}) {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const complaints = complaintsOf(page)
    return {
      page,
      // Ignores Chromium's warning that a sandboxed frame can escape. Here, `sandbox` only isolates windows
      // (base/http/content-security.ts).
      complaints: () => complaints.filter((line) => !/status of (401|404|422)|can escape its sandboxing/.test(line)),
      [Symbol.asyncDispose]: () => context.close(),
    }
  }

  test.each(Object.entries(JOURNEYS))(
    '%s: every page passes axe in light and dark mode, fits 320 and 1280 px, and has a safe Content-Security-Policy and an empty console',
    async (_who, steps) => {
      await using opened = await open({ viewport: { width: 1280, height: 640 } })
      const { page } = opened
      const policies: string[] = []
      page.on('response', (response) => {
        if (response.request().isNavigationRequest()) policies.push(response.headers()['content-security-policy'] ?? '')
      })
      for (const { name, come, heading, also } of steps) {
        await come(page)
        if (heading !== '') await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
        await also?.(page)
        expect([name, await lookOf(page)]).toEqual([name, SOUND_LOOK])
        expect([name, opened.complaints()]).toEqual([name, []])
        expect([name, policies.flatMap(seriousFindings)]).toEqual([name, []])
      }
    },
  )

  test('a user who must change their password can sign in with the new one, and is remembered after the browser is closed', async () => {
    await using opened = await open()
    const { page } = opened
    const uid = await addUser(host, 'piet', { mustChangePassword: true })
    await signInAtUsers(page, 'piet')
    await choose(page, 'one blue boat sails', 'one blue boat sails')
    expect(await page.innerText('.platform-notice')).toContain('Your password was changed')
    await page.check('#remember')
    await submit(page, 'piet', 'one blue boat sails')
    expect(await facts(page)).toMatchObject({ Username: 'piet', 'User ID': uid })
    const cookies = await page.context().cookies()
    await page.context().clearCookies({ name: 'session-users' })
    await page.goto(at(USERS))
    expect(await facts(page)).toMatchObject({ Username: 'piet' })
    expect(cookies.filter(({ name }) => name === 'remember-users')).toMatchObject([{ httpOnly: true, sameSite: 'Lax' }])
    await Promise.all([page.waitForURL('**?signed-out'), page.getByRole('button', { name: 'Sign out' }).click()])
    await page.goto(at(USERS))
    expect(await page.innerText('h1')).toBe('Sign in')
    expect(opened.complaints()).toEqual([])
  })

  test('a login token in the URL signs the user in, and does not stay in the URL or the history', async () => {
    await using opened = await open()
    const { page } = opened
    const login = { username: 'guest', uid: 'g-1', permissions: ['Users'] }
    const { token } = await askAdmin(host, 'POST', 'solutions/users/login-tokens', login)
    const requested: string[] = []
    page.on('request', (request) => requested.push(request.url()))
    await page.goto(`${at(USERS)}?argument=7#id_token=${token}`)
    await page.waitForURL(`${at(USERS)}?argument=7`)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    expect(await facts(page)).toMatchObject({ Username: 'guest' })
    expect(await page.evaluate('location.href')).toBe(`${at(USERS)}?argument=7`)
    expect(requested.filter((url) => url.includes(token as string) && !url.includes('#'))).toEqual([])
    expect(opened.complaints()).toEqual([])
  })

  test('tenant-login: a user can sign in and out by keyboard only', async () => {
    await using opened = await open()
    const { page } = opened
    const { keyboard } = page
    await page.goto(at(TENANT))
    await keyboard.type('Ac')
    await keyboard.press('Tab')
    await keyboard.type('anna')
    await keyboard.press('Tab')
    await keyboard.type('anna-tries-acme')
    await Promise.all([page.waitForEvent('load'), keyboard.press('Enter')])
    expect(await facts(page)).toMatchObject({
      Username: 'anna',
      'User ID': 'a-1',
      Permissions: 'Users, Administrators',
      Tenant: 'acme, -1',
    })
    await keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Account')
    await keyboard.press('Tab')
    await Promise.all([page.waitForURL('**/index.html?signed-out'), keyboard.press('Enter')])
    await keyboard.press('Tab')
    await Promise.all([page.waitForURL(at(TENANT)), keyboard.press('Enter')])
    expect(await page.innerText('h1')).toBe('Sign in to your workspace')
  })

  test('default login page: a user can sign in by keyboard only', async () => {
    await using opened = await open()
    const { page } = opened
    const { keyboard } = page
    await page.goto(at(STANDARD))
    await keyboard.press('Tab')
    await keyboard.type('anna')
    await keyboard.press('Tab')
    await keyboard.type('open')
    await Promise.all([page.waitForEvent('load'), keyboard.press('Enter')])
    expect(await facts(page)).toMatchObject({ Username: 'anna', Permissions: 'Users', Tenant: 'No tenant' })
  })

  test.each([
    ['tenant-login', signInAtTenant, 'De organisatie, de gebruikersnaam of het wachtwoord is onjuist.'],
    [
      'default login page',
      signInAtStandard,
      'Inloggen mislukt. Controleer uw gebruikersnaam en wachtwoord en probeer het opnieuw.',
    ],
  ])('%s: a wrong password is reported by a visible alert, in Dutch for a Dutch browser', async (_name, come, text) => {
    await using opened = await open({ locale: 'nl' })
    const { page } = opened
    await come(page, 'wrong-one')
    const alert = page.getByRole('alert')
    expect([await alert.isVisible(), await alert.innerText()]).toEqual([true, text])
    expect(await page.getAttribute('html', 'lang')).toBe('nl')
    expect([await page.inputValue('#username'), await page.inputValue('#password')]).toEqual(['anna', ''])
  })

  test('tenant-login: a link with a tenant selects the tenant and focuses the username; the query is kept', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto(at(`${TENANT}?custom_tenant=van-dijk&argument=order-5`))
    expect(await page.inputValue('#tenant')).toBe('van-dijk')
    expect(await page.evaluate('document.activeElement.id')).toBe('username')
    await submit(page, 'bram', 'bram-tries-van-dijk')
    expect(page.url()).toBe(at(`${TENANT}?custom_tenant=van-dijk&argument=order-5`))
    expect(await page.getAttribute('html', 'lang')).toBe('nl-BE')
  })

  test.each([
    ['tenant-login', signInAtTenant],
    ['default login page', signInAtStandard],
  ])('%s: signing in and out works without JavaScript', async (_name, come) => {
    await using opened = await open({ javaScriptEnabled: false })
    const { page } = opened
    await come(page, 'wrong-one')
    expect(await page.getByRole('alert').isVisible()).toBe(true)
    await come(page)
    expect(await page.innerText('.account bdi')).toBe('anna')
    expect(await page.innerText('noscript')).toContain('needs JavaScript. Please turn it on for this site.')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL('**/index.html?signed-out')
    await page.getByRole('link', { name: 'Sign in again' }).click()
    await page.locator('#username').waitFor()
  })

  test('the error page for an unknown URL is in the browser’s language and shows a reference', async () => {
    await using opened = await open({ locale: 'nl' })
    const { page } = opened
    const answer = await page.goto(at('/solution/nobody/index.html'))
    expect(answer?.status()).toBe(404)
    expect(await page.getAttribute('html', 'lang')).toBe('nl')
    expect(await page.innerText('.reference code')).toBe(answer?.headers()['x-correlation-id'])
  })

  test.each(['/solution/tenant-login/session', '/solution/tenant-login/media/mark.svg', '/health/live'])(
    'responses that are not pages also have a Content-Security-Policy that passes csp_evaluator: %s',
    async (path) => {
      const { headers } = await ask(at(path))
      expect(seriousFindings(String(headers['content-security-policy']))).toEqual([])
    },
  )
})

/** The csp_evaluator findings with severity HIGH, SYNTAX or MEDIUM, which fail the test. */
function seriousFindings(policy: string): string[] {
  return new CspEvaluator(new CspParser(policy).csp)
    .evaluate()
    .filter(({ severity }) => severity <= Severity.MEDIUM)
    .map(({ directive, value, description }) => `${directive} ${value ?? ''}: ${description}`)
}

/** @returns the definition list on the page after sign-in, as values by term */
async function facts(page: Page): Promise<Record<string, string>> {
  await page.locator('dl.facts').waitFor()
  const rows = await page.locator('dl.facts > div').all()
  const pairs = rows.map(async (row) => [
    await row.locator('dt').innerText(),
    (await row.locator('dd').innerText()).replace(/\s+/g, ' '),
  ])
  return Object.fromEntries(await Promise.all(pairs)) as Record<string, string>
}

/** A solution without its own login page that accepts any user with the password "open". */
function standardSolution(): Promise<Buffer> {
  return zipOf({
    'solution.json': JSON.stringify({
      name: 'standard',
      version: '1.0.0',
      authenticator: 'AUTHENTICATOR',
      modules: ['auth'],
    }),
    'modules/auth/solution.json': JSON.stringify({ name: 'auth', version: '1.0.0', type: 'authenticator' }),
    'modules/auth/globals.js': `function onSolutionOpen(arg, { username, password }) {
      if (password === 'open') security.login(username, 'uid-of-' + username, ['Users'])
    }`,
  })
}
