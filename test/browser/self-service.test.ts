import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openAdminPage } from '../support/admin.ts'
import { browserPath, closeContexts, complaintsOf, lookOf, SOUND_LOOK, sharedBrowser } from '../support/browser.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { startMailServer, type TestMailServer } from '../support/mail.ts'
import { addDefaultSolution, addUser, askAdmin } from '../support/users.ts'

const NEW = 'quiet rivers run at night'

describe.skipIf(browserPath === undefined)('self-service, in a browser', () => {
  let server: TestMailServer
  let host: TestHost
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let complaints: string[]
  let asked: string[]

  beforeAll(async () => {
    server = await startMailServer()
    host = await startTestHost({
      SMTP_URL: server.url,
      MAIL_FROM: 'no-reply@example.org',
      SOLUTION_ORIGIN: 'http://{name}.localhost',
    })
    await addDefaultSolution(host, 'desk', { title: 'Help desk' })
    await addUser(host, 'anna', { email: 'anna@example.org' })
    browser = await sharedBrowser()
  })
  afterAll(async () => {
    await closeContexts(browser)
    await host?.stop()
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

  const at = (path: string) => `${host.addressOf('desk')}${path}`
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const submit = () => page.click('main button[type=submit]')
  async function expectSound(): Promise<void> {
    expect([page.url(), await lookOf(page, 320)]).toEqual([page.url(), SOUND_LOOK])
  }

  async function linkTo(address: string): Promise<string> {
    const mails = () => server.mails.filter(({ to, text }) => to[0] === address && text.includes('#token='))
    await expect.poll(() => mails().length).toBeGreaterThan(0)
    return /https?:\/\/\S+/.exec(mails().at(-1)?.text ?? '')?.[0] ?? ''
  }

  async function signIn(password: string): Promise<void> {
    await page.goto(at('index.html'))
    await page.fill('#username', 'anna')
    await page.fill('#password', password)
    await page.click('#submit')
    await page.waitForSelector('text=anna')
  }

  test('a user asks for a new password on the login page, opens the link and chooses one', async () => {
    await page.goto(at('index.html'))
    await page.click('text=Forgot your password?')
    await heading('Forgot your password?')
    await expectSound()
    await page.fill('#username', 'anna@example.org')
    await submit()
    await page.waitForSelector('text=If this account exists, an email is on its way.')
    await expectSound()

    await page.goto(await linkTo('anna@example.org'))
    await heading('Choose a new password')
    await page.waitForSelector('#new')
    await expectSound()
    await page.fill('#new', NEW)
    const typeOf = (id: string) => page.getAttribute(`#${id}`, 'type')
    await page.click('button[aria-controls="new"]')
    expect([await typeOf('new'), await typeOf('repeat')]).toEqual(['text', 'password'])
    await page.fill('#repeat', 'something else')
    await submit()
    await page.waitForSelector('#refusal')
    await page.fill('#new', NEW)
    await page.fill('#repeat', NEW)
    await submit()
    await page.waitForSelector('.platform-notice')
    // No URL or referrer that the browser sent contained the token.
    expect(asked.filter((line) => line.includes('token='))).toEqual([])
    await signIn(NEW)
    expect(complaints.filter((text) => !/40[14]|422/.test(text))).toEqual([])
  })

  test('a used link shows a page that says so, and without scripts a link can be pasted', async () => {
    const link = await linkTo('anna@example.org')
    await page.goto(link)
    await heading('This link can’t be used')
    await expectSound()
    const plain = await browser.newContext({ javaScriptEnabled: false })
    const bare = await plain.newPage()
    await addUser(host, 'ben', { email: 'ben@example.org' })
    await bare.goto(at('forgotten-password'))
    await bare.fill('#username', 'ben')
    await bare.click('main button[type=submit]')
    await bare.waitForSelector('[role=status]')
    const other = await linkTo('ben@example.org')
    await bare.goto(other)
    await bare.fill('#link', other)
    await bare.click('main button[type=submit]')
    await bare.waitForSelector('#new')
    await plain.close()
  })

  test('a user changes the address on the account page, and confirms it', async () => {
    await signIn(NEW)
    await page.goto(at('account'))
    await expectSound()
    await page.fill('#address', 'new-anna@example.org')
    await page.click('button[value=new-address]')
    await expect.poll(() => page.innerText('main')).toContain('We sent a link to new-anna@example.org')
    await page.goto(await linkTo('new-anna@example.org'))
    await page.waitForSelector('button[name=confirm]')
    await expectSound()
    await submit()
    await heading('Your email address is confirmed')
    await expectSound()
    await page.click('main a.button')
    // Otherwise, this page load could interrupt the next one.
    await page.waitForURL((url) => url.pathname.endsWith('/index.html'))
    await page.goto(at('account'))
    await page.waitForSelector('text=new-anna@example.org')
    expect(complaints).toEqual([])
  })

  test('an operator invites a user, and creates a link that is shown once', async () => {
    await openAdminPage(page, host, '/admin/users/new')
    await page.fill('#username', 'cas')
    await page.fill('#email', 'cas@example.org')
    await page.check('#invite')
    await expectSound()
    await page.click('form button[type=submit]:has-text("Add user")')
    await page.waitForSelector('#made:not([hidden]) >> text=cas@example.org')
    await page.goto(await linkTo('cas@example.org'))
    await page.waitForSelector('#new')
    const uid = await addUser(host, 'dan', { password: null })
    await page.goto(`${host.adminUrl}/admin/users/${uid}`)
    await expectSound()
    await page.click('section[aria-labelledby=link] button[type=submit]')
    await page.waitForSelector('#link-once')
    const link = (await page.textContent('#link-once')) ?? ''
    expect(link).toContain('http://desk.localhost:')
    await page.goto(link)
    await heading('Choose a password')
    await page.waitForSelector('#new')
    expect(complaints).toEqual([])
  })

  test('a user without a second step enters a mailed code before the set-up', async () => {
    await addDefaultSolution(host, 'bank', { title: 'Bank' })
    await askAdmin(host, 'PUT', 'solutions/bank/sign-in-policy', { level: 'required' })
    // Following the link of an invitation verifies the address.
    const invited = { permissions: ['Users'], invite: true, solution: 'bank' }
    await askAdmin(host, 'POST', 'users', { username: 'eva', email: 'eva@example.org', ...invited })
    await page.goto(await linkTo('eva@example.org'))
    await page.fill('#new', NEW)
    await page.fill('#repeat', NEW)
    await submit()
    await page.fill('#username', 'eva')
    await page.fill('#password', NEW)
    await page.click('#submit')
    await heading('Set up a second factor')
    await expectSound()
    const codes = () =>
      server.mails.filter(({ to, subject }) => to[0] === 'eva@example.org' && subject.includes('code'))
    await expect.poll(() => codes().length).toBe(1)
    const code = /\b\d{6}\b/.exec(codes()[0]?.text ?? '')?.[0] ?? ''
    await page.fill('input[name=code]', code === '000000' ? '111111' : '000000')
    await page.keyboard.press('Enter')
    await page.waitForSelector('#refusal')
    await expectSound()
    await page.fill('input[name=code]', code)
    await page.keyboard.press('Enter')
    await page.waitForSelector('.setup-key', { state: 'attached' })
    expect(complaints).toEqual([expect.stringContaining('401')])
  })
})
