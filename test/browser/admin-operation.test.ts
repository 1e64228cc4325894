import { readFile } from 'node:fs/promises'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AUDIT_ACTIONS } from '../../host/access/audit.ts'
import { addCookie, adminCookie } from '../support/admin.ts'
import {
  axeViolations,
  browserPath,
  closeContexts,
  complaintsOf,
  lookOf,
  SOUND_LOOK,
  sharedBrowser,
  speak,
  untilTrue,
} from '../support/browser.ts'
import { ADMIN_PASSWORD, startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { addAuthenticatorSolution, addDefaultSolution, addUser, askAdmin, visit } from '../support/users.ts'
import { createPages } from '../support/usual-page.ts'
import { bundleOf } from '../support/zip.ts'

const LONG = 'Verwaltungsgemeinschaftsvorsitzendenstellvertreter-Beschaffungsantrag'
const AUTHENTICATOR = `function onSolutionOpen(arg, parameters) { security.login(parameters.username, 'u1', ['Users']) }`

describe.skipIf(browserPath === undefined)('the admin pages for operating the host, in a browser', () => {
  let host: TestHost
  let browser: Browser
  let uid: string

  beforeAll(async () => {
    host = await startTestHost()
    await addDefaultSolution(host, 'crm', { title: 'Customers', permissions: ['Users'] })
    await addAuthenticatorSolution(host, 'shop', AUTHENTICATOR)
    uid = await addUser(host, LONG, {
      displayName: LONG,
      permissions: ['Users', LONG, { name: LONG, solution: 'crm' }],
    })
    await (await visit(host, 'crm')).signIn(LONG)
    await (await visit(host, 'crm')).signIn(LONG, 'wrong')
    await (await visit(host, 'shop')).signIn('sam')
    await askAdmin(host, 'POST', 'tokens', { name: LONG, scopes: ['solutions:crm:write'], expiresAt: Date.now() + 1e9 })
    browser = await sharedBrowser()
  })
  afterAll(async () => {
    await closeContexts(browser)
    await host?.stop()
  })

  const openPage = createPages(() => ({
    browser,
    blank: `${host.adminUrl}/admin/api/none`,
    signIn: async (page) => addCookie(page, `${host.adminUrl}/admin/`, await adminCookie(host)),
  }))

  async function open(path: string, options?: BrowserContextOptions) {
    const opened = await openPage(options)
    const complaints = complaintsOf(opened.page)
    await opened.page.goto(host.adminUrl + path)
    return { ...opened, complaints }
  }

  /** The width that `12/22/2026, 11:05 PM` needs, in px. */
  const WHOLE_DATE = 236

  const PATHS = [
    '/admin/users',
    '/admin/users/new',
    '/admin/users/import',
    '/admin/users/{uid}',
    '/admin/sessions',
    '/admin/tokens',
    '/admin/tokens/new',
    '/admin/audit',
    '/admin/health',
    '/admin/health?range=day',
    '/admin/maintenance',
    '/admin/settings',
    '/admin/settings?search=nothing-of-that',
  ]

  test('every page passes axe in light and dark mode, fits windows of 320 and 1200 px, and logs nothing to the console', async () => {
    await using opened = await open('/admin/users', { viewport: { width: 1200, height: 640 } })
    for (const path of PATHS) {
      await opened.page.goto(host.adminUrl + path.replace('{uid}', uid))
      expect([path, await lookOf(opened.page)]).toEqual([path, SOUND_LOOK])
      expect([path, opened.complaints]).toEqual([path, []])
    }
  })

  test('in nl, de, fr and es, every page fits a window 320 px wide, and no text is missing', async () => {
    await using opened = await open('/admin/users', { viewport: { width: 320, height: 640 } })
    const { page } = opened
    for (const locale of ['nl', 'de', 'fr', 'es']) {
      await speak(page, locale)
      for (const path of PATHS) {
        await page.goto(host.adminUrl + path.replace('{uid}', uid))
        const at = [locale, path]
        expect([...at, await page.getAttribute('html', 'lang')]).toEqual([...at, locale])
        expect([...at, await page.evaluate('document.scrollingElement.scrollWidth')]).toEqual([...at, 320])
        expect([...at, (await page.textContent('main'))?.match(/![a-z.-]+!/g)]).toEqual([...at, null])
      }
    }
  })

  test('sign-in: the focus is in the field to fill in next', async () => {
    await using context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${host.adminUrl}/admin/sign-in`)
    // A browser handles `autofocus` when it renders the page, which may be after the event `load`.
    const expectFocus = (name: string) => expect.poll(() => page.evaluate('document.activeElement.name')).toBe(name)
    await expectFocus('username')
    await page.keyboard.type('admin')
    await page.fill('#password', 'wrong')
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
    await expectFocus('password')
    expect(await page.inputValue('#username')).toBe('admin')
    await page.click('summary')
    await page.fill('#token', 'wrong')
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
    await expectFocus('token')
  })

  test('sessions: they can be filtered by user, and ending one signs its browser out within a second', async () => {
    const visitor = await visit(host, 'shop')
    await visitor.signIn('tom')
    await using opened = await open('/admin/sessions')
    const { page } = opened
    await page.fill('#username', 'tom')
    await Promise.all([page.waitForURL(/username=tom/), page.click('button:has-text("Filter")')])
    expect(await page.locator('tbody th').allTextContents()).toEqual([expect.stringContaining('tom')])
    await page.click('button[aria-label="End tom’s session in shop"]')
    await Promise.all([page.waitForEvent('load'), page.click('#admin-question button[value=yes]')])
    expect(await page.textContent('.empty')).toBe('No matches. Change the search or filter and try again.')
    await expect.poll(async () => (await visitor.session()).status).toBe(401)
  })

  test('tokens: an author token is shown once, can only upload its solution, and can be revoked', async () => {
    await using opened = await open('/admin/tokens/new', { permissions: ['clipboard-read', 'clipboard-write'] })
    const { page, complaints } = opened
    await page.fill('#name', 'author of invoices')
    await page.fill('#token-author-solution', 'invoices')
    await page.selectOption('#token-lifetime', '30')
    await page.click('form button[type=submit]:has-text("Create token")')
    await page.waitForSelector('#made:not([hidden])')
    expect(await axeViolations(page)).toEqual([])
    const token = (await page.textContent('#made-token')) ?? ''
    expect(await page.locator('pre:visible').allTextContents()).toEqual([
      `export SOLHOST_TOKEN=${token}\nnpx solhost deploy <folder> ${host.adminUrl}`,
    ])
    await page.click('button[data-copy=made-token]')
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(token)

    const put = async (name: string) =>
      ask(`${host.url}/admin/api/solutions/${name}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/zip' },
        body: await bundleOf({ name, authenticator: 'NONE' }),
      })
    expect([(await put('invoices')).status, (await put('crm')).status]).toEqual([201, 403])
    const listed = (await askAdmin(host, 'GET', 'tokens')).items as { name: string; expiresAt: number }[]
    const made = listed.find(({ name }) => name === 'author of invoices')
    expect(made).toMatchObject({ scopes: ['solutions:invoices:write'] })
    expect(Math.abs((made?.expiresAt ?? 0) - Date.now() - 30 * 86_400_000)).toBeLessThan(3_600_000)

    await page.click('a:has-text("Back to tokens")')
    expect(await page.content()).not.toContain(token)
    await page.click('button[aria-label="Revoke token author of invoices"]')
    await Promise.all([page.waitForEvent('load'), page.click('#admin-question button[value=yes]')])
    expect((await put('invoices')).status).toBe(401)
    expect(complaints).toEqual([])
  })

  test('tokens: a token that calls endpoints has the permissions that were entered', async () => {
    await using opened = await open('/admin/tokens/new')
    const { page } = opened
    await page.fill('#name', 'caller')
    await page.check('#kind-call')
    await page.fill('#token-call-solution', 'shop')
    await page.fill('#token-call-permissions', ' Orders\n\nEdit orders ')
    expect(await axeViolations(page)).toEqual([])
    await page.click('form button[type=submit]:has-text("Create token")')
    await page.waitForSelector('#made:not([hidden])')
    const listed = (await askAdmin(host, 'GET', 'tokens')).items as { name: string }[]
    expect(listed.find(({ name }) => name === 'caller')).toMatchObject({
      scopes: ['solutions:shop:call'],
      permissions: ['Orders', 'Edit orders'],
    })
    // This token can't deploy, so the page shows how to call an endpoint.
    const token = await page.textContent('#made-token')
    expect(await page.locator('pre:visible').allTextContents()).toEqual([
      `curl -H 'Authorization: Bearer ${token}' \\\n  ${host.url}/solution/shop/api/<path>`,
    ])
    expect(await page.locator('[data-use=api]').isVisible()).toBe(false)
    expect(await axeViolations(page)).toEqual([])
    await page.click('a:has-text("Back to tokens")')
    const row = page.locator('tr', { hasText: 'caller' })
    expect(await row.locator('td').nth(1).locator('li').allInnerTexts()).toEqual(['Orders', 'Edit orders'])
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
  })

  test('tokens: permissions can be selected, even for individual solutions, with an expiry in UTC', async () => {
    await using opened = await open('/admin/tokens/new')
    const { page } = opened
    await page.fill('#name', 'monitoring')
    await page.check('#kind-chosen')
    expect(await page.isVisible('#token-author-solution')).toBe(false)
    await page.fill('#token-solutions', 'crm\nshop')
    await page.selectOption('#token-solutions-right', 'read')
    await page.selectOption('#token-health-all', 'read')
    await page.selectOption('#token-users-all', 'write')
    await page.selectOption('#token-lifetime', 'until')
    // A token without an expiry would never expire, so the field is required.
    await page.click('form button[type=submit]:has-text("Create token")')
    expect(await page.evaluate('document.querySelector("#token-until").validity.valueMissing')).toBe(true)
    expect(await page.isVisible('#made')).toBe(false)
    await page.fill('#token-until', '2099-12-31T12:30')
    expect(await axeViolations(page)).toEqual([])
    await page.click('form button[type=submit]:has-text("Create token")')
    await page.waitForSelector('#made:not([hidden])')
    const listed = (await askAdmin(host, 'GET', 'tokens')).items as { name: string }[]
    expect(listed.find(({ name }) => name === 'monitoring')).toMatchObject({
      scopes: ['solutions:crm:read', 'solutions:shop:read', 'users:write', 'health:read'],
      expiresAt: Date.UTC(2099, 11, 31, 12, 30),
    })
  })

  test('audit log: it can be filtered, and the same entries are exported as CSV', async () => {
    await using opened = await open('/admin/audit')
    const { page } = opened
    expect(await page.locator('#action option').allTextContents()).toEqual(['All', ...AUDIT_ACTIONS])
    await page.selectOption('#action', 'sign-in')
    await page.selectOption('#outcome', 'refused')
    await page.fill('#from', '2020-01-01T00:00')
    await Promise.all([page.waitForURL(/outcome=refused/), page.click('button:has-text("Filter")')])
    expect(await page.locator('tbody tr').count()).toBe(1)
    expect(await page.textContent('tbody tr')).toContain(`user:${LONG}`)
    expect(await page.inputValue('#from')).toBe('2020-01-01T00:00')
    expect([await page.inputValue('#action'), await page.inputValue('#outcome')]).toEqual(['sign-in', 'refused'])
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('a[download]')])
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n')
    expect(lines).toEqual([
      'time,actor,action,target,solution,outcome,address,correlationId',
      expect.stringContaining(`user:${LONG},sign-in,,crm,refused,127.0.0.1`),
    ])
    await page.click('tbody a')
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    for (const width of [1280, 1024, 320]) {
      await page.setViewportSize({ width, height: 800 })
      const widths = await Promise.all(
        ['#from', '#to'].map(async (id) => (await page.locator(id).boundingBox())?.width),
      )
      expect(Math.min(...widths.map((one) => one ?? 0)), `window of ${width} px`).toBeGreaterThanOrEqual(WHOLE_DATE)
    }
  })

  test('audit log: entries with long targets and outcomes fit their card, and in a narrower window the card scrolls', async () => {
    const rejected = { username: LONG.repeat(2), displayName: ' ' }
    await askAdmin(host, 'POST', 'users', rejected, 422)
    await using opened = await open('/admin/audit')
    const { page } = opened
    expect(await page.textContent('main')).toContain('ERR_REQUEST_INVALID')
    const card = page.locator('.card-flush')
    const sizes = () => card.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
    await page.setViewportSize({ width: 1280, height: 800 })
    expect(await sizes()).toBe(0)
    await page.setViewportSize({ width: 970, height: 800 })
    await card.evaluate((element) => element.scrollBy(1000, 0))
    const [edge, last] = await Promise.all([card, page.locator('thead th').last()].map((one) => one.boundingBox()))
    const right = (box: typeof edge) => Math.round((box?.x ?? 0) + (box?.width ?? 0))
    expect(right(last ?? null)).toBeLessThanOrEqual(right(edge ?? null))
  })

  test('maintenance: it can be turned on after a confirmation, shows who turned it on, and can be turned off again', async () => {
    await using opened = await open('/admin/maintenance')
    const { page } = opened
    await page.click('button:has-text("Turn on maintenance")')
    await Promise.all([page.waitForEvent('load'), page.click('#admin-question button[value=yes]')])
    expect(await page.textContent('.title-row .state')).toBe('On')
    expect(await page.textContent('main .quiet')).toMatch(/^Last changed at .* \(UTC\) by admin\.$/)
    expect((await (await visit(host, 'crm')).open()).status).toBe(503)
    await page.goto(`${host.adminUrl}/admin/health`)
    expect(await page.textContent('#live-state')).toContain(
      'Maintenance is on, so new sign-ins are blocked and no jobs start.',
    )
    await page.goto(`${host.adminUrl}/admin/maintenance`)
    await Promise.all([page.waitForEvent('load'), page.click('button:has-text("Turn off maintenance")')])
    expect((await (await visit(host, 'crm')).open()).status).toBe(200)
  })

  describe('health', () => {
    /** Fakes the page's clock, so that tests can advance it instead of waiting for the next refresh. */
    async function openLive() {
      const opened = await open('/admin/users', {})
      await opened.page.clock.install()
      await opened.page.goto(`${host.adminUrl}/admin/health`)
      return opened
    }
    const refreshes = (page: Page) => page.waitForResponse(/\/admin\/health\.json/)

    test('the page says that there are no problems, shows charts with their values in tables, and lists the scripts that ran', async () => {
      await using opened = await open('/admin/health')
      const { page } = opened
      expect((await page.textContent('#live-state'))?.trim()).toBe('No problems found.')
      expect(await page.locator('svg[role=img] title').allTextContents()).toEqual([
        'Sign-ins',
        'Script duration',
        'Memory',
        'Sandbox processes and clients',
      ])
      await page.click('#chart-signins-table summary')
      const rows = page.locator('#chart-signins-table tbody tr')
      const cells = await rows.last().locator('td').allTextContents()
      expect(cells.map((cell) => Number(cell.trim()))).toEqual([expect.any(Number), 1, 0])
      expect(await axeViolations(page)).toEqual([])
      expect(await page.textContent('#live-entries')).toContain('onSolutionOpen')
    })

    test('while the host does not respond, the page says that its data is out of date', async () => {
      await using opened = await openLive()
      const { page } = opened
      await page.route('**/admin/health.json*', (route) => route.abort())
      await page.clock.runFor(15_000)
      await page.waitForSelector('#live-lost:not([hidden])')
      await page.unroute('**/admin/health.json*')
      await page.clock.runFor(15_000)
      await page.waitForSelector('#live-lost', { state: 'hidden' })
    })

    test('the page refreshes automatically: changes appear, details stay open, and the focus does not move', async () => {
      await using opened = await openLive()
      const { page, complaints } = opened
      await page.click('#chart-times-table summary')
      await page.focus('#live-spans a:last-of-type')
      await askAdmin(host, 'PUT', 'maintenance', { on: true })
      const refreshed = refreshes(page)
      await page.clock.runFor(15_000)
      await refreshed
      await untilTrue(page, "document.querySelector('#live-state').textContent.includes('Maintenance is on')")
      await askAdmin(host, 'PUT', 'maintenance', { on: false })
      expect(await page.getAttribute('#chart-times-table', 'open')).toBe('')
      expect(await page.evaluate('document.activeElement.textContent')).toBe('1 hour')
      expect(complaints).toEqual([])
    })

    test('automatic refreshes can be paused; when they are resumed, the page refreshes immediately', async () => {
      await using opened = await openLive()
      const { page } = opened
      let asked = 0
      page.on('request', (request) => {
        if (request.url().includes('health.json')) asked++
      })
      await page.click('#live-pause')
      expect(await page.getAttribute('#live-pause', 'aria-pressed')).toBe('true')
      await page.clock.runFor(60_000)
      expect(asked).toBe(0)
      const refreshed = refreshes(page)
      await page.click('#live-pause')
      await refreshed
      expect(asked).toBe(1)
    })

    test('if the session has ended, the page redirects to the sign-in page and, after the sign-in, back', async () => {
      await using opened = await openLive()
      const { page } = opened
      await page.context().clearCookies()
      await page.clock.runFor(15_000)
      await page.waitForURL(/\/admin\/sign-in\?to=%2Fadmin%2Fhealth/)
      await page.fill('#username', 'admin')
      await page.fill('#password', ADMIN_PASSWORD)
      await page.getByRole('button', { name: 'Show password' }).click()
      expect(await page.getAttribute('#password', 'type')).toBe('text')
      await page.getByRole('button', { name: 'Hide password' }).click()
      expect(await page.getAttribute('#password', 'type')).toBe('password')
      expect(await page.innerText('.forgot')).toContain('set SERVLET_PASSWORD')
      await Promise.all([page.waitForURL(`${host.adminUrl}/admin/health`), page.click('button[type=submit]')])
    })
  })

  test('settings: a search finds settings by their meaning while the user types, and the URL contains the search', async () => {
    await using opened = await open('/admin/settings')
    const { page, complaints } = opened
    const rows = page.locator('tbody tr:visible')
    const all = await rows.count()
    expect(await page.innerText('#settings-count')).toBe(`Settings: ${all}`)
    expect(await page.isVisible('#settings-filter button')).toBe(false)
    await page.locator('#search').pressSequentially('PASSWORD')
    expect(await rows.count()).toBeGreaterThan(1)
    expect(await rows.count()).toBeLessThan(all)
    await page.check('#set')
    expect((await rows.allInnerTexts()).map((text) => text.split(/\s*\n\s*|\t/))).toEqual([
      ['SERVLET_PASSWORD', 'Set', 'Environment', 'Password of the admin account'],
    ])
    expect(await page.locator('#settings-groups li:visible').allInnerTexts()).toEqual(['Access and security'])
    expect(await page.innerText('#settings-count')).toBe('Settings: 1')
    await page.reload()
    expect(await rows.count()).toBe(1)
    expect(await page.inputValue('#search')).toBe('PASSWORD')

    await page.fill('#search', 'nothing-of-that')
    expect(await page.innerText('.empty')).toBe('No matches. Change the search or filter and try again.')
    expect(await page.isVisible('#settings-groups')).toBe(false)
    await page.uncheck('#set')
    await page.fill('#search', '')
    expect(await rows.count()).toBe(all)
    expect(new URL(page.url()).search).toBe('')
    expect(complaints).toEqual([])
  })

  test('settings: in a browser without scripts, the form filters the settings', async () => {
    await using opened = await open('/admin/settings', { javaScriptEnabled: false })
    const { page } = opened
    await page.check('#set')
    await page.fill('#search', 'password')
    await Promise.all([page.waitForURL(/search=password&set=1/), page.press('#search', 'Enter')])
    expect(await page.locator('tbody tr:visible').count()).toBe(1)
  })
})
