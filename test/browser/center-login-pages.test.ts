import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { AuthenticateAnswer, LoginPageAnswer } from '../../base/protocol/protocol.ts'
import { axeViolations, browserPath, closeContexts, lookOf, SOUND_LOOK, sharedBrowser } from '../support/browser.ts'
import { openCenterPage, startTestCenter, type TestCenter } from '../support/center.ts'
import { ask } from '../support/http.ts'
import { linkOf, startMailServer, type TestMailServer } from '../support/mail.ts'

const BASE = '/o/acme/solutions/crm'
const PASSWORD = 'correct horse battery'

describe.skipIf(browserPath === undefined)('solutions in the control center, in a browser', () => {
  let server: TestMailServer
  let center: TestCenter
  let browser: Browser
  let storageState: Awaited<ReturnType<BrowserContext['storageState']>>
  let page: Page
  let complaints: string[]

  beforeAll(async () => {
    server = await startMailServer()
    center = await startTestCenter({ SMTP_URL: server.url, MAIL_FROM: 'no-reply@example.org' })
    browser = await sharedBrowser()
    const context = await browser.newContext()
    await openCenterPage(await context.newPage(), center, '/o/acme/solutions')
    storageState = await context.storageState()
    await context.close()
  })
  afterAll(async () => {
    await closeContexts(browser)
    await center?.stop()
    await server?.stop()
  })
  beforeEach(async () => {
    // With null, Playwright doesn't override the colour scheme of iframes.
    const context = await browser.newContext({ storageState, colorScheme: null })
    page = await context.newPage()
    complaints = []
    // Axe's messages about iframes that it can't access have no URL, so this filter drops them too.
    page.on('console', (message) => message.location().url.startsWith(center.url) && complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    return () => context.close()
  })

  const open = (path: string) => page.goto(`${center.url}${path}`)
  const said = () => page.locator('#admin-said').textContent()
  const submit = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const preview = () => page.frameLocator('#login-preview')

  test('a solution can be given a name and a role, and its login page can be designed and published', async () => {
    await open('/o/acme/solutions')
    await page.fill('#name', 'crm')
    await Promise.all([page.waitForEvent('load'), submit('Add solution')])
    await page.click('a:has-text("crm")')
    await page.click('nav.tabs a:has-text("Roles")')
    await page.fill('#role', 'Sales')
    await page.fill('#permissions', 'Orders\nCustomers')
    await submit('Add role')
    await expect.poll(said).toBe('Role saved.')
    await page.click('nav.tabs a:has-text("Login page")')

    await page.fill('#text-default-title', 'Welcome to Acme')
    await expect.poll(() => preview().locator('h1').textContent()).toBe('Welcome to Acme')
    await page.selectOption('#preview-locale', 'nl')
    await expect.poll(() => preview().locator('#submit').textContent()).toBe('Inloggen')
    await page.selectOption('#preview-state', 'refused')
    await preview().locator('#errorlabel').waitFor({ state: 'visible' })
    await page.fill('#light-accent', '#8a1c7c')
    const accent = () =>
      preview().locator('#submit').evaluate('getComputedStyle(document.getElementById("submit")).backgroundColor')
    await expect.poll(accent).toBe('rgb(138, 28, 124)')
    await page.selectOption('#preview-scheme', 'dark')
    await expect.poll(accent).toBe('rgb(134, 207, 230)')

    await page.click('#design-field-add')
    const row = page.locator('[data-design-field]').first()
    await row.locator('[data-of=name]').fill('custom_site')
    await row.locator('[data-of=type]').selectOption('select')
    await row.locator('[data-of=values]').fill('north\nsouth')
    await row.locator('[data-label=default]').fill('Site')
    await row.locator('[data-options=default]').fill('North\nSouth')
    // The first line is empty, because the first option has no German text.
    await row.locator('[data-options=de]').fill('\nSüd')
    await row.locator('[data-options=nl]').fill('Noord')
    await expect.poll(() => preview().locator('#custom_site option').allTextContents()).toEqual(['–', 'Noord', 'South'])

    // Insufficient contrast is reported, but the preview is still shown.
    await page.fill('#light-text', '#dddddd')
    await expect.poll(() => page.locator('#design-problem').textContent()).toContain('contrast ratio of 1.')
    await page.fill('#light-text', '#222222')
    await page.locator('#design-problem').waitFor({ state: 'hidden' })

    // The draft survives a reload. Publishing removes it.
    await page.reload()
    expect(await page.inputValue('[data-design-field] >> nth=0 >> [data-options=nl]')).toBe('Noord\n')
    expect(await page.inputValue('[data-design-field] >> nth=0 >> [data-options=de]')).toBe('\nSüd')
    await Promise.all([page.waitForEvent('load'), submit('Publish')])
    expect(await page.getByText('You are viewing your draft').count()).toBe(0)
    expect(await page.inputValue('#text-default-title')).toBe('Welcome to Acme')
    const { id, token } = await center.environment('plant')
    await center.parts.environments.addSolution(id, 'crm')
    const fetched = await ask(`${center.url}/satellite/v1/solutions/crm/login-page`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { texts } = LoginPageAnswer.parse(JSON.parse(fetched.text))
    expect(texts.nl?.['cloud.login.field.custom_site.north']).toBe('Noord')
    await page.fill('#text-default-title', 'Welcome again')
    await expect.poll(() => preview().locator('h1').textContent()).toBe('Welcome again')
    await Promise.all([page.waitForEvent('load'), submit('Publish')])
    await Promise.all([page.waitForEvent('load'), submit('Restore version 1')])
    expect(await page.inputValue('#text-default-title')).toBe('Welcome to Acme')
    expect(complaints.filter((one) => !/422/.test(one))).toEqual([])
  })

  test('a user is invited by email, chooses a password, and signs in', async () => {
    await open(`${BASE}/users`)
    await page.click('a:has-text("Add user")')
    await page.fill('#username', 'anna')
    await page.fill('#email', 'anna@example.org')
    await page.check('#role-0')
    for (const value of ['north', 'gone', '7']) {
      await page.click('button:has-text("Add tenant value")')
      await page.locator('[data-tenant-value] input').last().fill(value)
    }
    await page.locator('[data-tenant-value] select').last().selectOption('number')
    await page.locator('[data-tenant-value] >> nth=1').getByRole('button', { name: 'Remove' }).click()
    expect((await lookOf(page)).light).toEqual([])
    await submit('Add user')
    await page.waitForSelector('#made:not([hidden])')
    expect(await page.locator('#made').textContent()).toContain('anna@example.org')
    expect(await page.locator('#made-link').isVisible()).toBe(false)
    await expect.poll(() => server.mails.length).toBe(1)

    const context = await browser.newContext()
    const visitor = await context.newPage()
    await visitor.goto(linkOf(server))
    await visitor.locator('#new').waitFor()
    expect(visitor.url()).toBe(`${center.url}/user-link`)
    expect(await visitor.locator('header').textContent()).not.toContain('Control center')
    expect(await axeViolations(visitor)).toEqual([])
    await visitor.fill('#new', PASSWORD)
    await visitor.fill('#repeat', PASSWORD)
    await visitor.click('button[type=submit]')
    await visitor.locator('h1', { hasText: 'Your password is set' }).waitFor()
    expect(await axeViolations(visitor)).toEqual([])
    await visitor.goto(`${center.url}/forgot-password/acme/crm`)
    expect(await axeViolations(visitor)).toEqual([])
    await context.close()

    const { token } = await center.environment('signing-in')
    const environments = await center.parts.environments.list((await center.parts.organisations.find('acme'))?.id ?? '')
    const { id = '' } = environments.find(({ name }) => name === 'signing-in') ?? {}
    await center.parts.environments.addSolution(id, 'crm')
    const answer = await ask(`${center.url}/satellite/v1/solutions/crm/authenticate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'anna', password: PASSWORD, address: '192.0.2.1' }),
    })
    expect(AuthenticateAnswer.parse(JSON.parse(answer.text))).toMatchObject({
      outcome: 'accepted',
      permissions: ['Customers', 'Orders'],
      tenant: ['north', 7],
    })

    await page.click('a:has-text("Open user")')
    expect(await page.locator('.state').textContent()).toBe('Enabled')
    await page.fill('#display-name', 'Anna Jansen')
    await submit('Save')
    await expect.poll(said).toBe('User saved.')
    expect(await page.inputValue('#tenant-value-0')).toBe('north')
    expect(await page.inputValue('#tenant-value-1')).toBe('7')
    expect(await page.inputValue('#tenant-type-1')).toBe('number')
    expect(await page.isChecked('#role-0')).toBe(true)
    await submit('Create password reset link')
    await page.waitForSelector('#sent-reset:not([hidden])')
    expect(complaints).toEqual([])
  })

  test('the pages pass axe and fit the window, at 1200 px in light mode and at 320 px in dark mode', async () => {
    await page.setViewportSize({ width: 1200, height: 900 })
    for (const path of [
      '/o/acme/solutions',
      ...['users', 'users/new', 'roles', 'login-page'].map((one) => `${BASE}/${one}`),
    ]) {
      await open(path)
      expect([path, await lookOf(page, 320)]).toEqual([path, SOUND_LOOK])
    }
    await open(`${BASE}/users`)
    await page.click('tbody a')
    expect(await lookOf(page, 320)).toEqual(SOUND_LOOK)
    expect(complaints).toEqual([])
  })
})
