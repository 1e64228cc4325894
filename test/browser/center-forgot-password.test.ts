import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  axeViolations,
  browserPath,
  closeContexts,
  complaintsOf,
  lookOf,
  SOUND_LOOK,
  sharedBrowser,
} from '../support/browser.ts'
import { CENTER_PASSWORD, OWNER, startTestCenter, type TestCenter } from '../support/center.ts'
import { startMailServer, type TestMailServer } from '../support/mail.ts'

const PASSWORD = 'quiet rivers run at night'
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

describe.skipIf(browserPath === undefined)('links in emails, in a browser', () => {
  let server: TestMailServer
  let center: TestCenter
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let complaints: string[]
  let asked: string[]

  beforeAll(async () => {
    server = await startMailServer()
    center = await startTestCenter({ SMTP_URL: server.url, MAIL_FROM: 'no-reply@example.org' })
    browser = await sharedBrowser()
  })
  afterAll(async () => {
    await closeContexts(browser)
    await center?.stop()
    await server?.stop()
  })
  beforeEach(async () => {
    context = await browser.newContext()
    page = await context.newPage()
    asked = []
    complaints = complaintsOf(page)
    page.on('request', (request) =>
      asked.push(`${request.method()} ${request.url()} ${request.headers().referer ?? ''}`),
    )
    return () => context.close()
  })

  async function expectSound(darkAt?: 320): Promise<void> {
    if (darkAt !== undefined) expect([page.url(), await lookOf(page, darkAt)]).toEqual([page.url(), SOUND_LOOK])
    else {
      expect([page.url(), await axeViolations(page)]).toEqual([page.url(), []])
      expect([page.url(), await page.evaluate(OVERFLOW)]).toEqual([page.url(), 0])
    }
  }

  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const submit = () => page.click('main button[type=submit]')

  /** Waits for the next email to the address. @returns the link in it */
  async function linkTo(address: string): Promise<string> {
    const mails = () => server.mails.filter(({ to }) => to[0] === address)
    await expect.poll(() => mails().length).toBeGreaterThan(0)
    return /https?:\/\/\S+/.exec(mails().at(-1)?.text ?? '')?.[0] ?? ''
  }

  test('a user who forgot the password can set a new one, on a wide page in light mode and a narrow page in dark mode', async () => {
    await page.setViewportSize({ width: 1200, height: 800 })
    const username = `anna-of-a-very-long-name-indeed-${'x'.repeat(20)}@example.org`
    await center.account(username)
    await page.goto(`${center.url}/sign-in`)
    await expectSound(320)
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await heading('Forgot your password?')
    await expectSound(320)
    await page.getByLabel('Email address').fill(username)
    await submit()
    await page.getByRole('status').filter({ hasText: 'If an account with this address exists' }).waitFor()
    await expectSound(320)

    const link = await linkTo(username)
    const token = new URLSearchParams(new URL(link).hash.slice(1)).get('token') ?? ''
    await page.goto(link)
    await page.getByLabel('New password', { exact: true }).waitFor()
    // The token is removed from the URL, and no history entry contains it.
    expect(page.url()).toBe(`${center.url}/new-password`)
    expect(await page.getByText(username).isVisible()).toBe(true)
    await expectSound(320)
    await page.fill('#new', username)
    await page.fill('#repeat', username)
    await submit()
    await page.getByRole('alert').waitFor()
    await expectSound(320)
    await page.fill('#new', PASSWORD)
    await page.fill('#repeat', PASSWORD)
    await submit()
    await page.waitForURL(`${center.url}/sign-in?password-changed`)
    await page.getByRole('status').filter({ hasText: 'changed' }).waitFor()
    await expectSound(320)

    await page.fill('#username', username)
    await page.fill('#password', PASSWORD)
    await Promise.all([page.waitForURL(`${center.url}/organisations`), submit()])
    expect(asked.filter((one) => one.includes(token))).toEqual([])

    await page.goto(link)
    await heading('This link can’t be used')
    await expectSound(320)
    await page.getByRole('link', { name: 'Sign in to the control center' }).waitFor()
    expect(complaints.filter((one) => !/(404|422)/.test(one))).toEqual([])
  })

  test('setting a new password ends the session in another browser', async () => {
    const username = 'bert@example.org'
    await center.account(username)
    await page.goto(`${center.url}/sign-in`)
    await page.fill('#username', username)
    await page.fill('#password', CENTER_PASSWORD)
    await Promise.all([page.waitForURL(`${center.url}/organisations`), submit()])
    const elsewhere = await (await browser.newContext()).newPage()
    await elsewhere.goto(`${center.url}/forgot-password`)
    await elsewhere.fill('#username', username)
    await elsewhere.click('main button[type=submit]')
    await elsewhere.goto(await linkTo(username))
    await elsewhere.fill('#new', PASSWORD)
    await elsewhere.fill('#repeat', PASSWORD)
    await Promise.all([
      elsewhere.waitForURL(`${center.url}/sign-in?password-changed`),
      elsewhere.click('main button[type=submit]'),
    ])
    await elsewhere.context().close()
    await page.reload()
    expect(page.url()).toMatch(/\/sign-in\?to=/)
  })

  test('a solution user’s email address is confirmed when they press the button, not when the link is opened', async () => {
    await page.setViewportSize({ width: 320, height: 800 })
    const users = 'organisations/acme/solutions/crm/users'
    const { body } = await center.api('POST', users, { username: 'cora', email: 'cora@example.org' })
    expect((await center.api('POST', `${users}/${body.uid}/links`, { kind: 'verification' })).status).toBe(201)
    const isVerified = async () => (await center.api('GET', `${users}/${body.uid}`)).body.emailVerifiedAt !== null
    const link = await linkTo('cora@example.org')
    await page.goto(link)
    await heading('Confirm your email address')
    await expectSound()
    expect([page.url(), await isVerified()]).toEqual([`${center.url}/user-link`, false])
    await submit()
    await heading('Your email address is confirmed')
    await expectSound()
    expect(await isVerified()).toBe(true)
    // The new URL differs only in its fragment, so the browser doesn't reload the page.
    await page.goto(link)
    await heading('This link can’t be used')
    expect(page.url()).toBe(`${center.url}/user-link`)
    await expectSound()
    expect(complaints.filter((one) => !/404/.test(one))).toEqual([])
  })

  test('without a valid link, submitting the new password page shows that the link is missing', async () => {
    await page.setViewportSize({ width: 320, height: 800 })
    for (const path of ['/new-password', '/user-link', '/invitation']) {
      await page.goto(`${center.url}${path}`)
      await expectSound()
      await Promise.all([page.waitForEvent('load'), submit()])
      expect(page.url()).toBe(`${center.url}${path}`)
      await expectSound()
    }
    // The account owner can still sign in.
    await page.goto(`${center.url}/sign-in`)
    await page.fill('#username', OWNER)
    await page.fill('#password', CENTER_PASSWORD)
    await submit()
    await page.waitForURL(`${center.url}/o/acme`)
  })
})
