import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Secret, TOTP } from 'otpauth'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { openAdminPage } from '../support/admin.ts'
import { codeOf } from '../support/authenticator-app.ts'
import { closeContexts, sharedBrowser } from '../support/browser.ts'
import { CENTER_PASSWORD, OWNER, startTestCenter, type TestCenter } from '../support/center.ts'
import { certificateFolder } from '../support/certificates.ts'
import { openWatched, SCREENSHOTS, signIn } from '../support/client-browser.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { type LdapServer, startLdapServer } from '../support/ldap-server.ts'
import { adDirectory, adEntries } from '../support/played-directory.ts'
import { IS_FULL_SCALE } from '../support/scale.ts'
import { addDefaultSolution, addUser, askAdmin, PASSWORD } from '../support/users.ts'

// Creates the images for the READMEs and guides, and checks that each is used. With README_IMAGES=write, the images
// are saved in docs/images; otherwise, next to the other screenshots. They are not compared, because fonts differ
// between machines. Other tests cover the pages themselves, so most images are created only at full scale.

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const IMAGES = `${ROOT}docs/images/`
/** Images with a palette of 256 colours stay below this limit, which keeps the package small (CONTRIBUTING.md). */
const MOST_BYTES = 60_000

type Picture = {
  readonly page: string
  /** Whether it needs only the host. Only these images are created in normal test runs. */
  readonly ofHost?: true
  readonly size: { readonly width: number; readonly height: number }
  readonly options: BrowserContextOptions
  readonly come: (page: Page) => Promise<void>
}

const PICTURES: Readonly<Record<string, Picture>> = {
  'orders-list': {
    page: 'README.md',
    ofHost: true,
    size: { width: 1200, height: 1000 },
    options: { colorScheme: 'light' },
    async come(page) {
      await openOrders(page)
      await page.check('[id="e-orders-list.row.58"] input')
      await page.check('[id="e-orders-list.row.57"] input')
      await page.waitForSelector('[id="e-orders-approve.input"]:enabled')
    },
  },
  'orders-order': {
    page: 'solutions/orders/README.md',
    ofHost: true,
    size: { width: 1200, height: 660 },
    options: { colorScheme: 'dark' },
    async come(page) {
      await openOrders(page)
      await page.click('[id="e-orders-list.row.58"] button')
      await page.waitForSelector('#f-order')
    },
  },
  'orders-login-form': {
    page: 'solutions/orders-login-form/README.md',
    ofHost: true,
    size: { width: 390, height: 620 },
    options: { colorScheme: 'light' },
    async come(page) {
      await page.goto(`${host.url}/solution/orders-login-form/index.html`)
      await page.fill('[id="e-sign_in-username.input"]', 'marco')
    },
  },
  'passkey-login': {
    page: 'docs/passkeys.md',
    size: { width: 560, height: 620 },
    options: { colorScheme: 'light' },
    come: openPasskeyLogin,
  },
  'second-factor-set-up': {
    page: 'docs/second-factors.md',
    size: { width: 720, height: 880 },
    options: { colorScheme: 'light' },
    come: (page) => startSignIn(page, 'nina'),
  },
  'second-factor-code': {
    page: 'docs/second-factors.md',
    size: { width: 720, height: 480 },
    options: { colorScheme: 'light' },
    async come(page) {
      await setUpApp(page, 'otto')
      await page.context().clearCookies()
      await startSignIn(page, 'otto')
      await page.waitForSelector('[autocomplete="one-time-code"]')
    },
  },
  'second-factor-confirm': {
    page: 'docs/second-factors.md',
    size: { width: 960, height: 720 },
    options: { colorScheme: 'light' },
    async come(page) {
      // Use "remember", because a remembered user has not entered credentials recently.
      await page.goto(`${host.url}/solution/orders/index.html`)
      await page.check('[name=remember]')
      await page.fill('#username', 'marco')
      await page.fill('#password', PASSWORD)
      await page.press('#password', 'Enter')
      await page.waitForSelector('form[data-form]')
      await page.context().clearCookies({ name: /session/ })
      await page.reload()
      await page.check('[id="e-orders-list.row.58"] input')
      await page.check('[id="e-orders-list.row.57"] input')
      await page.click('[id="e-orders-remove.input"]:enabled')
      const frame = await (await page.waitForSelector('dialog iframe')).contentFrame()
      await frame?.waitForSelector('#password')
    },
  },
  'second-factor-account': {
    page: 'docs/second-factors.md',
    size: { width: 960, height: 1420 },
    options: { colorScheme: 'light' },
    async come(page) {
      await setUpApp(page, 'paul')
      await page.goto(`${host.url}/solution/payroll/account`)
    },
  },
  'directory-form': {
    page: 'docs/directories.md',
    size: { width: 960, height: 1340 },
    options: { colorScheme: 'light' },
    async come(page) {
      await openAdminPage(page, host, '/admin/new-directory')
      await page.fill('#name', 'corp')
      await page.fill('#urls', 'ldaps://dc1.corp.example\nldaps://dc2.corp.example')
      await page.fill('#bind-dn', 'CN=solhost,OU=Service accounts,DC=corp,DC=example')
      await page.evaluate('scrollTo(0, 0)')
    },
  },
  'directory-test': {
    page: 'docs/directories.md',
    size: { width: 960, height: 1110 },
    options: { colorScheme: 'light' },
    async come(page) {
      await openAdminPage(page, host, '/admin/directories/corp')
      await page.fill('#test-username', 'carla')
      await page.press('#test-username', 'Enter')
      await page.waitForSelector('.tested .advice')
    },
  },
  workbench: {
    page: 'docs/workbench.md',
    size: { width: 1040, height: 840 },
    options: { colorScheme: 'light' },
    come: openWorkbench,
  },
  'control-center-account': {
    page: 'docs/control-center.md',
    size: { width: 960, height: 660 },
    options: { colorScheme: 'light' },
    async come(page) {
      await openCenterAccount(page, 'lena@example.org')
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    },
  },
  'control-center-members': {
    page: 'docs/control-center.md',
    size: { width: 1100, height: 640 },
    options: { colorScheme: 'light' },
    async come(page) {
      await openCenterAccount(page, OWNER)
      await page.goto(`${center.url}/o/acme/members`)
      await page.selectOption('[name=secondFactor]', 'required')
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    },
  },
  'self-service-forgotten': {
    page: 'docs/self-service.md',
    size: { width: 720, height: 480 },
    options: { colorScheme: 'light' },
    come: async (page) => void (await page.goto(`${mailing.addressOf('desk')}forgotten-password`)),
  },
  'self-service-new-password': {
    page: 'docs/self-service.md',
    size: { width: 720, height: 600 },
    options: { colorScheme: 'light' },
    async come(page) {
      const uid = await addUser(mailing, 'anna')
      await page.goto(String((await askAdmin(mailing, 'POST', `users/${uid}/links`, { kind: 'password' })).link))
      await page.waitForSelector('#new')
    },
  },
}

