import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultLoginTemplate, errorPage } from '../../base/web/pages.ts'
import { PLATFORM_LOCALES, platformText } from '../../base/web/texts.ts'
import { goesOnPage, signedOutPage, solutionListPage } from '../../host/web/pages.ts'
import {
  browserPath,
  closeContexts,
  complaintsOf,
  lookOf,
  SOUND_LOOK,
  sharedBrowser,
  tabOrder,
} from '../support/browser.ts'

const NONCE = 'dGVzdA'
const POLICY = [
  "default-src 'none'",
  `script-src 'nonce-${NONCE}' 'strict-dynamic'`,
  `style-src 'self' 'nonce-${NONCE}'`,
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'none'",
  "worker-src 'none'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const frame = { locale: 'en', nonce: NONCE }
const LONG = 'Verwaltungsgemeinschaftsvorsitzendenstellvertreter-Beschaffungsantrag'

/** Every page by path, with its controls in tab order. */
const PAGES: Readonly<Record<string, { html: string; controls: readonly string[] }>> = {
  '/error': {
    html: errorPage(frame, {
      status: 503,
      kind: 'busy',
      reference: '01JVE7C3N8X2Q5W9K4M6T0R1ZB',
      retry: { href: '/stay' },
    }),
    controls: ['Try again'],
  },
  '/error-without-retry': {
    html: errorPage(frame, { status: 404, kind: 'not-found', reference: '01JVE7C3N8X2Q5W9K4M6T0R1ZB' }),
    controls: [],
  },
  '/solutions': {
    html: solutionListPage(frame, {
      solutions: [
        {
          name: 'orders',
          title: 'Orders and invoices',
          description: 'A list of orders.',
          href: '/solution/orders/index.html',
        },
        { name: 'planning', title: LONG, description: LONG, href: '/solution/planning/index.html' },
        { name: 'time', title: 'Time sheets', description: null, href: '/solution/time/index.html' },
      ],
      adminPages: 'http://127.0.0.1:8081/admin/',
    }),
    controls: ['Orders and invoices', LONG, 'Time sheets', 'admin pages'],
  },
  '/no-solutions': { html: solutionListPage(frame, { solutions: [], adminPages: null }), controls: [] },
  '/signed-out': {
    html: signedOutPage(frame, { solution: { title: 'Orders and invoices' }, signInHref: '/stay' }),
    controls: ['Sign in again'],
  },
  '/goes-on': {
    html: goesOnPage(frame, { href: '/stay', shown: 'login.example.org' }),
    controls: ['Continue to login.example.org'],
  },
  '/login': { html: loginPage(), controls: ['username', 'password', 'Show password', 'remember', 'Sign in'] },
  '/refused-login': {
    html: loginPage('#errorlabel{display:block!important}'),
    controls: ['username', 'password', 'Show password', 'remember', 'Sign in'],
  },
}

describe.skipIf(browserPath === undefined)('pages in a browser', () => {
  const posted: string[] = []
  const server = createServer(async (request, response) => {
    const page = PAGES[request.url ?? '']
    if (request.method === 'POST') posted.push(await text(request))
    // Responds with 204, so the browser stays on the redirecting page. The test can then inspect that page.
    if (page === undefined) return response.writeHead(request.url === '/stay' ? 204 : 200).end()
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': POLICY })
    response.end(page.html)
  })
  let browser: Browser
  let origin: string

  beforeAll(async () => {
    browser = await sharedBrowser()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  afterAll(async () => {
    await closeContexts(browser)
    server.close()
  })

  /** Opens a page in its own browser profile; `complaints` are its console messages. */
  async function open(path: string, options: BrowserContextOptions = {}) {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const complaints = complaintsOf(page)
    await page.goto(origin + path)
    return { page, complaints, [Symbol.asyncDispose]: () => context.close() }
  }

  test('every page passes axe in light and dark mode, fits 320 and 1280 px, and Tab reaches every control in order', async () => {
    await using opened = await open('/empty', { viewport: { width: 1280, height: 640 } })
    for (const [path, { controls }] of Object.entries(PAGES)) {
      await opened.page.goto(origin + path)
      expect([path, await tabOrder(opened.page)]).toEqual([path, controls])
      expect([path, await lookOf(opened.page)]).toEqual([path, SOUND_LOOK])
      expect([path, opened.complaints]).toEqual([path, []])
    }
  })

  test('every page fits a window 320 px wide in every language, even with long words', async () => {
    await using opened = await open('/empty', { viewport: { width: 320, height: 640 } })
    for (const locale of PLATFORM_LOCALES) {
      const localFrame = { locale, nonce: NONCE }
      const pages = [
        loginPage('', locale),
        ...(['unknown-host', 'mode-unavailable', 'maintenance'] as const).map((kind) =>
          errorPage(localFrame, { status: 503, kind, reference: 'r'.repeat(80) }),
        ),
      ]
      for (const html of pages) {
        await opened.page.setContent(html)
        expect([locale, await opened.page.evaluate('document.scrollingElement.scrollWidth')]).toEqual([locale, 320])
      }
    }
  })

  test('the redirecting page works without JavaScript', async () => {
    await using opened = await open('/login', { javaScriptEnabled: false })
    const { page } = opened
    await page.route('**/from', (route) =>
      route.fulfill({
        contentType: 'text/html',
        headers: { 'Content-Security-Policy': POLICY },
        body: goesOnPage(frame, { href: '/signed-out?a=1&b=2', shown: 'here' }),
      }),
    )
    await page.goto(`${origin}/from`)
    await page.waitForURL(`${origin}/signed-out?a=1&b=2`)
  })

  test('error page: a click selects the whole reference', async () => {
    await using opened = await open('/error')
    const { page } = opened
    await page.click('.reference code')
    expect(await page.evaluate('String(getSelection()).trim()')).toBe('01JVE7C3N8X2Q5W9K4M6T0R1ZB')
  })

  test('login: an empty required field shows the message from the template', async () => {
    await using opened = await open('/login')
    const { page } = opened
    await page.click('#submit')
    expect(await validationMessages(page)).toEqual(['Enter your username.', 'Enter your password.'])
    await page.fill('#username', 'anna')
    expect(await validationMessages(page)).toEqual(['', 'Enter your password.'])
  })

  test('login: a value that was set without an event is also sent', async () => {
    await using opened = await open('/login')
    const { page } = opened
    await page.evaluate('for (const input of [username, password]) input.value = "filled"')
    posted.length = 0
    await page.click('#submit')
    await page.waitForLoadState()
    expect(posted).toEqual(['username=filled&password=filled&id_token='])
  })

  test('login: the password can be shown and is hidden again before it is sent', async () => {
    await using opened = await open('/login')
    const { page } = opened
    await page.fill('#username', 'anna')
    await page.fill('#password', 'secret')
    await page.getByRole('button', { name: 'Show password' }).click()
    expect(await page.getAttribute('#password', 'type')).toBe('text')
    await page.getByRole('button', { name: 'Hide password' }).click()
    expect(await page.getAttribute('#password', 'type')).toBe('password')
    await page.getByRole('button', { name: 'Show password' }).click()
    await page.evaluate(`addEventListener('submit', (event) => {
      event.preventDefault()
      document.title = password.type
    })`)
    await page.click('#submit')
    expect(await page.title()).toBe('password')
  })

  test('login: it works without JavaScript', async () => {
    await using opened = await open('/login', { javaScriptEnabled: false })
    const { page } = opened
    posted.length = 0
    await page.click('#submit')
    expect(posted).toEqual([])
    await page.fill('#username', 'anna')
    await page.fill('#password', 'secret')
    await page.check('#remember')
    await page.press('#password', 'Enter')
    await page.waitForLoadState()
    expect(posted).toEqual(['username=anna&password=secret&remember=on&id_token='])
  })

  test('login: the error label describes the fields only while it is visible', async () => {
    const description = async (path: string) => {
      await using opened = await open(path)
      const snapshot = await opened.page.locator('#messages').ariaSnapshot()
      return [snapshot, await opened.page.isVisible('#errorlabel')]
    }
    expect(await description('/login')).toEqual(['', false])
    expect(await description('/refused-login')).toEqual([
      '- alert: Sign-in failed. Check your username and password and try again.',
      true,
    ])
  })
})

/** The default template as the host would serve it, with optional extra CSS. */
function loginPage(style = '', locale = 'en'): string {
  return defaultLoginTemplate()
    .replace(/%%i18n:([^%]+)%%/g, (_placeholder, key: string) => platformText(locale, key))
    .replace(/<(script|style)>/g, `<$1 nonce="${NONCE}">`)
    .replace('</head>', `<style nonce="${NONCE}">${style}</style></head>`)
}

function validationMessages(page: Page): Promise<string[]> {
  return page.evaluate<string[]>('[username, password].map((input) => input.validationMessage)')
}
