import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { closeContexts, sharedBrowser } from '../support/browser.ts'
import { eventually, faultsOfScreen, hear, nameOfFocus, openWatched, pressUntil } from '../support/client-browser.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { addUser, askAdmin, PASSWORD } from '../support/users.ts'

// Tests solutions/orders-login-form in a real browser on a real host.

const NAME = 'orders-login-form'
const PAGE = `/solution/${NAME}/index.html`
const WRONG = 'eight yellow tractors'
const REFUSED = 'The username or password is wrong.'

const input = (name: string) => `[id="e-sign_in-${name}.input"]`

let host: TestHost
let browser: Browser

beforeAll(async () => {
  host = await startExample()
  browser = await sharedBrowser()
})

afterAll(async () => {
  await closeContexts(browser)
  await host?.stop()
})

async function startExample(properties: Record<string, string> = {}): Promise<TestHost> {
  const started = await startTestHost(properties)
  const answer = await started.upload(NAME, await packFolder(exampleFolder(NAME)))
  expect(await answer.json()).toMatchObject({ active: true, warnings: [] })
  await askAdmin(started, 'PUT', `solutions/${NAME}/grants`, { databases: {}, http: [], users: true })
  await addUser(started, 'marco', { permissions: ['Orders', 'Edit', 'Approve'] })
  await addUser(started, 'vera', { permissions: ['Orders'] })
  return started
}

async function open(at: TestHost = host) {
  const opened = await openWatched(browser)
  await opened.page.goto(`${at.url}${PAGE}`)
  await opened.page.waitForSelector('#f-sign_in')
  return opened
}

async function enter(page: Page, username: string, password: string): Promise<void> {
  await page.fill(input('username'), username)
  await page.fill(input('password'), password)
  await page.press(input('password'), 'Enter')
}

async function sessionCookie(page: Page): Promise<string | undefined> {
  const cookies = await page.context().cookies()
  return cookies.find(({ name }) => name === `session-${NAME}`)?.value
}

test('a wrong password shows an error at the field; Enter then signs the user in, with a new session each time', async () => {
  await using opened = await open()
  const { page, complaints } = opened
  const said = await hear(page, '[id="e-sign_in-password.error"]')
  await enter(page, 'marco', WRONG)
  await eventually(said).toBe(`Error: ${REFUSED}`)
  expect([await page.inputValue(input('username')), await page.inputValue(input('password'))]).toEqual(['marco', ''])
  expect(await nameOfFocus(page)).toBe('e-sign_in-password.input')
  expect(await page.getAttribute(input('password'), 'aria-describedby')).toBe('e-sign_in-password.error')
  expect(await faultsOfScreen(page, 'login-form-refused')).toEqual([])
  expect(await sessionCookie(page)).toBeUndefined()

  await enter(page, 'marco', PASSWORD)
  await page.waitForSelector('#f-welcome')
  expect(await page.innerText('main')).toContain('You are signed in as marco. Your permissions: Approve, Edit, Orders.')
  expect(await page.innerText('main')).toContain('You can approve orders.')
  expect(page.url()).toBe(`${host.url}${PAGE}`)
  const first = await sessionCookie(page)
  expect(first).toBeDefined()
  expect(await faultsOfScreen(page, 'login-form-welcome')).toEqual([])

  await Promise.all([page.waitForURL('**?signed-out'), page.getByRole('button', { name: 'Sign out' }).click()])
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await page.waitForSelector('#f-sign_in')
  await enter(page, 'vera', PASSWORD)
  await page.waitForSelector('#f-welcome')
  expect(await page.innerText('main')).not.toContain('You can approve orders.')
  expect(await sessionCookie(page)).not.toBe(first)
  expect(complaints).toEqual([])
})

test('missing input is reported before any attempt, and users can sign in and out by keyboard alone', async () => {
  await using opened = await open()
  const { page, complaints } = opened
  const { keyboard } = page
  await pressUntil(page, 'Tab', 'e-sign_in-submit.input')
  const said = await hear(page, '[id="e-sign_in-username.error"]')
  await keyboard.press('Space')
  await eventually(said).toBe('Error: Please fill in this field.')
  expect(await nameOfFocus(page)).toBe('e-sign_in-username.input')
  await keyboard.type('vera')
  await pressUntil(page, 'Tab', 'e-sign_in-password.input')
  await keyboard.type(PASSWORD)
  await pressUntil(page, 'Tab', 'e-sign_in-submit.input')
  await keyboard.press('Enter')
  await page.waitForSelector('#f-welcome')
  await pressUntil(page, 'Tab', 'Sign out')
  await Promise.all([page.waitForURL('**?signed-out'), keyboard.press('Enter')])
  expect(complaints).toEqual([])
})