let host: TestHost
let center: TestCenter
/** A host with mail settings. Its mail server doesn't have to be reachable. */
let mailing: TestHost
let directory: LdapServer
let browser: Browser

beforeAll(async () => {
  host = await startTestHost()
  for (const name of ['orders', 'orders-login-form']) {
    const answer = await host.upload(name, await packFolder(exampleFolder(name)))
    expect(await answer.json()).toMatchObject({ active: true })
  }
  await addUser(host, 'marco', { permissions: ['Orders', 'Edit', 'Approve'] })
  browser = await sharedBrowser()
  if (IS_FULL_SCALE) await startOthers()
})

/** Starts what only the images at full scale need. */
async function startOthers(): Promise<void> {
  await addDefaultSolution(host, 'payroll', { title: 'Payroll' })
  await askAdmin(host, 'PUT', 'solutions/payroll/sign-in-policy', { level: 'required' })
  for (const name of ['nina', 'otto', 'paul']) await addUser(host, name, { email: `${name}@example.org` })
  using certificates = await certificateFolder()
  await certificates.issue('server', { names: 'DNS:localhost,IP:127.0.0.1' })
  const certificate = { cert: certificates.bytes('server.pem'), key: certificates.bytes('server-key.pem') }
  directory = await startLdapServer(adEntries(), { mode: 'ldaps', certificate })
  const { name, ...settings } = adDirectory(directory, {
    urls: [`ldaps://localhost:${directory.port}`],
    startTls: true,
    ca: readFileSync(certificates.authority, 'utf8'),
  })
  await askAdmin(host, 'PUT', `directories/${name}`, settings)
  mailing = await startTestHost({
    SMTP_URL: 'smtp://127.0.0.1:9',
    MAIL_FROM: 'no-reply@example.org',
    SOLUTION_ORIGIN: 'http://{name}.localhost',
  })
  await addDefaultSolution(mailing, 'desk', { title: 'Help desk' })
  // Passkeys don't work on an IP address.
  center = await startTestCenter({ HOST: 'localhost' })
  for (const name of ['lena', 'mats']) await center.member(`${name}@example.org`, 'developer')
}

