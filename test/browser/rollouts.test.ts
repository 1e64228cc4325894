import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { axeViolations, browserPath, closeContexts, complaintsOf, sharedBrowser } from '../support/browser.ts'
import { openCenterPage, startTestCenter, type TestCenter } from '../support/center.ts'
import type { TestHost } from '../support/host.ts'
import { addPackage, startSatellite, versionOf } from '../support/managed.ts'

const OFTEN = { interval: 100 }

describe.skipIf(browserPath === undefined)('rollouts in a browser', () => {
  let center: TestCenter
  let browser: Browser
  let page: Page
  let complaints: string[]
  let storageState: Awaited<ReturnType<BrowserContext['storageState']>>
  const satellites: TestHost[] = []

  beforeAll(async () => {
    center = await startTestCenter()
    for (const name of ['north', 'south']) {
      const { token } = await center.environment(name)
      // The environment `south` accepts bundles with at most two files. It rejects a bundle that `north` accepts.
      satellites.push(await startSatellite(center, token, { BUNDLE_FILES: name === 'north' ? '100' : '2' }))
    }
    await addPackage(center, await versionOf('1.0.0', { 'globals.js': '', 'scopes/more.js': '' }))
    browser = await sharedBrowser()
    const context = await browser.newContext()
    await openCenterPage(await context.newPage(), center, '/o/acme/rollouts')
    storageState = await context.storageState()
    await context.close()
  })
  afterAll(async () => {
    await closeContexts(browser)
    for (const satellite of satellites) await satellite.stop()
    await center?.stop()
  })
  beforeEach(async () => {
    const context = await browser.newContext({ storageState })
    page = await context.newPage()
    complaints = complaintsOf(page)
    return () => context.close()
  })

  const said = () => page.locator('#admin-said').textContent()

  async function expectSound(): Promise<void> {
    expect(await axeViolations(page)).toEqual([])
    for (const width of [1200, 320]) {
      await page.setViewportSize({ width, height: 800 })
      const wide = await page.evaluate('document.documentElement.scrollWidth')
      expect(wide).toBeLessThanOrEqual(width)
    }
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await axeViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  }

  /** Starts the reviewed rollout, and waits for the rollout's page. */
  async function startRollout(): Promise<void> {
    await Promise.all([
      page.waitForURL(/\/rollouts\/[\da-f-]{36}$/),
      page.getByRole('button', { name: 'Start rollout' }).click(),
    ])
  }

  test('a rollout is started, its page automatically shows that and why it halted, and it is rolled back', async () => {
    await page.goto(`${center.url}/o/acme/rollouts`)
    await page.click('main a:has-text("New rollout")')
    // Waits for the page's script. The browser shows the page only after the script has run.
    await page.waitForURL(`${center.url}/o/acme/rollouts/new`)
    await page.check('#target-south')
    await page.check('#target-north')
    await page.getByRole('button', { name: 'Move south up' }).click()
    expect(await said()).toBe('south is now at position 1 of 2.')
    await page.getByRole('button', { name: 'Move north up' }).click()
    await expectSound()
    await page.getByRole('button', { name: 'Review changes' }).click()
    await page.locator('h1:has-text("Roll out crm 1.0.0")').waitFor()
    expect(await page.locator('main tbody').first().innerText()).toMatch(/1\. north.*2\. south/s)
    expect(await page.textContent('main')).toContain('No earlier version in these environments.')
    await expectSound()
    await startRollout()
    await expect.poll(said, OFTEN).toBe('Rollout started.')
    const shown = () => page.locator('#live-steps').innerText()
    await expect.poll(shown, OFTEN).toContain('A Satellite rejected the version')
    await expect.poll(() => page.locator('#live-state').innerText(), OFTEN).toContain('Halted')
    await page.click('#live-steps summary')
    expect(await shown()).toContain('more files than BUNDLE_FILES allows (2)')
    await expectSound()
    await page.getByRole('button', { name: 'Roll back' }).click()
    await Promise.all([page.waitForEvent('load'), page.click('#admin-question button[value=yes]')])
    await expect.poll(() => page.locator('#live-state').innerText(), OFTEN).toContain('Rolled back')
    await page.goto(`${center.url}/o/acme/rollouts`)
    await expectSound()
  })

  test('the changes between the versions are shown before a rollout and on its page', async () => {
    await addPackage(center, await versionOf('1.1.0', { 'globals.js': '// new', 'scopes/other.js': '' }))
    await page.goto(`${center.url}/o/acme/packages/crm`)
    await page
      .locator('tr:has-text("1.1.0")')
      .getByRole('link', { name: /roll out/i })
      .click()
    await page.check('#target-north')
    await page.getByRole('button', { name: 'Review changes' }).click()
    await page.locator('h1:has-text("Roll out crm 1.1.0")').waitFor()
    const files = () => page.locator('.changed-files li').allInnerTexts()
    const names = ['globals.js Changed', 'scopes/more.js Removed', 'scopes/other.js Added', 'solution.json Changed']
    expect((await files()).map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual(names)
    expect(await page.locator('main dl').first().innerText()).toMatch(/1\.0\.0.*Uploaded.*1\.1\.0.*Uploaded/s)
    await expectSound()
    await startRollout()
    expect(await files()).toHaveLength(names.length)
    await expect.poll(() => page.locator('#live-state').innerText(), OFTEN).toContain('Done')
    await page.click('a:has-text("Compare line by line")')
    expect(await page.locator('.diff-plus').allInnerTexts()).toContain('+// new')
    await expectSound()
  })

  test('without JavaScript, environments can be selected with checkboxes and ordered by number', async () => {
    const context = await browser.newContext({ storageState, javaScriptEnabled: false })
    const plain = await context.newPage()
    await plain.goto(`${center.url}/o/acme/rollouts/new`)
    await plain.getByRole('button', { name: 'Review changes' }).click()
    expect(await plain.textContent('#missing')).toBe('Select at least one environment.')
    await plain.check('#target-north')
    await plain.check('#target-south')
    await plain.fill('[name=position-north]', '2')
    await plain.fill('[name=position-south]', '1')
    await plain.getByRole('button', { name: 'Review changes' }).click()
    expect(await plain.locator('main tbody').first().innerText()).toMatch(/1\. south.*2\. north/s)
    await plain.click('a:has-text("Change the selection")')
    expect(await plain.isChecked('#target-south')).toBe(true)
    expect(await plain.inputValue('[name=position-south]')).toBe('1')
    await context.close()
  })

  test('an environment’s settings are signed on its page and applied on its Satellite', async () => {
    await page.goto(`${center.url}/o/acme/environments/north/desired`)
    await page.selectOption('#log-level', 'warn')
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Sign and send' }).click()])
    await expect.poll(said, OFTEN).toContain('Settings signed.')
    expect(await page.inputValue('#log-level')).toBe('warn')
    const nodes = async () =>
      (await center.api('GET', 'organisations/acme/environments/north/desired')).body as {
        number: number
        nodes: { number: number }[]
      }
    const isTaken = async () => {
      const { number, nodes: reports } = await nodes()
      return reports.every((one) => one.number === number)
    }
    await expect.poll(isTaken, OFTEN).toBe(true)
    await page.reload()
    await expectSound()
  })

  test('a solution’s OAuth settings can be entered in the wizard without a secret, and other settings are kept', async () => {
    const settings = async () => {
      const { body } = await center.api('GET', 'organisations/acme/environments/north/desired')
      return (body as { settings: unknown }).settings
    }
    await page.goto(`${center.url}/o/acme/environments/north/desired`)
    await page.getByRole('link', { name: 'Set up crm' }).click()
    // No sign-in is required, because the package has the authenticator NONE.
    await page.locator('#oauth-unused').waitFor()
    await page.selectOption('#oauth-api', 'Microsoft')
    await page.fill('#oauth-clientId', 'abc')
    await page.fill('#oauth-tenant', 'contoso.example')
    await page.fill('#oauth-secret', 'CRM_SECRET')
    expect(await page.locator('#oauth-issuer, #oauth-secret-value, input[type=password]').count()).toBe(0)
    await expectSound()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.selectOption('#oauth-response_mode', 'form_post')
    await expectSound()
    await Promise.all([page.waitForURL(/\/desired$/), page.getByRole('button', { name: 'Sign and send' }).click()])
    await expect.poll(said, OFTEN).toContain('Settings signed.')
    expect(await settings()).toEqual({
      logLevel: 'warn',
      oauth: {
        crm: {
          api: 'Microsoft',
          clientId: 'abc',
          tenant: 'contoso.example',
          apiSecret: '%%CRM_SECRET%%',
          response_mode: 'form_post',
        },
      },
    })
    await page.selectOption('#log-level', 'error')
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Sign and send' }).click()])
    expect(await settings()).toMatchObject({ logLevel: 'error', oauth: { crm: { api: 'Microsoft' } } })
    await page.getByRole('link', { name: 'Edit crm' }).click()
    expect(await page.inputValue('#oauth-secret')).toBe('CRM_SECRET')
    await page.getByRole('button', { name: 'Remove OAuth' }).click()
    await Promise.all([page.waitForURL(/\/desired$/), page.click('#admin-question button[value=yes]')])
    expect(await settings()).toEqual({ logLevel: 'error' })
  })
})
