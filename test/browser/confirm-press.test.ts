import type { Browser, Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AXE, closeContexts, sharedBrowser } from '../support/browser.ts'
import { eventually, faultsOfScreen, nameOfFocus, openWatched } from '../support/client-browser.ts'
import { addClientSolution, button, label } from '../support/client-solution.ts'
import type { TestHost } from '../support/host.ts'
import { sharedHost } from '../support/shared-host.ts'
import { addUser, PASSWORD } from '../support/users.ts'

// Tests the dialog that a script can require for a button press. Users confirm their identity in it before the press
// takes effect.

let host: Omit<TestHost, 'stop'>
let browser: Browser

beforeAll(async () => {
  host = await sharedHost()
  await addClientSolution(host, 'dialogs', {
    elements: [label('wiped'), ...['wipe', 'each', 'other'].map(button)],
    script: `
      let count = 0
      function wipeNow() { count += 1; forms.main.elements.wiped.label = String(count) }
      function wipe() { if (security.confirm('Delete <b>all</b> 12 orders of Bakkerij De Halm')) wipeNow() }
      function each() { if (security.confirm('i18n:reason', { every: true })) wipeNow() }
      function other() {}
    `,
    manifest: { authenticator: 'DEFAULT' },
    files: {
      'i18n/default.json': JSON.stringify({ reason: 'Pay the invoice' }),
      'i18n/de.json': JSON.stringify({ reason: 'Rechnung des Verwaltungsgemeinschaftsvorsitzenden bezahlen' }),
      // The author's style sheet must not apply to the page in the iframe.
      'media/style.css': '.reason, .card, #password { display: none !important }',
    },
  })
  browser = await sharedBrowser()
})
afterAll(() => closeContexts(browser))

const input = (name: string) => `[id="e-main-${name}.input"]`
const wiped = (page: Page) => page.innerText('#e-main-wiped')

/** Opens the solution for a remembered user, who has not entered credentials recently. */
async function open(username: string, locale = 'en-GB') {
  await addUser(host, username)
  const opened = await openWatched(browser, { locale })
  const { page, profile } = opened
  const address = `${host.url}/solution/dialogs/index.html`
  await page.goto(address)
  await page.fill('#username', username)
  await page.fill('#password', PASSWORD)
  await page.check('[name=remember]')
  await page.press('#password', 'Enter')
  await page.waitForSelector('form[data-form]')
  await profile.clearCookies({ name: /session/ })
  await page.goto(address)
  await page.waitForSelector('form[data-form]')
  return opened
}

/** Waits until the dialog's page has loaded. @returns its frame */
async function frameOf(page: Page): Promise<Frame> {
  const element = await page.waitForSelector('dialog.confirm[open] iframe')
  const frame = await element.contentFrame()
  if (frame === null) throw new Error('the dialog has no frame')
  await frame.waitForSelector('[data-confirming]')
  return frame
}

const focusIn = (frame: Frame) =>
  frame.evaluate<string>('document.activeElement.id || document.activeElement.textContent.trim()')
const answers = (frames: readonly { readonly kind: string }[]) => frames.filter(({ kind }) => kind === 'confirm').length

test('users confirm with the keyboard, the dialog keeps the focus, and the button gets it back', async () => {
  await using opened = await open('dora')
  const { page, complaints, frames } = opened
  await page.focus(input('wipe'))
  await page.keyboard.press('Enter')
  const first = await frameOf(page)
  expect(await page.getByRole('dialog', { name: 'Confirm that it’s you' }).count()).toBe(1)
  await eventually(() => focusIn(first)).toBe('password')
  expect(await first.innerText('.reason')).toBe('Delete <b>all</b> 12 orders of Bakkerij De Halm')
  // While the dialog is open, the keyboard focus can't move to the rest of the page.
  for (let count = 0; count < 8; count++) {
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.closest("form[data-form]")')).toBeNull()
  }
  await first.focus('#password')
  await page.keyboard.press('Escape')
  await page.waitForSelector('dialog', { state: 'detached' })
  expect([await nameOfFocus(page), await wiped(page)]).toEqual(['e-main-wipe.input', '0'])
  expect(complaints).toEqual([])

  await page.keyboard.press('Enter')
  const second = await frameOf(page)
  await second.fill('#password', 'not it')
  await second.press('#password', 'Enter')
  await eventually(() => second.getByRole('alert').innerText()).toContain('password')
  await second.fill('#password', PASSWORD)
  await second.press('#password', 'Enter')
  await eventually(() => wiped(page)).toBe('1')
  await page.waitForSelector('dialog', { state: 'detached' })
  expect(await nameOfFocus(page)).toBe('e-main-wipe.input')
  await page.keyboard.press('Enter')
  await eventually(() => wiped(page)).toBe('2')
  expect(answers(frames())).toBe(2)
  // Chromium logs the status of the response to the wrong password.
  expect(complaints.filter((one) => !one.includes('401'))).toEqual([])
})

test.each([
  ['en-GB', 'Pay the invoice'],
  ['de-DE', 'Rechnung des Verwaltungsgemeinschaftsvorsitzenden bezahlen'],
])('the dialog is accessible and fits into narrow windows (%s)', async (locale, reason) => {
  await using opened = await open(`look-${locale.slice(0, 2)}`, locale)
  const { page, complaints } = opened
  await page.click(input('each'))
  const frame = await frameOf(page)
  expect(await frame.innerText('.reason')).toBe(reason)
  await frame.evaluate(AXE)
  expect(await faultsOfScreen(page, `confirm-${locale}`)).toEqual([])
  await page.setViewportSize({ width: 320, height: 900 })
  await eventually(() => frame.evaluate('document.scrollingElement.scrollHeight <= innerHeight')).toBe(true)
  expect(await frame.evaluate('document.scrollingElement.scrollWidth <= innerWidth')).toBe(true)
  await frame.click('[data-cancel]')
  await page.waitForSelector('dialog', { state: 'detached' })
  expect([await wiped(page), complaints]).toEqual(['0', []])
})

test('if the page in the dialog can’t be loaded, the dialog closes, and a message says that nothing was done', async () => {
  await using opened = await open('fien')
  const { page } = opened
  await page.route('**/confirm/press?**', (route) =>
    route.fulfill({ status: 503, contentType: 'text/html', body: 'away' }),
  )
  await page.click(input('wipe'))
  await eventually(() => page.innerText('#client-alerts')).toContain('could not be loaded, so nothing was done')
  await page.waitForSelector('dialog', { state: 'detached' })
  await page.unrouteAll()
  await page.click(input('wipe'))
  const frame = await frameOf(page)
  await frame.fill('#password', PASSWORD)
  await frame.press('#password', 'Enter')
  await eventually(() => wiped(page)).toBe('1')
})