afterAll(async () => {
  await closeContexts(browser)
  await host?.stop()
  await center?.stop()
  await mailing?.stop()
  await directory?.stop()
})

async function openOrders(page: Page): Promise<void> {
  await signIn(page, `${host.url}/solution/orders/index.html`, 'marco')
  await page.waitForSelector('[id="e-orders-list.row.60"]')
}

/** Opens a draft with an error in one script. */
async function openWorkbench(page: Page): Promise<void> {
  const name = 'orders-login-form'
  const { active } = await askAdmin(host, 'GET', `solutions/${name}`)
  const { id } = await askAdmin(host, 'POST', `solutions/${name}/drafts`, { base: active })
  await openAdminPage(page, host, `/admin/solutions/${name}/workbench?draft=${id}&file=forms/sign_in.js`)
  await page.locator('.cm-content', { hasText: 'function' }).click()
  await page.keyboard.press('Control+End')
  await page.keyboard.insertText('\nfunction greeting( {\n  return 1\n}\n')
  await page.waitForSelector('#workbench-state[data-state=saved]')
  await page.waitForSelector('.cm-lint-marker-error')
  await page.evaluate('scrollTo(0, 145)')
}

/** Browsers don't allow passkeys on an IP address. */
async function openPasskeyLogin(page: Page): Promise<void> {
  await page.goto(`${host.url.replace('127.0.0.1', 'localhost')}/solution/payroll/index.html`)
  await page.waitForSelector('#passkey:visible')
}

/** Signs in with the password only; a second step follows. */
async function startSignIn(page: Page, username: string): Promise<void> {
  await page.goto(`${host.url}/solution/payroll/index.html`)
  await page.fill('#username', username)
  await page.fill('#password', PASSWORD)
  await page.press('#password', 'Enter')
  await page.waitForSelector('input[name="code"]')
}

/** Signs in to the control center and adds an app on the page "Your account". */
async function openCenterAccount(page: Page, username: string): Promise<void> {
  await page.goto(`${center.url}/sign-in?to=/account`)
  await page.fill('[name=username]', username)
  await page.fill('[name=password]', CENTER_PASSWORD)
  await page.press('[name=password]', 'Enter')
  await page.click('button[value=new-app]')
  await page.fill('[name=code]', codeOf(((await page.textContent('.setup-key')) ?? '').replaceAll(' ', ''), 0))
  await page.click('button[value=add-app]')
  await page.click('button[value=saved]')
  await page.waitForSelector('button[value=new-codes]')
}

async function setUpApp(page: Page, username: string): Promise<void> {
  await startSignIn(page, username)
  const secret = (await page.textContent('.setup-key')) ?? ''
  await page.fill('input[name="code"]', new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) }).generate())
  await page.click('[value="add-app"]')
  await page.click('[value="saved"]')
  await page.waitForURL('**/index.html')
}

test.each(Object.entries(PICTURES))(
  'the image %s is used in its README with alt text, and has a small file size and the declared dimensions',
  (name, { page, size }) => {
    const kept = readFileSync(`${IMAGES}${name}.png`)
    expect(kept.length).toBeLessThan(MOST_BYTES)
    // The first chunk of a PNG file starts with width and height (PNG, section 11.2.2).
    expect({ width: kept.readUInt32BE(16), height: kept.readUInt32BE(20) }).toEqual(size)
    const address = posix.relative(posix.dirname(page), `docs/images/${name}.png`)
    expect(readFileSync(`${ROOT}${page}`, 'utf8')).toMatch(
      new RegExp(`!\\[[^\\]]{20,}\\]\\(${RegExp.escape(address)}\\)`),
    )
  },
)

test.each(Object.entries(PICTURES).filter(([, { ofHost }]) => IS_FULL_SCALE || ofHost))(
  'the image %s can be created, and the page logs nothing',
  async (name, { size, options, come }) => {
    await using opened = await openWatched(browser, { ...options, viewport: size })
    await come(opened.page)
    await opened.page.mouse.move(0, 0)
    const folder = process.env.README_IMAGES === 'write' ? IMAGES : SCREENSHOTS
    mkdirSync(folder, { recursive: true })
    writeFileSync(`${folder}${name}.png`, await opened.page.screenshot({ animations: 'disabled', caret: 'hide' }))
    expect(opened.complaints).toEqual([])
  },
)
