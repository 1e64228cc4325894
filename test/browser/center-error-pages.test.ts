import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NAVIGATION } from '../support/admin.ts'
import { axeViolations, browserPath, closeContexts, sharedBrowser } from '../support/browser.ts'
import { OWNER, openCenterPage, signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { ask } from '../support/http.ts'

let center: TestCenter
beforeAll(async () => {
  center = await startTestCenter()
})
afterAll(() => center?.stop())

const SIGN_OUT = '<form class="top-end" method="post" action="/sign-out">'
const NAVIGATION_OF_ACME = 'href="/o/acme/environments"'

test('error pages: a signed-in user sees their name and the sign-out button', async () => {
  const { get, csrfToken } = await signInToCenter(center)
  const answer = await get('/nothing-here')
  expect(answer.status).toBe(404)
  expect(answer.text).toContain('<h1>Page not found</h1>')
  expect(answer.text).toContain(`<bdi>${OWNER}</bdi>`)
  expect(answer.text).toContain(SIGN_OUT)
  expect(answer.text).toContain(`name="csrf_token" value="${csrfToken}"`)
  expect(answer.text).not.toContain(NAVIGATION_OF_ACME)
})

test('error pages: within an organisation, they keep the navigation that the user’s role can see', async () => {
  const uid = await center.account('viewer@example.org')
  const acme = await center.parts.organisations.find('acme')
  const wanted = { email: 'viewer@example.org', role: 'viewer', invitedBy: 'test' } as const
  const { token } = await center.parts.invitations.create(acme?.id ?? '', wanted)
  await center.parts.invitations.accept(token, uid)
  const { get } = await signInToCenter(center, 'viewer@example.org')
  const unknown = await get('/o/acme/environments/nothing')
  expect([unknown.status, unknown.text.includes(NAVIGATION_OF_ACME)]).toEqual([404, true])
  const refused = await get('/o/acme/members')
  expect([refused.status, refused.text.includes(NAVIGATION_OF_ACME)]).toEqual([403, true])
  expect(refused.text).toContain(SIGN_OUT)
  expect(refused.text).not.toContain('href="/o/acme/members"')
})

test('error pages: they reveal nothing about other users’ organisations', async () => {
  await center.account('stranger@example.org')
  const { get } = await signInToCenter(center, 'stranger@example.org')
  const answer = await get('/o/acme/environments')
  expect([answer.status, answer.text.includes(SIGN_OUT)]).toEqual([404, true])
  expect(answer.text).not.toMatch(/acme/i)
})

test('error pages: without a session, they show no user', async () => {
  const answer = await ask(`${center.url}/nothing-here`, { headers: NAVIGATION })
  expect([answer.status, answer.text.includes('/sign-out')]).toEqual([404, false])
})

describe.skipIf(browserPath === undefined)('error pages, in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await sharedBrowser()
  })
  afterAll(() => closeContexts(browser))

  test('a signed-in user’s error page is accessible, fits a narrow screen, and its sign-out button works', async () => {
    const context = await browser.newContext({ viewport: { width: 320, height: 700 } })
    const page = await context.newPage()
    await openCenterPage(page, center, '/o/acme/environments')
    await page.goto(`${center.url}/o/acme/environments/nothing`)
    expect(await axeViolations(page)).toEqual([])
    expect(await page.evaluate('document.scrollingElement.scrollWidth')).toBe(320)
    await page.getByRole('button', { name: 'Menu', exact: true }).click()
    expect(await axeViolations(page)).toEqual([])
    await page.click('form.top-end button')
    await page.waitForURL(/\/sign-in/)
    await context.close()
  })
})
