import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RANGES } from '../../control-center/telemetry/ranges.ts'
import { addCookie } from '../support/admin.ts'
import { browserPath, closeContexts, complaintsOf, lookOf, SOUND_LOOK, sharedBrowser } from '../support/browser.ts'
import { OWNER, signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { keepPicture } from '../support/client-browser.ts'
import { SimulatedHost, sendOtlp } from '../support/otlp.ts'
import { createPages } from '../support/usual-page.ts'

const trace = 'e'.repeat(32)
const SLOT_OF_A_DAY = RANGES['24h'].slot

describe.skipIf(browserPath === undefined)('analysis and logs, in a browser', () => {
  let center: TestCenter
  let browser: Browser
  let token = ''
  /** The session that all tests share, so that only one sign-in is needed. */
  const now = Date.now()
  const host = new SimulatedHost(now - 600_000)

  beforeAll(async () => {
    center = await startTestCenter()
    token = (await center.environment('east-wing-of-the-administration')).token
    for (let minute = 20; minute >= 0; minute--) {
      for (const [result, count] of [
        ['ok', 5 + (minute % 3)],
        ['refused', 1],
        ['script_timeout', minute % 2],
      ] as const) {
        host.add('solhost_logins_total', { solution: 'shop', mode: 'default', result }, count)
      }
      host.record('solhost_script_duration_seconds', 0.02 * minute, {
        solution: 'shop',
        entry: 'onSolutionOpen',
        outcome: 'returned',
      })
      host.record('solhost_script_duration_seconds', 0.7, { solution: 'shop', entry: 'forms', outcome: 'returned' })
      host.set('solhost_clients', {}, minute)
      host.set('solhost_memory_bytes', { part: 'host' }, 2 ** 27 + minute * 2 ** 20)
      host.set('solhost_memory_bytes', { part: 'sandbox' }, 2 ** 28)
      host.add('solhost_sandbox_kills_total', { reason: 'script_timeout' }, minute % 2)
      await sendOtlp(center.url, token, 'metrics', host.metrics(now - minute * 60_000))
    }
    const labels = {
      'solhost.solution': 'shop',
      'solhost.code': 'script_error',
      'code.file.path': 'scripts/a.js',
      'code.line.number': 3,
    }
    const lines = [
      { message: `TypeError: ${'order'.repeat(60)} is not a function`, severity: 17, labels, trace },
      { message: 'An order came in', labels: { 'solhost.solution': 'shop' } },
    ]
    await sendOtlp(center.url, token, 'logs', host.logs(lines))
    await sendOtlp(
      center.url,
      token,
      'traces',
      host.spans([
        {
          trace,
          span: '1'.repeat(16),
          name: 'POST /solution/:solution/index.html',
          start: now - 1000,
          duration: 900,
          labels: { 'http.request.method': 'POST' },
        },
        { trace, span: '2'.repeat(16), parent: '1'.repeat(16), name: 'login', start: now - 900, duration: 700 },
        {
          trace,
          span: '3'.repeat(16),
          parent: '2'.repeat(16),
          name: 'sandbox call',
          start: now - 800,
          duration: 500,
          isFailed: true,
        },
      ]),
    )
    browser = await sharedBrowser()
  })
  afterAll(async () => {
    await closeContexts(browser)
    await center?.stop()
  })

  const openPage = createPages(() => ({
    browser,
    options: { viewport: { width: 1200, height: 900 } },
    blank: `${center.url}/api/none`,
    signIn: async (page) => addCookie(page, `${center.url}/`, (await signInToCenter(center)).cookie),
  }))

  async function open(path: string) {
    const opened = await openPage()
    const complaints = complaintsOf(opened.page)
    await opened.page.goto(center.url + path)
    return { ...opened, complaints }
  }

  const PATHS = [
    '/o/acme/analysis?range=1h',
    '/o/acme/logs',
    '/o/acme/analysis/traces',
    `/o/acme/analysis/traces/${trace}`,
  ]

  test.each(PATHS)(
    '%s: axe finds no violation, the console is empty, and nothing scrolls horizontally, in light and dark mode, and in a wide and a narrow window',
    async (path) => {
      await using opened = await open(path)
      const { page, complaints } = opened
      if (path.includes('range')) await page.locator('.plot').first().waitFor()
      await keepPicture(page, path.replaceAll(/\W+/g, '-'))
      expect(await lookOf(page, 320)).toEqual(SOUND_LOOK)
      expect(complaints).toEqual([])
    },
  )

  test('each chart with data is drawn, and its data is also in a table', async () => {
    await using opened = await open('/o/acme/analysis?range=1h')
    const { page } = opened
    expect(await page.locator('.chart .field-of-lines').count()).toBe(5)
    expect(await page.locator('.field-of-lines .line-0:not([d=""])').count()).toBeGreaterThan(4)
    await page.locator('#table-logins summary').click()
    const rows = page.locator('#table-logins tbody tr')
    expect(await rows.count()).toBeGreaterThan(15)
    expect(await page.locator('#live-entries').innerText()).toContain('Slow: p95 above 500 ms')
    expect(await page.locator('#live-errors').innerText()).toContain('scripts/a.js:3')
  })

  test('legends use words instead of codes', async () => {
    await using opened = await open('/o/acme/analysis?range=1h')
    const legend = async (key: string) =>
      (await opened.page.locator(`#live-${key} .legend`).innerText()).split('\n').map((line) => line.trim())
    expect((await legend('logins')).map((line) => line.split(':')[0])).toEqual([
      'Accepted',
      'Refused',
      'Script timed out',
    ])
    expect(await legend('scripts')).toContainEqual(expect.stringMatching(/^onSolutionOpen: median \(p50\): /))
    expect((await legend('kills'))[0]).toMatch(/^Script timed out: /)
  })

  test('the axis of a chart with counts has whole numbers, and a single value is drawn as a point', async () => {
    // A gauge's value is carried over into the next interval. If it is reported just before an interval ends, the chart
    // shows two values. In that case, wait for the next interval.
    const left = SLOT_OF_A_DAY - (Date.now() % SLOT_OF_A_DAY)
    if (left < 15_000) await sleep(left)
    const now = Date.now()
    const { token: own } = await center.environment('single')
    const single = new SimulatedHost(now - 600_000)
    single.add('solhost_logins_total', { solution: 'alone', mode: 'default', result: 'ok' }, 0)
    await sendOtlp(center.url, own, 'metrics', single.metrics(now - 60_000))
    single.add('solhost_logins_total', { solution: 'alone', mode: 'default', result: 'ok' }, 2)
    single.set('solhost_memory_bytes', { part: 'host' }, 2 ** 27)
    await sendOtlp(center.url, own, 'metrics', single.metrics(now))
    await using opened = await open('/o/acme/analysis?range=24h&environment=single')
    const { page } = opened
    const valuesOf = (key: string) => page.locator(`#live-${key} .plot-values li`).allInnerTexts()
    expect(await valuesOf('logins')).toEqual(['4', '3', '2', '1', '0'])
    const dots = (key: string) => page.locator(`#live-${key} .dots`).first().getAttribute('d')
    expect(await dots('memory')).toMatch(/^M[\d. ]+h0$/)
    expect(await dots('logins')).toBe('')
  })

  test('the filter is in the URL and shows only one solution’s data', async () => {
    await using opened = await open('/o/acme/analysis')
    const { page } = opened
    await page.selectOption('#range', '15m')
    await page.selectOption('#solution', 'shop')
    await page.click('main form button[type=submit]')
    await page.waitForURL(/range=15m/)
    expect(await page.locator('#solution').inputValue()).toBe('shop')
    expect(await page.locator('#live-logins').innerText()).toContain('Accepted')
  })

  test('only the selected solution’s script durations are shown', async () => {
    const entries = async (solution: string) => {
      await using opened = await open(`/o/acme/analysis?range=1h&solution=${solution}`)
      return await opened.page.locator('#live-entries').innerText()
    }
    expect(await entries('shop')).toContain('onSolutionOpen')
    expect(await entries('desk')).toContain('No data for this period.')
  })

  test('a user who already follows 10 logs sees what to do, and can follow the log once another page is closed', async () => {
    const { followers } = center.parts.telemetry
    const other = { who: `user:${OWNER}`, logs: [], nameOf: () => '', end: () => {} }
    const leave = Array.from({ length: 10 }, () => followers.enter({ ...other }))
    await using opened = await open('/o/acme/logs')
    const { page } = opened
    await page.locator('.log-live[data-state=lost]').waitFor()
    expect(await page.locator('.log-live .log-state').innerText()).toMatch(
      /^You are already following 10 logs.* Close a log page/,
    )
    for (const one of leave) one()
    for (const _ of ['pause', 'go on']) await page.locator('.log-live button').click()
    await page.locator('.log-live[data-state=following]').waitFor()
  })

  test('a new log line appears automatically with its details, and a search finds it', async () => {
    await using opened = await open('/o/acme/logs')
    const { page } = opened
    await page.locator('.log-live[data-state=following]').waitFor()
    await sendOtlp(
      center.url,
      token,
      'logs',
      host.logs([{ message: 'fresh from the press', labels: { 'solhost.solution': 'desk', colour: 'red' } }]),
    )
    const row = page.locator('#log-rows tr', { hasText: 'fresh from the press' })
    await row.waitFor()
    expect(await row.innerText()).toMatch(/east-wing-of-the-administration\s+desk/)
    await row.locator('summary').click()
    expect(await row.innerText()).toContain('"colour":"red"')
    await page.fill('#words', 'press*')
    await page.keyboard.press('Enter')
    await page.waitForURL(/words=press/)
    await expect.poll(() => page.locator('#log-rows tr').count()).toBe(1)
  })
})
