import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Koa from 'koa'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { allowPage, setSecurityHeaders } from '../../base/http/content-security.ts'
import { PLATFORM_LOCALES } from '../../base/web/texts.ts'
import { OAUTH_PROBLEMS } from '../../host/oauth/problems.ts'
import { fragmentPage, oauthProblemPage, repostPage, signedOutPage } from '../../host/web/pages.ts'
import {
  browserPath,
  closeContexts,
  complaintsOf,
  lookOf,
  SOUND_LOOK,
  sharedBrowser,
  tabOrder,
  untilTrue,
} from '../support/browser.ts'

const NONCE = 'dGVzdA'
const HOME = '/solution/orders/index.html'
const BACK = '/solution/orders/app_oauth/index.html'
/**
 * Responds with 204, so the browser stays on the page that sent the POST request. The test can then inspect that page.
 */
const STAY = '/stay'
const SOLUTION = { title: 'Orders and invoices' }
const LONG = 'Verwaltungsgemeinschaftsvorsitzendenstellvertreter-Beschaffungsantrag'
const FORM = 'application/x-www-form-urlencoded'

const frame = { locale: 'en', nonce: NONCE }
const problem = {
  solution: SOLUTION,
  provider: 'Example ID',
  reference: '01JVE7C3N8X2Q5W9K4M6T0R1ZB',
  user: 'anna.de.vries@example.org',
  tryAgainHref: HOME,
  otherAccountHref: null,
}
const pagesOfProblems = Object.values(OAUTH_PROBLEMS).map(({ page }) => page)

/** Every page by path, with its controls in tab order. */
const PAGES: Readonly<Record<string, { html: string; controls: readonly string[] }>> = {
  '/problem': { html: oauthProblemPage(frame, { ...problem, page: 'denied' }), controls: ['Try again'] },
  '/problem/other-account': {
    html: oauthProblemPage(frame, { ...problem, page: 'unknown-user', otherAccountHref: HOME }),
    controls: ['Use another account', 'Try again'],
  },
  '/problem/long': {
    html: oauthProblemPage(
      { ...frame, locale: 'de' },
      {
        ...problem,
        page: 'unknown-user',
        solution: { title: LONG },
        provider: '\u202E'.concat(LONG.repeat(3)),
        user: 'x'.repeat(5000),
        otherAccountHref: HOME,
      },
    ),
    controls: ['Anderes Konto verwenden', 'Erneut versuchen'],
  },
  '/signed-out': {
    html: signedOutPage(frame, { solution: SOLUTION, signInHref: HOME, provider: 'Example ID' }),
    controls: ['Sign in again'],
  },
  '/nothing': {
    html: fragmentPage(frame, { solution: SOLUTION, action: STAY }),
    controls: ['Continue to Orders and invoices'],
  },
  '/nothing-long': {
    html: fragmentPage(frame, { solution: { title: LONG }, action: STAY }),
    controls: [`Continue to ${LONG}`],
  },
  '/one-moment#code=c&state=s': { html: fragmentPage(frame, { solution: SOLUTION, action: STAY }), controls: [] },
  '/repost': { html: repostPage(frame, { action: STAY, fields: [['code', 'c']] }), controls: ['Continue'] },
}

