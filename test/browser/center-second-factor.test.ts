import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codeOf } from '../support/authenticator-app.ts'
import {
  addAuthenticator,
  browserPath,
  closeContexts,
  complaintsOf,
  lookOf,
  SOUND_LOOK,
  sharedBrowser,
} from '../support/browser.ts'
import { CENTER_PASSWORD, OWNER, startTestCenter, type TestCenter } from '../support/center.ts'
import { startMailServer, type TestMailServer } from '../support/mail.ts'

describe.skipIf(browserPath === undefined)('second factors of the control center, in a browser', () => {
  let mail: TestMailServer
  let center: TestCenter
  let browser: Browser
  let page: Page
  const complaints: string[] = []

  beforeAll(async () => {
    mail = await startMailServer()
    center = await startTestCenter({ HOST: 'localhost', SMTP_URL: mail.url, MAIL_FROM: 'no-reply@example.org' })
    browser = await sharedBrowser()
    page = await openPage({})
  })
  afterAll(async () => {
    await closeContexts(browser)
    await center?.stop()
    await mail?.stop()
  })

  /** Opens a browser profile with a virtual authenticator for passkeys. */
  async function openPage(options: BrowserContextOptions): Promise<Page> {
    const context = await browser.newContext(options)
    const opened = await context.newPage()
    await addAuthenticator(opened)
    complaintsOf(opened, complaints)
    return opened
  }

  async function signIn(at: Page, username: string): Promise<void> {
    await at.goto(`${center.url}/sign-in`)
    await at.fill('[name=username]', username)
    await at.fill('[name=password]', CENTER_PASSWORD)
    await at.click('button[type=submit]')
  }

  async function mailedCode(username: string): Promise<string> {
    const sent = () => mail.mails.findLast(({ to }) => to[0] === username)
    await expect.poll(sent).toBeDefined()
    return /: (\d{6})$/.exec(sent()?.subject ?? '')?.[1] ?? ''
  }

  const title = (at: Page) => at.locator('h1').textContent()

  test('an owner sets up an app and a passkey, and then requires a second step of all members', async () => {
    await signIn(page, OWNER)
    await page.goto(`${center.url}/account`)
    await page.click('button[value=new-app]')
    await page.waitForSelector('.setup-key', { state: 'attached' })
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    const secret = ((await page.locator('.setup-key').textContent()) ?? '').replaceAll(' ', '')
    await page.fill('[name=code]', codeOf(secret, 0))
    await page.click('button[value=add-app]')
    expect(await page.locator('#recovery-codes li').count()).toBe(10)
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('button[value=saved]')
    await page.click('button[value=new-passkey]')
    await page.waitForSelector('form[data-passkey]')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('form[data-passkey] button')
    await expect.poll(() => page.locator('main table tbody tr').count()).toBe(2)
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.goto(`${center.url}/o/acme/members`)
    await page.selectOption('[name=secondFactor]', 'required')
    await page
      .locator('form', { has: page.locator('[name=secondFactor]') })
      .getByRole('button')
      .click()
    await expect.poll(() => page.locator('#admin-said').textContent()).toBe('Setting saved.')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
  })

  test('the owner can use the passkey after the password, without it, and to confirm a change', async () => {
    await page.context().clearCookies()
    await signIn(page, OWNER)
    expect(await title(page)).toBe('Confirm that it’s you')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('form[data-passkey] button')
    await page.waitForURL(`${center.url}/o/acme`)
    await page.goto(`${center.url}/confirm?to=/account`)
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('form[data-passkey] button')
    await page.waitForURL(`${center.url}/account`)
    await page.context().clearCookies()
    await page.goto(`${center.url}/sign-in`)
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('form[data-passkey] button')
    await page.waitForURL(`${center.url}/o/acme`)
    expect(complaints).toEqual([])
  })

  test('what was entered is still there after a confirmation, and the invitation can be sent', async () => {
    await page.goto(`${center.url}/o/acme/members`)
    const invite = page.locator('form', { has: page.locator('[name=email]') }).getByRole('button')
    // Plays a confirmation that has expired.
    const expired = { code: 'ERR_CONFIRMATION_NEEDED' }
    await page.route('**/invitations', (route) => route.fulfill({ status: 403, json: expired }), { times: 1 })
    await page.fill('[name=email]', 'carla@example.org')
    await page.selectOption('main form[data-api=POST] [name=role]', 'operator')
    await invite.click()
    await page.waitForURL(`${center.url}/confirm?to=**`)
    await page.click('form[data-passkey] button')
    await page.waitForURL(`${center.url}/o/acme/members`)
    await expect.poll(() => page.textContent('#admin-said')).toContain('Your entries are still here')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Invite member')
    expect(await page.inputValue('main form[data-api=POST] [name=role]')).toBe('operator')
    await page.keyboard.press('Enter')
    await page.waitForSelector('#invited:not([hidden])')
    expect(await page.textContent('#invited')).toContain('A link is being sent to carla@example.org')
    complaints.length = 0
  })

  test('a member without a second factor sets one up when signing in, even without JavaScript', async () => {
    const username = 'anna@example.org'
    await center.member(username)
    const other = await openPage({ javaScriptEnabled: false })
    await signIn(other, username)
    expect(await other.locator('main').textContent()).toContain('we sent a code to your email address')
    await other.fill('[name=code]', await mailedCode(username))
    await other.click('button[type=submit]')
    await other.click('summary')
    const secret = ((await other.locator('.setup-key').textContent()) ?? '').replaceAll(' ', '')
    await other.fill('[name=code]', codeOf(secret, 0))
    await other.click('button[value=add-app]')
    expect(await title(other)).toBe('Save your recovery codes')
    await other.click('button[value=saved]')
    expect(other.url()).toBe(`${center.url}/o/acme`)
    await other.context().close()
  })

  test('the set-up pages are accessible and fit the window', async () => {
    const username = 'bart@example.org'
    await center.member(username)
    const other = await openPage({})
    await signIn(other, username)
    expect(await lookOf(other)).toEqual(SOUND_LOOK)
    await other.fill('[name=code]', await mailedCode(username))
    await other.click('button[type=submit]')
    expect(await title(other)).toBe('Set up a second factor')
    expect(await lookOf(other)).toEqual(SOUND_LOOK)
    await other.context().close()
  })
})
