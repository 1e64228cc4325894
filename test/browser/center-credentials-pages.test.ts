import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { axeViolations, browserPath, closeContexts, complaintsOf, sharedBrowser } from '../support/browser.ts'
import { CENTER_PASSWORD, openCenterPage, startTestCenter, type TestCenter } from '../support/center.ts'

const SIZES = [
  { width: 1200, height: 900 },
  { width: 320, height: 700 },
]

describe.skipIf(browserPath === undefined)('members, environments and credentials, in a browser', () => {
  let center: TestCenter
  let browser: Browser
  let page: Page
  let complaints: string[]

  beforeAll(async () => {
    center = await startTestCenter()
    browser = await sharedBrowser()
  })
  afterAll(async () => {
    await closeContexts(browser)
    await center?.stop()
  })
  beforeEach(async () => {
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
    page = await context.newPage()
    complaints = complaintsOf(page)
    return () => context.close()
  })

  const open = (path: string) => openCenterPage(page, center, path)
  const said = () => page.locator('#admin-said').textContent()
  const confirm = () => page.click('#admin-question button[value=yes]')

  /** Checks that, at both widths, axe finds no violations and nothing overflows the screen. */
  async function expectSound(): Promise<void> {
    for (const size of SIZES) {
      await page.setViewportSize(size)
      expect(await axeViolations(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(size.width)
    }
    await page.setViewportSize({ width: 1200, height: 900 })
  }

  test('a person is invited, creates an account with the link, gets another role and is removed', async () => {
    await open('/o/acme/members')
    await page.fill('#email', 'anna@example.org')
    await page.selectOption('#role', 'developer')
    await page.click('form[data-result=invited] button[type=submit]')
    await page.waitForSelector('#invited:not([hidden])')
    const link = (await page.textContent('#invited-link')) ?? ''
    await expectSound()

    const context = await browser.newContext()
    const guest = await context.newPage()
    await guest.goto(link)
    await guest.waitForSelector('#password')
    // The token is removed from the URL.
    expect(guest.url()).toBe(`${center.url}/invitation`)
    expect(await axeViolations(guest)).toEqual([])
    expect(await guest.inputValue('#username')).toBe('anna@example.org')
    await guest.fill('#password', CENTER_PASSWORD)
    await Promise.all([
      guest.waitForURL(`${center.url}/o/acme`),
      guest.click('form:has(#password) button[type=submit]'),
    ])
    expect(await guest.locator('.parts a').allTextContents()).not.toContain('Members')
    await context.close()

    await page.reload()
    await page.selectOption('select[aria-label="anna@example.org’s role"]', 'operator')
    await Promise.all([page.waitForEvent('load'), page.click('button[aria-label="Save anna@example.org’s role"]')])
    await expect.poll(said).toBe('Role changed.')
    expect(await page.inputValue('select[aria-label="anna@example.org’s role"]')).toBe('operator')
    await expectSound()

    await page.click('button[aria-label="Remove anna@example.org"]')
    await Promise.all([page.waitForEvent('load'), confirm()])
    await expect.poll(said).toBe('Member removed.')
    expect(await page.content()).not.toContain('anna@example.org')
    expect(complaints).toEqual([])
  })

  test('in a narrow window, the navigation is in a menu, which works by keyboard and without JavaScript', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 320, height: 640 } })
    page = await context.newPage()
    await open('/o/acme/credentials')
    const menu = page.getByRole('button', { name: 'Menu', exact: true })
    const current = page.getByRole('link', { name: 'Credentials' })
    expect(await current.isVisible()).toBe(false)
    await menu.focus()
    await page.keyboard.press('Enter')
    await current.waitFor()
    expect(await current.getAttribute('aria-current')).toBe('page')
    expect(await page.getByRole('list', { name: 'Monitoring' }).getByRole('link').allTextContents()).toEqual([
      'Analysis',
      'Logs',
    ])
    await page.keyboard.press('Escape')
    await current.waitFor({ state: 'hidden' })
    await page.keyboard.press('Space')
    await Promise.all([page.waitForURL(`${center.url}/o/acme/logs`), page.getByRole('link', { name: 'Logs' }).click()])
    await page.setViewportSize({ width: 1200, height: 900 })
    expect([await menu.isVisible(), await current.isVisible()]).toEqual([false, true])
    await context.close()
  })

  test('the last owner cannot give up the role, and sees why', async () => {
    await open('/o/acme/members')
    await page.selectOption('select[aria-label="owner@example.org’s role"]', 'viewer')
    await page.click('button[aria-label="Save owner@example.org’s role"]')
    await page.waitForSelector('.problem:not([hidden])')
    expect(await page.textContent('.problem')).toContain('Make another member an owner first')
    await expectSound()
  })

  test('an environment is created, gets a token with the commands to start it, and is deleted after its name is typed', async () => {
    await open('/o/acme')
    await expectSound()
    await page.click('a.button:has-text("Create environment")')
    await page.fill('#name', 'plant')
    await Promise.all([page.waitForEvent('load'), page.click('button:has-text("Create environment")')])
    await page.waitForSelector('a:has-text("plant")')
    await expectSound()
    await Promise.all([page.waitForEvent('load'), page.click('a:has-text("plant")')])
    await page.fill('#solution', 'orders')
    await Promise.all([page.waitForEvent('load'), page.click('button:has-text("Add")')])
    expect(await page.textContent('.named')).toContain('orders')
    await expectSound()

    await Promise.all([page.waitForEvent('load'), page.click('a:has-text("Manage tokens")')])
    expect(await page.inputValue('#environment')).toBe('plant')
    await page.fill('#token-name', 'Utrecht')
    await page.click('form[data-result=made] button:has-text("Create token")')
    await page.waitForSelector('#made:not([hidden])')
    const token = await page.textContent('#made-token')
    expect(token).toMatch(/^ret_/)
    expect(await page.getByText('No tokens yet').isVisible()).toBe(false)
    await page.click('button[data-copy=made-docker]')
    await expect.poll(said).toBe('Copied.')
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      `sudo install -d -m 0700 -o 10001 -g 10001 /srv/solhost
docker run --detach --name solhost --restart unless-stopped \\
  --network host -v /srv/solhost:/usr/local/platform \\
  -e ENVIRONMENT=onprem \\
  -e REMOTE_ENVIRONMENT_TOKEN=${token} \\
  -e CLOUD_URL=${center.url} \\
  -e CLOUD_PUBLIC_KEY=${center.parts.signing.publicKey} \\
  --read-only --cap-drop=all --security-opt no-new-privileges \\
  solhost/satellite:test`,
    )
    expect(await page.textContent('#made-npm')).toMatch(/^ENVIRONMENT=onprem \\\n.*npx solhost start$/s)
    await expectSound()

    await page.click('#made a:has-text("Done")')
    await page.click('button[aria-label="Rotate token Utrecht for plant"]')
    await page.waitForSelector('#made:not([hidden])')
    expect(await page.textContent('#made-token')).not.toBe(token)
    await page.reload()
    expect(await page.locator('button[aria-label="Revoke token Utrecht for plant"]').count()).toBe(2)
    await page.locator('button[aria-label="Revoke token Utrecht for plant"]').first().click()
    await Promise.all([page.waitForEvent('load'), confirm()])
    await expect.poll(said).toBe('Token revoked.')
    expect(await center.parts.environmentTokens.find(token ?? '')).toBeNull()

    await page.goto(`${center.url}/o/acme/environments/plant`)
    await page.fill('#confirm', 'plan')
    await page.click('button:has-text("Delete environment")')
    await page.waitForSelector('.problem:not([hidden])')
    await page.fill('#confirm', 'plant')
    await Promise.all([
      page.waitForURL(`${center.url}/o/acme/environments`),
      page.click('button:has-text("Delete environment")'),
    ])
    expect(await page.locator('a:has-text("plant")').count()).toBe(0)
  })

  test('a registry is added, replaced completely and deleted; its keys are never shown', async () => {
    await open('/o/acme/credentials')
    const fill = async (id: string, name: string, host: string) => {
      await page.fill(`#name-${id}`, name)
      await page.fill(`#host-${id}`, host)
      await page.fill(`#namespace-${id}`, 'acme/solutions')
    }
    await page.click('#ecr summary')
    await fill('ecr', 'Images of Amazon', '123456789012.dkr.ecr.eu-west-1.amazonaws.com')
    await page.fill('#key-ecr', 'AKIAIOSFODNN7EXAMPLE')
    await page.fill('#secret-ecr', 'a-secret-of-the-registry')
    await expectSound()
    await Promise.all([page.waitForEvent('load'), page.click('form:has(#name-ecr) button[type=submit]')])
    await expect.poll(said).toBe('Registry added.')
    expect(await page.content()).toContain('••••</span>MPLE')
    await page.click('button[aria-label="Delete Images of Amazon"]')
    await Promise.all([page.waitForEvent('load'), confirm()])
    await expect.poll(said).toBe('Registry deleted.')
    await fill('new', 'Images', 'registry.example.org')
    await page.fill('#username-new', 'robot$acme+push')
    await page.fill('#password-new', 'a-secret-of-the-registry')
    await Promise.all([page.waitForEvent('load'), page.click('form:has(#name-new) button[type=submit]')])
    await expect.poll(said).toBe('Registry added.')
    await expectSound()
    const own = 'details.card:not(#ecr)'
    await page.click(`${own} summary`)
    const id = (await page.locator(`${own} input`).first().getAttribute('id'))?.replace('name-', '') ?? ''
    const kept = [await page.inputValue(`#username-${id}`), await page.inputValue(`#password-${id}`)]
    expect(kept).toEqual(['robot$acme+push', ''])
    await expectSound()
    await fill(id, 'Images', 'registry.example.org:5000')
    await page.fill(`#username-${id}`, 'another')
    await page.fill(`#password-${id}`, 'a-secret-of-the-registry')
    await Promise.all([page.waitForEvent('load'), page.click(`${own} button[type=submit]`)])
    await expect.poll(said).toBe('Registry replaced.')
    const content = await page.content()
    expect([content.includes('registry.example.org:5000'), content.includes('>another<')]).toEqual([true, true])
    for (const secret of ['AKIAIOSFODNN7', 'a-secret-of']) expect(content).not.toContain(secret)
    await page.click('button[aria-label="Delete Images"]')
    await Promise.all([page.waitForEvent('load'), confirm()])
    await expect.poll(said).toBe('Registry deleted.')
    expect(complaints).toEqual([])
  })

  test('the account, API tokens and activity pages are accessible and fit at both widths; a token is shown once', async () => {
    await open('/o/acme/access-tokens')
    await page.fill('#name', 'build server')
    await page.click('form[data-result=made] button[type=submit]')
    await page.waitForSelector('#made:not([hidden])')
    expect(await page.textContent('#made-token')).toMatch(/^scc_/)
    await expectSound()
    await page.click('#made a:has-text("Done")')
    await page.waitForSelector('th:has-text("build server")')
    await expectSound()
    for (const path of ['/o/acme/activity', '/account']) {
      await page.goto(`${center.url}${path}`)
      await expectSound()
    }
  })

  test('the password can be changed on the account page, and the user can sign in with the new one', async () => {
    await center.account('bea@example.org')
    await page.goto(`${center.url}/account`)
    await page.fill('#username', 'bea@example.org')
    await page.fill('#password', CENTER_PASSWORD)
    await Promise.all([page.waitForURL(`${center.url}/account`), page.click('button[type=submit]')])
    await page.fill('#current', CENTER_PASSWORD)
    await page.fill('#new', 'seven quiet elephants')
    await page.click('[data-show-password]')
    expect(await page.getAttribute('#new', 'type')).toBe('text')
    await Promise.all([
      page.waitForURL(`${center.url}/sign-in?password-changed`),
      page.click('form[data-api=PUT] button[type=submit]'),
    ])
    expect(await page.textContent('.notice')).toContain('Your password was changed.')
    expect(await axeViolations(page)).toEqual([])
    await page.fill('#username', 'bea@example.org')
    await page.fill('#password', 'seven quiet elephants')
    await Promise.all([page.waitForURL(`${center.url}/organisations`), page.click('button[type=submit]')])
    expect(complaints).toEqual([])
  })
})