if (browserPath === undefined) {
  console.info('no Chromium here: the pages of OAuth were not tried in a browser')
  test('the tests for the OAuth pages need Chromium', () => expect(browserPath).toBeUndefined())
} else {
  describe('OAuth pages in a browser', () => {
    /** The POST requests, in the order in which they arrived. */
    const posted: { path: string; body: string; type: string; site: string; cookie: string }[] = []
    const app = new Koa()
    app.use(async (ctx) => {
      setSecurityHeaders(ctx)
      if (ctx.method === 'POST') {
        const body = await text(ctx.req)
        const [type, site, cookie] = [ctx.get('Content-Type'), ctx.get('Sec-Fetch-Site'), ctx.get('Cookie')]
        posted.push({ path: ctx.path, body, type, site, cookie })
        if (ctx.path === STAY) {
          ctx.status = 204
          return
        }
        allowPage(ctx, NONCE)
        ctx.type = 'html'
        const fields = [...new URLSearchParams(body)]
        ctx.body = site === 'same-origin' ? '<title>signed in</title>' : repostPage(frame, { action: ctx.path, fields })
        return
      }
      allowPage(ctx, NONCE)
      ctx.type = 'html'
      ctx.set('Set-Cookie', 'transaction=of-this-browser; Path=/; SameSite=Lax; HttpOnly')
      const listed = Object.entries(PAGES).find(([address]) => address.split('#')[0] === ctx.path)
      if (listed !== undefined) ctx.body = listed[1].html
      else if (ctx.path === BACK) ctx.body = fragmentPage(frame, { solution: SOLUTION, action: BACK })
      else ctx.body = '<title>home</title><h1>Home</h1>'
    })
    /** A cross-site page that posts to our page, like a provider with `response_mode=form_post`. */
    const provider = new Koa()
    provider.use((ctx) => {
      ctx.type = 'html'
      ctx.body = `<form method="post" action="${origin}${BACK}">
        <input type="hidden" name="code" value="c&amp;&lt;1&gt;"><input type="hidden" name="state" value="s">
        <input type="hidden" name="state" value="t"><input type="hidden" name="submit" value="x">
        <button>Consent</button></form>`
    })
    const server = app.listen(0, '127.0.0.1')
    const providerServer = provider.listen(0, '127.0.0.1')
    let browser: Browser
    let origin: string
    let providerOrigin: string

    beforeAll(async () => {
      browser = await sharedBrowser()
      for (const one of [server, providerServer]) if (!one.listening) await once(one, 'listening')
      origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      // A different host name makes the page cross-site, like a real provider's.
      providerOrigin = `http://localhost:${(providerServer.address() as AddressInfo).port}`
    })
    beforeEach(() => {
      posted.length = 0
    })
    afterAll(async () => {
      await closeContexts(browser)
      server.close()
      providerServer.close()
    })

    /** Opens a page in its own browser profile; `complaints` are its console messages, including CSP violations. */
    async function blank(options: BrowserContextOptions = {}) {
      const context: BrowserContext = await browser.newContext(options)
      const page = await context.newPage()
      const complaints = complaintsOf(page)
      return { page, complaints, [Symbol.asyncDispose]: () => context.close() }
    }

    async function open(address: string, options: BrowserContextOptions = {}) {
      const opened = await blank(options)
      // Doesn't wait for 'load'. This event never fires if a page sends a POST request while loading and the response
      // is a 204.
      await opened.page.goto(origin + address, { waitUntil: 'commit' })
      await opened.page.getByRole('heading', { level: 1 }).waitFor()
      return opened
    }

    describe.each(Object.entries(PAGES))('%s', (address, { controls }) => {
      test('the page passes axe in light and dark mode, fits 320 and 1280 px, and the Tab key reaches every control in order', async () => {
        await using opened = await open(address, { viewport: { width: 1280, height: 640 } })
        expect(await tabOrder(opened.page)).toEqual(controls)
        expect(await lookOf(opened.page)).toEqual(SOUND_LOOK)
        expect(opened.complaints).toEqual([])
      })
    })

    test.each(PLATFORM_LOCALES)('each page fits a window 320 px wide in %s, even with long words', async (locale) => {
      await using opened = await blank({ viewport: { width: 320, height: 640 } })
      for (const page of pagesOfProblems) {
        const model = { ...problem, page, provider: null, otherAccountHref: HOME, retryInSeconds: 30 }
        await opened.page.setContent(oauthProblemPage({ locale, nonce: NONCE }, model))
        expect([page, await widthOf(opened.page)]).toEqual([page, 320])
      }
    })

    describe('fragment', () => {
      test('the fragment is posted unchanged, once, from our own origin, and removed from the URL', async () => {
        await using opened = await blank()
        const { page, complaints } = opened
        const fragment = 'code=a%2Bb%26c&state=s&state=t&iss=https%3A%2F%2Fid.example&scope=a+%C3%A9'
        await page.goto(origin + HOME)
        await page.goto(`${origin}${BACK}#${fragment}`)
        await untilTrue(page, 'document.title === "signed in"')
        expect(posted).toEqual([
          {
            path: BACK,
            body: `from=fragment&${fragment}`,
            type: FORM,
            site: 'same-origin',
            cookie: 'transaction=of-this-browser',
          },
        ])
        expect(page.url()).toBe(origin + BACK)
        expect(complaints).toEqual([])
      })

      test('the fragment is posted, whatever names its parameters have', async () => {
        await using opened = await blank()
        const { page, complaints } = opened
        const fragment = 'submit=1&append=2&action=3&method=4&name=5&__proto__=6&id_token=t'
        await page.goto(`${origin}${BACK}#${fragment}`)
        await untilTrue(page, 'document.title === "signed in"')
        expect(posted.map(({ path, body }) => [path, body])).toEqual([[BACK, `from=fragment&${fragment}`]])
        expect(complaints).toEqual([])
      })

      test.each(['error=access_denied&state=s', 'access_token=a', 'state=s', 'id_token=t'])(
        'the fragment is posted if it has %s',
        async (fragment) => {
          await using opened = await blank()
          await opened.page.goto(`${origin}${BACK}#${fragment}`)
          await untilTrue(opened.page, 'document.title === "signed in"')
          expect(posted.map(({ body }) => body)).toEqual([`from=fragment&${fragment}`])
        },
      )

      test('the Back button skips the page that posted the data', async () => {
        await using opened = await blank()
        const { page } = opened
        await page.goto(origin + HOME)
        await page.goto(`${origin}${BACK}#id_token=t`)
        await untilTrue(page, 'document.title === "signed in"')
        await page.goBack()
        expect(page.url()).toBe(origin + HOME)
        expect(posted.length).toBe(1)
      })

      test('the fragment is not posted again after a reload or the Back button', async () => {
        await using opened = await open('/one-moment#id_token=t')
        const { page } = opened
        await expect.poll(() => posted.length).toBe(1)
        await page.goto(origin + HOME)
        await page.goBack()
        const heading = page.getByRole('heading', { name: 'No sign-in response received' })
        await heading.waitFor()
        await page.reload()
        await heading.waitFor()
        expect(posted.length).toBe(1)
      })

      test('a page from the back/forward cache says that there is nothing left to send', async () => {
        await using opened = await open('/one-moment#code=c')
        const { page } = opened
        await expect.poll(() => posted.length).toBe(1)
        expect(await page.getByRole('heading').allTextContents()).toEqual(['One moment, please'])
        await page.evaluate('dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))')
        expect(await page.getByRole('heading').allTextContents()).toEqual(['No sign-in response received'])
        expect(posted.length).toBe(1)
      })

      test.each([
        ['nothing', ''],
        ['no parameter', '#'],
        ['a parameter that another service adds', '#_=_'],
        ['a route', '#/route?code=1'],
        ['unknown parameters', '#constructor=1&Code=2'],
        ['more data than a form accepts', `#id_token=${'x'.repeat(64 * 1024)}`],
      ])('a fragment with %s is not posted, and the page says so', async (_what, fragment) => {
        await using opened = await open(BACK + fragment)
        const { page, complaints } = opened
        expect(await page.getByRole('heading').allTextContents()).toEqual(['No sign-in response received'])
        expect(posted).toEqual([])
        expect(page.url()).toBe(origin + BACK)
        expect(complaints).toEqual([])
      })

      test('a fragment may have up to 64 KiB after form encoding, which makes line breaks longer', async () => {
        const rest = `from=fragment&code=${'%0D%0A'.repeat(10)}`.length
        const largest = `#code=${'%0A'.repeat(10)}${'x'.repeat(64 * 1024 - rest)}`
        await using fits = await blank()
        await fits.page.goto(origin + BACK + largest)
        await untilTrue(fits.page, 'document.title === "signed in"')
        expect(posted.map(({ body }) => body.length)).toEqual([64 * 1024])
        await using over = await open(`${BACK}${largest}x`)
        expect(await over.page.getByRole('heading').allTextContents()).toEqual(['No sign-in response received'])
        expect(posted.length).toBe(1)
      })

      test('a fragment can have up to 199 parameters', async () => {
        const most = `#code=c${'&a=1'.repeat(198)}`
        await using fits = await blank()
        await fits.page.goto(origin + BACK + most)
        await untilTrue(fits.page, 'document.title === "signed in"')
        expect(posted.map(({ body }) => new URLSearchParams(body).size)).toEqual([200])
        await using over = await open(`${BACK}${most}&a=1`)
        expect(await over.page.getByRole('heading').allTextContents()).toEqual(['No sign-in response received'])
        expect(posted.length).toBe(1)
      })

      test('if the fragment is empty, the page links to the solution', async () => {
        await using opened = await open(BACK)
        await tabOrder(opened.page)
        await opened.page.getByRole('link', { name: 'Continue to Orders and invoices' }).press('Enter')
        await opened.page.waitForURL(origin + HOME)
      })

      test('without JavaScript, the page says what to do, leaves the fragment in the URL and links to the solution', async () => {
        await using opened = await open(`${BACK}#code=c`, {
          javaScriptEnabled: false,
          viewport: { width: 320, height: 640 },
        })
        const { page, complaints } = opened
        expect(await page.getByRole('heading').allTextContents()).toEqual(['Please turn on JavaScript'])
        expect(await page.getByText('One moment').count()).toBe(0)
        expect(await widthOf(page)).toBe(320)
        expect(page.url()).toBe(`${origin}${BACK}#code=c`)
        expect(complaints).toEqual([])
        await page.keyboard.press('Tab')
        await page.keyboard.press('Enter')
        await page.waitForURL(origin + HOME)
        expect(posted).toEqual([])
      })
    })

    describe('POST from another site', () => {
      const body = 'code=c%26%3C1%3E&state=s&state=t&submit=x'
      const both = [
        { path: BACK, body, type: FORM, site: 'cross-site', cookie: '' },
        {
          path: BACK,
          body: `${body}&from=form_post`,
          type: FORM,
          site: 'same-origin',
          cookie: 'transaction=of-this-browser',
        },
      ]

      test('our own page immediately posts the form again, with the cookie', async () => {
        await using opened = await blank()
        const { page, complaints } = opened
        await page.goto(origin + HOME)
        await page.goto(providerOrigin)
        await page.click('button')
        await untilTrue(page, 'document.title === "signed in"')
        expect(posted).toEqual(both)
        expect(complaints).toEqual([])
      })

      test('if JavaScript is off, a button posts the form again, and the page does not show any of its values', async () => {
        await using opened = await blank({ javaScriptEnabled: false })
        const { page, complaints } = opened
        await page.goto(origin + HOME)
        await page.goto(providerOrigin)
        await page.click('button')
        const button = page.getByRole('button', { name: 'Continue' })
        await button.waitFor()
        expect(await page.innerText('main')).not.toContain('c&<1>')
        expect(posted).toEqual(both.slice(0, 1))
        await page.keyboard.press('Tab')
        expect(await button.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
        await page.keyboard.press('Enter')
        await page.waitForURL(origin + BACK)
        await expect.poll(() => posted).toEqual(both)
        expect(complaints).toEqual([])
      })

      test('when the page is opened again, the form is posted only with the button, not automatically', async () => {
        await using opened = await open('/repost')
        const { page, complaints } = opened
        await expect.poll(() => posted.length).toBe(1)
        await page.goto(origin + HOME)
        await page.goBack()
        await page.reload()
        // Requests arrive in order. If the page had submitted its form automatically, that request would have arrived
        // before this one.
        await page.evaluate('fetch("/stay", { method: "POST", body: "in between" })')
        await page.getByRole('button', { name: 'Continue' }).click()
        const bodies = ['code=c&from=form_post', 'in between', 'code=c&from=form_post']
        await expect.poll(() => posted.map((one) => one.body)).toEqual(bodies)
        expect(complaints).toEqual([])
      })
    })
  })
}

function widthOf(page: Page): Promise<number> {
  return page.evaluate<number>('document.scrollingElement.scrollWidth')
}
