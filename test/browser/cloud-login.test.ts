import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openAdminPage } from '../support/admin.ts'
import { axeViolations, browserPath, closeContexts, sharedBrowser, speak } from '../support/browser.ts'
import { addCloudSolution, CLOUD_PASSWORD, startSatellite, startTestCloud, type TestCloud } from '../support/cloud.ts'
import type { TestHost } from '../support/host.ts'
import { visit } from '../support/users.ts'

describe.skipIf(browserPath === undefined)('signing in with the control center, in a browser', () => {
  let cloud: TestCloud
  let host: TestHost
  let browser: Browser

  beforeAll(async () => {
    cloud = await startTestCloud()
    host = await startSatellite(cloud)
    await addCloudSolution(host)
    await addCloudSolution(host, 'lost')
    browser = await sharedBrowser()
  })
  beforeEach(() => cloud.behave())
  afterAll(async () => {
    await closeContexts(browser)
    await host?.stop()
    await cloud?.stop()
  })

  async function inBrowser(options: BrowserContextOptions, use: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext(options)
    try {
      await use(await context.newPage())
    } finally {
      await context.close()
    }
  }

  const comeTo = (page: Page, solution = 'harbour') => page.goto(`${host.url}/solution/${solution}/index.html`)

  async function submit(page: Page, password = CLOUD_PASSWORD): Promise<void> {
    await page.fill('#username', 'anna')
    await page.fill('#password', password)
    await Promise.all([page.waitForNavigation(), page.click('button[type=submit]')])
  }

  test('a user signs in on the page that was designed in the control center', () =>
    inBrowser({ locale: 'de-DE' }, async (page) => {
      await comeTo(page)
      expect(await page.locator('h1').textContent()).toBe('Anmeldung Hafen')
      await page.fill('#branch', 'Nord')
      await submit(page)
      await page.getByText('anna').first().waitFor()
      expect(JSON.parse(cloud.asked('authenticate').at(-1)?.body ?? '').custom).toEqual({ custom_branch: 'Nord' })
    }))

  const STATES: Record<string, { come: (page: Page) => Promise<unknown>; en: string; de: string }> = {
    'at first': { come: (page) => comeTo(page), en: 'Branch', de: 'Niederlassung' },
    refused: {
      async come(page) {
        await comeTo(page)
        await submit(page, 'wrong')
      },
      en: 'Sign-in failed.',
      de: 'Anmeldung fehlgeschlagen.',
    },
    'while the control center is away': {
      async come(page) {
        await comeTo(page)
        cloud.misbehave((_, response) => response.writeHead(503).end())
        await submit(page)
      },
      en: 'The sign-in service can’t be reached',
      de: 'Der Anmeldedienst ist gerade nicht erreichbar',
    },
    'with an address to confirm': {
      async come(page) {
        cloud.answer(() => ({ outcome: 'refused', reason: 'verify' }))
        await comeTo(page)
        await submit(page)
      },
      en: 'Please confirm your email address first',
      de: 'Bitte bestätigen Sie zuerst Ihre E-Mail-Adresse',
    },
    'of a solution that the control center does not know': {
      async come(page) {
        await comeTo(page, 'lost')
        await submit(page)
      },
      en: 'You can’t sign in right now',
      de: 'Sie können sich gerade nicht anmelden',
    },
  }
  /**
   * Sets the language for the next page load. Each language is tested with a different window size and colour scheme.
   */
  async function comeIn(page: Page, language: 'en' | 'de'): Promise<void> {
    const isNarrow = language === 'de'
    await speak(page, language)
    await page.setViewportSize(isNarrow ? { width: 320, height: 640 } : { width: 1200, height: 800 })
    await page.emulateMedia({ colorScheme: isNarrow ? 'dark' : 'light' })
  }

  async function expectSound(page: Page): Promise<void> {
    expect(await axeViolations(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  }

  for (const [name, { come, ...words }] of Object.entries(STATES)) {
    test(`the login page ${name}: axe finds no violation and nothing is too wide, in English at 1200 px, and in German at 320 px in dark mode`, () =>
      inBrowser({}, async (page) => {
        const problems: string[] = []
        page.on('console', (line) => {
          // Browsers log every response with a status of 400 or above.
          if (line.type() === 'error' && !line.text().startsWith('Failed to load resource')) problems.push(line.text())
        })
        for (const language of ['en', 'de'] as const) {
          cloud.behave()
          await comeIn(page, language)
          await come(page)
          expect(await page.locator('main').innerText()).toContain(words[language])
          await expectSound(page)
        }
        expect(problems).toEqual([])
      }))
  }

  test('the admin page’s preview shows the login page from the control center', () =>
    inBrowser({}, async (page) => {
      const frame = page.frameLocator('#login-preview')
      const away = STATES['while the control center is away']
      await (await visit(host, 'lost')).signIn('anna', CLOUD_PASSWORD)
      for (const [language, heading, finding] of [
        ['en', 'Harbour sign-in', 'doesn’t know the solution lost'],
        ['de', 'Anmeldung Hafen', 'kennt die Lösung lost'],
      ] as const) {
        await comeIn(page, language)
        await openAdminPage(page, host, '/admin/solutions/harbour/login-page')
        expect(await page.locator('#login-cloud').innerText()).toContain('PLATFORM_CLOUD')
        await frame.getByRole('heading', { name: heading }).waitFor()
        await Promise.all([page.waitForNavigation(), page.selectOption('#preview-state', 'cloudAway')])
        await frame.getByText(away?.[language] ?? '').waitFor()
        await expectSound(page)
        await page.goto(`${host.adminUrl}/admin/health`)
        expect(await page.locator('main').innerText()).toContain(finding)
        await expectSound(page)
      }
    }))
})
