import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PLATFORM_LOCALES } from '../../base/web/texts.ts'
import { codeOf } from '../support/authenticator-app.ts'
import { axeViolations, browserPath, closeContexts, lookOf, SOUND_LOOK, sharedBrowser } from '../support/browser.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { startMailServer, type TestMailServer } from '../support/mail.ts'
import { IS_FULL_SCALE } from '../support/scale.ts'
import { addDefaultSolution, addUser, askAdmin, PASSWORD } from '../support/users.ts'

// Tests all platform pages for end users' accounts, in several languages and once without scripts.

const NEW = 'quiet rivers run at night'
/** The timeout is long because each test visits 25 pages. */
const SLOW = { timeout: 240_000 }

describe.skipIf(browserPath === undefined)('the pages for end users’ accounts, in a browser', () => {
  let server: TestMailServer
  let host: TestHost
  let browser: Browser

  beforeAll(async () => {
    server = await startMailServer()
    host = await startTestHost({
      SMTP_URL: server.url,
      MAIL_FROM: 'no-reply@example.org',
      SOLUTION_ORIGIN: 'http://{name}.localhost',
    })
    await addDefaultSolution(host, 'office', { title: 'Back office' })
    await addDefaultSolution(host, 'vault', { title: 'Vault' })
    await askAdmin(host, 'PUT', 'solutions/vault/sign-in-policy', { level: 'required', graceDays: 2 })
    browser = await sharedBrowser()
  })
  afterAll(async () => {
    await closeContexts(browser)
    await host?.stop()
    await server?.stop()
  })

  /** @param look checks the page that is open */
  function visitor(page: Page, look: (what: string) => Promise<void>) {
    const visit = {
      at: (path: string, solution = 'office') => `${host.addressOf(solution)}${path}`,
      submit: () => page.click('main form button[type=submit]'),
      async open(path: string, solution = 'office') {
        await page.goto(visit.at(path, solution))
      },
      async show(what: string, selector: string) {
        await page.waitForSelector(selector, { state: 'attached' })
        await look(what)
      },
      async signIn(username: string, password: string, solution = 'office') {
        await visit.open('index.html', solution)
        await page.fill('#username', username)
        await page.fill('#password', password)
        await page.click('#submit')
        await page.waitForURL((url) => !url.pathname.endsWith('/login'))
      },
      /** Opens a link from an email. Without scripts, the link must also be entered on the page. */
      async follow(link: string, isScripted: boolean) {
        await page.goto(link)
        if (isScripted) return
        await visit.show('a link without scripts', '#link')
        await page.fill('#link', link)
        await visit.submit()
      },
    }
    return visit
  }

  async function mailTo(address: string, found: RegExp): Promise<string> {
    const texts = () =>
      server.mails.filter(({ to }) => to[0] === address).map(({ text }) => found.exec(text)?.[0] ?? '')
    await expect.poll(() => texts().filter((text) => text !== '').length, { message: address }).toBeGreaterThan(0)
    return texts().findLast((text) => text !== '') ?? ''
  }
  const LINK = /https?:\/\/\S+#token=\S+/
  const CODE = /\b\d{6}\b/

  /** Visits all pages as a user. */
  async function walk(page: Page, name: string, isScripted: boolean, look: (what: string) => Promise<void>) {
    const address = `${name}@example.org`
    await addUser(host, name, { email: address })
    const visit = visitor(page, look)

    await visit.open('forgotten-password')
    await visit.show('forgotten password', '#username')
    await page.fill('#username', name)
    await visit.submit()
    await visit.show('the answer', '[role=status]')
    const link = await mailTo(address, LINK)
    await visit.follow(link, isScripted)
    await visit.show('new password', '#new')
    await page.fill('#new', NEW)
    await page.fill('#repeat', 'something else')
    await visit.submit()
    await visit.show('a new password that was refused', '#refusal')
    await page.fill('#new', NEW)
    await page.fill('#repeat', NEW)
    await visit.submit()
    await page.waitForSelector('.platform-notice')
    await visit.follow(link, isScripted)
    await visit.show('a used link', '.reference')

    await visit.signIn(name, NEW)
    await visit.open('password')
    await visit.show('change the password', 'input[type=password]')
    await visit.open('account')
    await visit.show('account', 'button[value=new-app]')
    await page.click('button[value=new-app]')
    await visit.show('new app', '.setup-key')
    const secret = ((await page.locator('.setup-key').textContent()) ?? '').replaceAll(' ', '')
    await page.fill('[name=code]', codeOf(secret, 0))
    await page.click('button[value=add-app]')
    await visit.show('recovery codes', '#recovery-codes')
    const recovery = (await page.locator('#recovery-codes code').first().textContent()) ?? ''
    await page.click('button[value=saved]')
    await visit.show('account with an app', 'button[value=new-codes]')
    await page.click('button[value=new-passkey]')
    await visit.show('new passkey', 'main h1')
    await visit.open('confirm?for=account')
    await visit.show('confirm', '[name=code]')

    await visit.open('account')
    await page.fill('#address', `new-${address}`)
    await page.click('button[value=new-address]')
    const verify = await mailTo(`new-${address}`, LINK)
    await visit.follow(verify, isScripted)
    await visit.show('verify the address', 'button[name=confirm]')
    await page.click('button[name=confirm]')
    await visit.show('a verified address', 'main a.button')

    await page.context().clearCookies()
    await visit.open('second-step')
    await visit.show('no open sign-in', 'main a')
    await visit.signIn(name, NEW)
    await visit.show('second step', '[name=code]')
    await page.fill('[name=code]', '000000')
    await page.keyboard.press('Enter')
    await visit.show('a wrong code', '#refusal')
    await visit.open('second-step?recovery')
    await visit.show('recovery code', '[name=recovery]')
    await page.fill('[name=code]', recovery)
    await page.keyboard.press('Enter')
    await page.waitForURL(/index\.html/)

    await page.context().clearCookies()
    const guest = `guest-of-${name}`
    const invited = { permissions: ['Users'], invite: true, solution: 'vault', email: `${guest}@example.org` }
    await askAdmin(host, 'POST', 'users', { username: guest, ...invited })
    await visit.follow(await mailTo(`${guest}@example.org`, LINK), isScripted)
    await visit.show('invitation', '#new')
    await page.fill('#new', PASSWORD)
    await page.fill('#repeat', PASSWORD)
    await visit.submit()
    await page.waitForSelector('.platform-notice')
    await visit.signIn(guest, PASSWORD, 'vault')
    await visit.show('a mailed code before the set-up', '[name=code]')
    await page.fill('[name=code]', await mailTo(`${guest}@example.org`, CODE))
    await page.keyboard.press('Enter')
    await visit.show('set-up', '.setup-key')
    await page.click('button[value=later]')
    await page.waitForURL(/index\.html/)
  }

  async function openPage(options: BrowserContextOptions): Promise<Page> {
    return (await browser.newContext(options)).newPage()
  }

  const [first, ...others] = PLATFORM_LOCALES
  /** German and French have the longest words and texts. */
  const further = IS_FULL_SCALE ? others : (['de', 'fr'] as const)

  async function expectTranslated(page: Page, what: string, language: string): Promise<void> {
    const shown = await page.evaluate<string>('document.documentElement.lang + " " + document.body.innerText')
    expect([what, shown.slice(0, 2), /\bplatform\.[a-z]/.exec(shown)?.[0]]).toEqual([what, language, undefined])
  }

  test('each page is accessible in light and dark mode, and fits the window', SLOW, async () => {
    const page = await openPage({ locale: first, viewport: { width: 1000, height: 800 } })
    await walk(page, 'eu-first', true, async (what) => {
      await expectTranslated(page, what, first)
      expect([what, await lookOf(page)]).toEqual([what, SOUND_LOOK])
    })
    await page.context().close()
  })

  test.each(further)('in %s, each page is translated, accessible, and fits 320 px', SLOW, async (language) => {
    const page = await openPage({ locale: language, viewport: { width: 320, height: 800 } })
    await walk(page, `eu-${language}`, true, async (what) => {
      await expectTranslated(page, what, language)
      expect([what, await axeViolations(page)]).toEqual([what, []])
      expect([what, await page.evaluate('document.scrollingElement.scrollWidth')]).toEqual([what, 320])
    })
    await page.context().close()
  })

  test('without scripts, all pages work, except for passkeys', SLOW, async () => {
    const page = await openPage({ javaScriptEnabled: false, viewport: { width: 320, height: 800 } })
    const seen: string[] = []
    await walk(page, 'eu-plain', false, async (what) => void seen.push(what))
    expect(seen.filter((what) => what === 'a link without scripts')).toHaveLength(4)
    await page.context().close()
  })
})
