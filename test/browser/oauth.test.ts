import type { Browser, BrowserContextOptions, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLimits } from '../../runtime/limits.ts'
import { axeViolations, browserPath, closeContexts, LEFT_WHILE_CONNECTING, sharedBrowser } from '../support/browser.ts'
import type { TestHost } from '../support/host.ts'
import { addFlowsOfProvider, FLOWS } from '../support/oauth.ts'
import { startOAuthHost } from '../support/oauth-host.ts'
import { type OidcProvider, startOidcProvider } from '../support/oidc-provider.ts'

const NAME = 'orders'

/** The response modes. There is one solution for each. */
const WAYS_BACK = ['query', 'form-post', 'fragment'] as const

/** Matches the provider's response parameters in the query or the fragment of a URL. */
const SENT_BACK = /[?&#](code|id_token|access_token|state|error)=/
const PHONE = { viewport: { width: 320, height: 640 }, locale: 'de-DE' }
const ANNA = 'Signed in as anna@example.org'

if (browserPath === undefined) {
  console.info('no Chromium here: signing in by a provider was not tried in a browser')
  test('the tests for signing in with a provider need Chromium', () => expect(browserPath).toBeUndefined())
} else {
  describe('signing in with a provider on another site', () => {
    let provider: OidcProvider
    let host: TestHost
    let browser: Browser

    beforeAll(async () => {
      provider = await startOidcProvider()
      // Browsers treat `crm.localhost` and `127.0.0.1` as two sites, like an application and its provider.
      host = await startOAuthHost([provider], { SOLUTION_ORIGIN: 'http://{name}.localhost' })
      await addFlowsOfProvider(host, provider, NAME, { title: 'Orders' })
      browser = await sharedBrowser()
    })
    afterAll(async () => {
      await closeContexts(browser)
      await host?.stop()
      await provider?.stop()
    })

    const pageOf = (flow: keyof typeof FLOWS, query = '') => `${host.addressOf(NAME)}index.html?flow=${flow}${query}`

    /**
     * Creates a separate browser profile; `complaints` are the console messages of our pages, including CSP violations.
     */
    async function newUser(options: BrowserContextOptions = {}) {
      const context = await browser.newContext(options)
      const complaints: string[] = []
      context.on('console', (message) => {
        // Some tests expect an error status, so ignore the console message about it.
        const isAboutUs = !message.location().url.startsWith(provider.issuer)
        const isExpected =
          message.text().startsWith('Failed to load resource') || LEFT_WHILE_CONNECTING.test(message.text())
        if (isAboutUs && !isExpected) complaints.push(message.text())
      })
      context.on('weberror', (error) => complaints.push(error.error().message))
      return { context, page: await context.newPage(), complaints, [Symbol.asyncDispose]: () => context.close() }
    }

    async function fillIn(page: Page, account: string): Promise<void> {
      await page.getByLabel('Account').fill(account)
      await page.getByLabel('Password').fill(`${account}-tries-oidc`)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }

    /** Fills in the provider's login and consent pages. */
    async function answerProvider(page: Page, account: string): Promise<void> {
      await fillIn(page, account)
      await page.getByRole('button', { name: 'Allow', exact: true }).click()
    }

    /**
     * Waits until the client shows the user's name. In the bar at the top, the name is only visible to screen readers.
     */
    function untilOpen(page: Page): Promise<void> {
      return page.getByRole('paragraph').filter({ hasText: ANNA }).waitFor()
    }

    async function signIn(page: Page, flow: keyof typeof FLOWS, query = ''): Promise<void> {
      await page.goto(pageOf(flow, query))
      await answerProvider(page, 'anna')
      await untilOpen(page)
    }

    /**
     * Waits for a password field.
     * @returns whether it is on the provider's page, which must not sign the user in without asking
     */
    async function isAtLoginPage(page: Page): Promise<boolean> {
      await page.getByLabel('Password').waitFor()
      return page.url().startsWith(provider.issuer)
    }

    /** The URLs in the tab's history, oldest first. */
    async function historyOf(page: Page): Promise<string[]> {
      const session = await page.context().newCDPSession(page)
      const { entries } = await session.send('Page.getNavigationHistory')
      return entries.map(({ url }) => url)
    }

    test.each(Object.keys(FLOWS) as (keyof typeof FLOWS)[])(
      '%s: signing in returns to the requested page and leaves nothing in the URL; Back and Forward show no error',
      async (flow) => {
        await using user = await newUser()
        const { page, complaints } = user
        const address = pageOf(flow, '&tenant=north&argument=a%20b')
        await signIn(page, flow, '&tenant=north&argument=a%20b')
        expect(page.url()).toBe(address)
        const visited = await historyOf(page)
        expect(visited.filter((url) => url.startsWith(host.addressOf(NAME)))).toEqual([address])
        expect((await user.context.cookies()).filter(({ name }) => name.startsWith('oauth-'))).toEqual([])
        await page.reload()
        await untilOpen(page)
        expect(complaints).toEqual([])
        const refused: string[] = []
        page.on('response', (answer) => {
          const isOurs = answer.url().startsWith(host.addressOf(NAME))
          if (isOurs && answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`)
        })
        const steps = visited.length - 1
        for (let step = 0; step < steps; step++) await page.goBack()
        expect(page.url()).toBe('about:blank')
        for (let step = 0; step < steps; step++) await page.goForward()
        await untilOpen(page)
        expect(refused).toEqual([])
      },
    )

    test('form_post: the provider’s POST has no cookies, but our own does', async () => {
      await using user = await newUser()
      const posts: Request[] = []
      user.page.on('request', (request) => {
        if (request.method() === 'POST' && request.url().includes('/app_oauth/')) posts.push(request)
      })
      await signIn(user.page, 'id-token-post')
      const sent = []
      for (const post of posts) {
        const { cookie, ...headers } = await post.allHeaders()
        sent.push([headers['sec-fetch-site'], cookie?.startsWith('oauth-') ?? false])
      }
      expect(sent).toEqual([
        ['cross-site', false],
        ['same-origin', true],
      ])
    })

    test('ten tabs opened at the same time all show their page', async () => {
      await using user = await newUser()
      const pages = await Promise.all(Array.from({ length: 10 }, () => user.context.newPage()))
      await Promise.all(pages.map((page, tab) => page.goto(pageOf('query', `&tab=${tab}`))))
      const [first, ...others] = pages.reverse() as [Page, ...Page[]]
      await answerProvider(first, 'anna')
      await untilOpen(first)
      for (const page of others) {
        await page.bringToFront()
        await fillIn(page, 'anna')
        await untilOpen(page)
      }
      expect(pages.map((page) => page.url())).toEqual(
        [9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((tab) => pageOf('query', `&tab=${tab}`)),
      )
      expect(user.complaints).toEqual([])
    })

    test('while one tab waits at the provider, a second tab can sign in, and then the first one can continue', async () => {
      await using user = await newUser()
      const { page, context } = user
      await page.goto(pageOf('id-token', '&tab=1'))
      const second = await context.newPage()
      await signIn(second, 'id-token', '&tab=2')
      await fillIn(page, 'anna')
      await untilOpen(page)
      expect(page.url()).toBe(pageOf('id-token', '&tab=1'))
      await second.reload()
      await untilOpen(second)
    })

    test('a login that takes too long shows a message, and can be continued without entering the password again', async () => {
      await using user = await newUser()
      const { page, context } = user
      const start = `${host.addressOf(NAME)}index.html`
      await page.goto(start)
      expect(await isAtLoginPage(page)).toBe(true)
      const [cookie] = await context.cookies(host.addressOf(NAME))
      expect(cookie?.name).toMatch(/^oauth-/)
      const left = (cookie?.expires ?? 0) * 1000 - Date.now()
      expect(left).toBeGreaterThan(0)
      expect(left).toBeLessThanOrEqual(createLimits().OAUTH_TRANSACTION)
      // Deleting the cookie has the same effect as its expiry.
      await context.clearCookies({ name: /^oauth-/ })
      await answerProvider(page, 'anna')
      await page.getByRole('heading', { name: 'This sign-in is no longer valid' }).waitFor()
      expect(page.url()).toBe(start)
      await page.getByRole('link', { name: 'Sign in again' }).click()
      await untilOpen(page)
    })

    describe('without JavaScript', () => {
      const plain = { javaScriptEnabled: false }

      test('query: the user is signed in', async () => {
        await using user = await newUser(plain)
        const { page } = user
        await page.goto(pageOf('query', '&a=1'))
        await answerProvider(page, 'anna')
        await page.getByText(ANNA).waitFor()
        expect(page.url()).toBe(pageOf('query', '&a=1'))
        // Everything except the form works without JavaScript, including signing out.
        await page.getByRole('button', { name: 'Sign out' }).waitFor()
      })

      test('form_post: a button signs the user in, also in German on a phone', async () => {
        await using user = await newUser({ ...plain, ...PHONE })
        const { page } = user
        await page.goto(pageOf('form-post'))
        await answerProvider(page, 'anna')
        // Without JavaScript, the user submits the provider's `form_post` form.
        await page.locator('[type=submit]').click()
        await page.getByRole('heading', { name: 'Einen Moment bitte' }).waitFor()
        expect(await widthOf(page)).toBe(320)
        await page.getByRole('button', { name: 'Weiter' }).click()
        await page.getByText('Angemeldet als anna@example.org').waitFor()
      })

      test('fragment: the page says what to do; once JavaScript is turned on, the user is signed in', async () => {
        await using user = await newUser({ ...plain, ...PHONE })
        const { page, context } = user
        await page.goto(pageOf('fragment'))
        await answerProvider(page, 'anna')
        await page.getByRole('heading', { name: 'Bitte schalten Sie JavaScript ein' }).waitFor()
        expect(await widthOf(page)).toBe(320)
        await using scripted = await newUser({ storageState: await context.storageState() })
        // This is equivalent to a reload after JavaScript is enabled.
        await scripted.page.goto(page.url())
        await untilOpen(scripted.page)
        expect(scripted.page.url()).toBe(pageOf('fragment'))
      })
    })

    describe('signing out', () => {
      test('the browser goes through the provider to the signed-out page, other tabs are signed out, and the next sign-in needs the password', async () => {
        await using user = await newUser()
        const { page, context, complaints } = user
        await signIn(page, 'query', '&tenant=north')
        const other = await context.newPage()
        await other.goto(pageOf('query'))
        await untilOpen(other)
        await signOut(page)
        expect(page.url()).toContain(`${host.addressOf(NAME)}index.html?signed-out`)
        expect(await axeViolations(page)).toEqual([])
        await other.reload()
        expect(await isAtLoginPage(other)).toBe(true)
        await page.getByRole('link', { name: 'Sign in again' }).click()
        expect(await isAtLoginPage(page)).toBe(true)
        await answerProvider(page, 'anna')
        await untilOpen(page)
        expect(page.url()).toBe(pageOf('query', '&tenant=north'))
        expect(complaints).toEqual([])
      })

      test('the provider can end the session of an open page; after a sign-out, Back shows no account data', async () => {
        await using user = await newUser()
        const { page } = user
        await signIn(page, 'query')
        expect(await statusOfSession(page)).toBe(200)
        await provider.sessionsEnd('sub-of-anna')
        await expect.poll(() => statusOfSession(page)).toBe(401)
        await page.reload()
        expect(await isAtLoginPage(page)).toBe(true)
        await answerProvider(page, 'anna')
        await untilOpen(page)
        // The user is signed out here even if they stay signed in at the provider.
        await page.getByRole('button', { name: 'Sign out' }).click()
        await page.getByRole('button', { name: 'Stay signed in' }).click()
        await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
        expect(await statusOfSession(page)).toBe(401)
        while (page.url() !== 'about:blank') {
          await page.goBack()
          expect(await page.content()).not.toContain('anna@example.org')
        }
      })

      async function signOut(page: Page): Promise<void> {
        await page.getByRole('button', { name: 'Sign out' }).click()
        await page.getByRole('heading', { name: 'Sign out here too?' }).waitFor()
        await page.getByRole('button', { name: 'Sign out' }).click()
        await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
      }
    })

    describe('failed sign-ins', () => {
      test.each(WAYS_BACK)('%s: users who cancel, don’t exist or decline can try again', async (flow) => {
        await using user = await newUser()
        const { page, complaints } = user
        const address = pageOf(flow, '&tenant=north')
        const noAccess = page.getByRole('heading', { name: 'This account has no access' })
        const denied = page.getByRole('heading', { name: 'The sign-in was not completed' })
        const tryAgain = page.getByRole('link', { name: 'Try again' })
        // The pages are the same for all response modes, so axe checks them once.
        const isFirst = flow === 'query'
        await page.goto(address)
        await page.getByRole('button', { name: 'Cancel' }).click()
        await denied.waitFor()
        if (isFirst) expect(await axeViolations(page)).toEqual([])
        await tryAgain.click()
        await answerProvider(page, 'carl')
        await noAccess.waitFor()
        if (isFirst) expect(await axeViolations(page)).toEqual([])
        if (flow !== 'fragment') {
          expect(page.url()).toBe(address)
          const asked = timesAuthorized()
          await page.reload()
          await noAccess.waitFor()
          expect(timesAuthorized()).toBe(asked + 1)
        }
        expect((await historyOf(page)).filter((url) => SENT_BACK.test(url))).toEqual([])
        await page.getByRole('link', { name: 'Use another account' }).click()
        expect(await isAtLoginPage(page)).toBe(true)
        await fillIn(page, 'anna')
        await page.getByRole('button', { name: 'Do not allow' }).click()
        await denied.waitFor()
        await tryAgain.click()
        await page.getByRole('button', { name: 'Allow', exact: true }).click()
        await untilOpen(page)
        expect(page.url()).toBe(address)
        expect((await historyOf(page)).filter((url) => SENT_BACK.test(url))).toEqual([])
        expect(complaints).toEqual([])
      })

      test('the error page is also shown in German on a phone', async () => {
        await using user = await newUser(PHONE)
        const { page } = user
        await page.goto(pageOf('query'))
        await answerProvider(page, 'carl')
        await page.getByRole('heading', { name: 'Dieses Konto hat keinen Zugriff' }).waitFor()
        expect(await widthOf(page)).toBe(320)
        expect(await axeViolations(page)).toEqual([])
        await page.getByRole('link', { name: 'Anderes Konto verwenden' }).click()
        expect(await isAtLoginPage(page)).toBe(true)
      })

      function timesAuthorized(): number {
        return provider.requests.filter(({ path, query }) => path === '/auth' && query.client_id !== undefined).length
      }
    })
  })
}

function widthOf(page: Page): Promise<number> {
  return page.evaluate<number>('document.scrollingElement.scrollWidth')
}

/** Sends the request from the page, so that its cookies are included. */
function statusOfSession(page: Page): Promise<number> {
  return page.evaluate<number>("fetch('session').then(({ status }) => status)")
}
