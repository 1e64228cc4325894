import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { axeViolations, browserPath, closeContexts, sharedBrowser } from '../support/browser.ts'
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
      // South accepts bundles of at most two files, so it rejects one that north accepts.
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
    complaints = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
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

  test('a rollout is started, its page shows the halt and its reason automatically, and it is rolled back', async () => {
    await page.goto(`${center.url}/o/acme/rollouts`)
    await page.fill('#environments', 'north\nsouth')
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Start rollout' }).click()])
    await expect.poll(said, OFTEN).toBe('Rollout started.')
    await page.click('a:has-text("crm 1.0.0")')
    const shown = () => page.locator('#live-steps').innerText()
    await expect.poll(shown, OFTEN).toContain('A Satellite rejected the version')
    await expect.poll(() => page.locator('#live-state').innerText(), OFTEN).toContain('Halted')
    await page.click('#live-steps summary')
    expect(await shown()).toContain('2 files')
    await expectSound()
    await page.getByRole('button', { name: 'Roll back' }).click()
    await Promise.all([page.waitForEvent('load'), page.click('#admin-question button[value=yes]')])
    await expect.poll(() => page.locator('#live-state').innerText(), OFTEN).toContain('Rolled back')
    await page.goto(`${center.url}/o/acme/rollouts`)
    await expectSound()
  })

  test('settings of an environment are signed on its page and applied on its Satellite', async () => {
    await page.goto(`${center.url}/o/acme/environments/north/desired`)
    await page.selectOption('#log-level', 'warn')
    await page.fill('#oauth', '{"crm": {"api": "Google", "clientId": "abc"}}')
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
    await page.fill('#oauth', '{"crm": {"issuer": "https://evil.example"}}')
    await page.getByRole('button', { name: 'Sign and send' }).click()
    await page.locator('.problem:visible').waitFor()
    expect(await page.locator('.problem:visible').innerText()).toContain('issuer')
  })
})