test('right and wrong passwords are never in a frame from the host, on a page or in a log', async () => {
  await using opened = await open()
  const { page, frames, sources } = opened
  await enter(page, 'marco', WRONG)
  await page.waitForSelector(`text=${REFUSED}`)
  await enter(page, 'marco', PASSWORD)
  await page.waitForSelector('#f-welcome')
  const log = await ask(`${host.url}/admin/api/solutions/${NAME}/log`, { headers: { authorization: host.admin } })
  expect(log.status).toBe(200)
  const everything = [...frames().map((frame) => JSON.stringify(frame)), ...sources, log.text, host.logged()].join('\n')
  expect(everything).toContain('marco')
  expect([PASSWORD, WRONG].filter((password) => everything.includes(password))).toEqual([])
})

test('after too many attempts from one network, an alert says so, even if the password is right', async () => {
  // The button press and the script's password check each count as an attempt.
  const throttled = await startExample({ THROTTLE_NETWORK: '4' })
  await using opened = await open(throttled)
  const { page, complaints } = opened
  for (const password of [WRONG, `${WRONG}!`]) {
    await enter(page, 'marco', password)
    await page.waitForSelector(`text=${REFUSED}`)
    await eventually(() => page.inputValue(input('password'))).toBe('')
  }
  const said = await hear(page, '#client-alerts')
  await enter(page, 'marco', PASSWORD)
  await eventually(said).toContain('Too many')
  expect(await faultsOfScreen(page, 'login-form-throttled')).toEqual([])
  expect([await page.isVisible('#f-sign_in'), await sessionCookie(page)]).toEqual([true, undefined])
  expect(complaints).toEqual([])
  await throttled.stop()
})

test('two tabs on the login form: only the first sign-in takes effect, and the second tab shows who signed in', async () => {
  await using opened = await open()
  const { page, profile, complaints } = opened
  const other = await profile.newPage()
  await other.goto(`${host.url}${PAGE}`)
  await other.waitForSelector('#f-sign_in')
  await enter(page, 'marco', PASSWORD)
  await page.waitForSelector('#f-welcome')
  await enter(other, 'vera', PASSWORD)
  await other.waitForSelector('#f-welcome')
  for (const one of [page, other]) expect(await one.innerText('main')).toContain('You are signed in as marco.')
  expect(await page.innerText('#client-connection')).toBe('')
  expect(complaints).toEqual([])
})

test('two tabs: after a sign-in in one, a reload signs the user in in the other; signing out signs the user out in both', async () => {
  await using opened = await open()
  const { page, profile, complaints } = opened
  const other = await profile.newPage()
  await other.goto(`${host.url}${PAGE}`)
  await other.waitForSelector('#f-sign_in')
  await enter(page, 'marco', PASSWORD)
  await page.waitForSelector('#f-welcome')
  expect(await other.isVisible('#f-sign_in')).toBe(true)
  await other.reload()
  await other.waitForSelector('#f-welcome')
  expect(await other.innerText('main')).toContain('You are signed in as marco.')
  expect(await page.isVisible('#f-welcome')).toBe(true)
  await Promise.all([other.waitForURL('**?signed-out'), other.getByRole('button', { name: 'Sign out' }).click()])
  await eventually(() => page.innerText('#client-connection')).toContain('You are signed out.')
  expect(complaints).toEqual([])
})

test('a login token in the URL signs the user in immediately, and is not in the URL, the history or the network log afterwards', async () => {
  await using opened = await openWatched(browser)
  const { page, profile, complaints } = opened
  const login = { username: 'guest', uid: 'g-1', permissions: ['Orders'] }
  const { token } = (await askAdmin(host, 'POST', `solutions/${NAME}/login-tokens`, login)) as { token: string }
  const requested: string[] = []
  page.on('request', (request) => requested.push(request.url().replace(/#.*/, '')))
  const address = `${host.url}${PAGE}?argument=7`
  await page.goto(`${address}#id_token=${token}`)
  await page.waitForSelector('#f-welcome')
  expect(await page.innerText('main')).toContain('You are signed in as guest. Your permissions: Orders.')
  expect(page.url()).toBe(address)
  expect(requested.filter((url) => url.includes(token))).toEqual([])
  await page.goBack()
  expect(page.url()).not.toContain('id_token')
  // The token can be used only once.
  await profile.clearCookies()
  await page.goto(`${address}&again#id_token=${token}`)
  await page.waitForSelector('#f-sign_in')
  expect([page.url(), await sessionCookie(page)]).toEqual([`${address}&again`, undefined])
  expect(complaints).toEqual([])
})

test('with an invalid login token, the login form is shown and works as usual', async () => {
  await using opened = await openWatched(browser)
  const { page, complaints } = opened
  await page.goto(`${host.url}${PAGE}#id_token=none.at.all`)
  await page.waitForSelector('#f-sign_in')
  expect([page.url(), await sessionCookie(page)]).toEqual([`${host.url}${PAGE}`, undefined])
  await enter(page, 'vera', PASSWORD)
  await page.waitForSelector('#f-welcome')
  expect(complaints).toEqual([])
})

test('the login form passes axe in light and dark mode, at 320 and 1280 px, and nothing scrolls horizontally', async () => {
  await using opened = await open()
  expect(await faultsOfScreen(opened.page, 'login-form')).toEqual([])
  expect(opened.complaints).toEqual([])
})
