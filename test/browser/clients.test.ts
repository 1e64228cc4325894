import { CspEvaluator } from 'csp_evaluator/dist/evaluator.js'
import { Severity } from 'csp_evaluator/dist/finding.js'
import { CspParser } from 'csp_evaluator/dist/parser.js'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closeContexts, sharedBrowser } from '../support/browser.ts'
import { eventually, faultsOfScreen, hear, nameOfFocus, openWatched, signIn } from '../support/client-browser.ts'
import { formWith } from '../support/forms.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { addDefaultSolution, addUser } from '../support/users.ts'
import { bundleOf } from '../support/zip.ts'

// Tests what a real browser shows when scripts are slow or fail, when their process is killed, and when a solution has
// no forms.

const FORMS = {
  'forms/main.json': JSON.stringify({
    title: 'Trials',
    ...formWith(
      { type: 'label', name: 'count', label: '0' },
      { type: 'text', name: 'name', label: 'Name' },
      { type: 'tabs', name: 'parts', tabs: ['one', 'two'].map((name) => ({ name, label: name, layout: [] })) },
      { type: 'button', name: 'slow', label: 'Slow', onAction: 'slow' },
      { type: 'button', name: 'fail', label: 'Fail', onAction: 'fail' },
      { type: 'button', name: 'up', label: 'Up', onAction: 'up' },
      { type: 'button', name: 'both', label: 'Off and on', onAction: 'off' },
    ),
  }),
  'forms/main.js': `
    let count = 0
    function up() { count += 1; forms.main.elements.count.label = String(count) }
    function slow() { const end = Date.now() + 1000; while (Date.now() < end); up() }
    function fail() { forms.main.elements.count.label = 'before it failed'; throw new Error('as it should') }
    function off() { forms.main.elements.both.enabled = false; up() }
  `,
}

const input = (name: string) => `[id="e-main-${name}.input"]`

let host: TestHost
let browser: Browser

beforeAll(async () => {
  host = await startTestHost()
  const trials = await host.upload(
    'trials',
    await bundleOf({ name: 'trials', authenticator: 'NONE', firstForm: 'main' }, FORMS),
  )
  const empty = await host.upload('open-to-all', await bundleOf({ name: 'open-to-all', authenticator: 'NONE' }))
  for (const answer of [trials, empty]) expect(await answer.json()).toMatchObject({ active: true })
  await addDefaultSolution(host, 'users')
  await addUser(host, 'olga')
  browser = await sharedBrowser()
})

afterAll(async () => {
  await closeContexts(browser)
  await host?.stop()
})

async function open() {
  const opened = await openWatched(browser)
  await opened.page.goto(`${host.url}/solution/trials/index.html`)
  await opened.page.waitForSelector('#f-main')
  return opened
}

test('while a handler runs for one second, the progress bar appears after 300 ms, and the page stays usable', async () => {
  await using opened = await open()
  const { page, complaints } = opened
  await page.evaluate(`(() => {
    globalThis.seen = []
    const bar = document.getElementById('client-progress')
    document.addEventListener('click', ({ timeStamp }) => seen.push(['click', timeStamp]), { capture: true, once: true })
    new MutationObserver(() => seen.push([bar.hidden ? 'gone' : 'shown', performance.now()])).observe(bar, { attributes: true })
    new MutationObserver(() => seen.push(['answer', performance.now()]))
      .observe(document.getElementById('e-main-count'), { subtree: true, childList: true, characterData: true })
  })()`)
  await page.click(input('slow'))
  await page.waitForSelector('#client-progress:not([hidden])')
  expect(await page.getAttribute('#client-progress', 'aria-label')).toBe('Working…')
  await page.getByRole('tab', { name: 'two' }).click()
  expect(await page.getByRole('tab', { name: 'two' }).getAttribute('aria-selected')).toBe('true')
  await page.fill(input('name'), 'typed meanwhile')
  await page.press(input('name'), 'Tab')
  await eventually(() => page.innerText('#e-main-count')).toBe('1')
  await page.waitForSelector('#client-progress[hidden]', { state: 'attached' })
  const seen = await page.evaluate<[string, number][]>('seen')
  expect(seen.map(([what]) => what).slice(0, 3)).toEqual(['click', 'shown', 'answer'])
  const [pressed = 0, shown = 0] = seen.map(([, time]) => time)
  expect(shown - pressed).toBeGreaterThanOrEqual(300)
  expect(await page.inputValue(input('name'))).toBe('typed meanwhile')
  expect(await page.getByRole('tab', { name: 'two' }).getAttribute('aria-selected')).toBe('true')
  expect(complaints).toEqual([])
})

test('if a handler fails, an alert shows the same reference as the log, and the client continues', async () => {
  await using opened = await open()
  const { page, complaints } = opened
  const said = await hear(page, '#client-alerts')
  await page.click(input('fail'))
  await eventually(said).toContain('That didn’t work.')
  const [reference = ''] = /[0-9A-Z]{5}-[0-9A-Z]{5}/.exec((await said()) ?? '') ?? []
  const log = await fetch(`${host.url}/admin/api/solutions/trials/log`, { headers: { authorization: host.admin } })
  const { items } = (await log.json()) as { items: { correlationId?: string; message: string }[] }
  expect(items.filter(({ correlationId }) => correlationId === reference).map(({ message }) => message)).toEqual([
    expect.stringContaining('as it should'),
  ])
  expect(await page.innerText('#e-main-count')).toBe('before it failed')
  expect(await faultsOfScreen(page, 'trials-failed')).toEqual([])
  await page.click(input('up'))
  await eventually(() => page.innerText('#e-main-count')).toBe('1')
  await page.getByRole('button', { name: 'Close message' }).click()
  expect([await said(), await nameOfFocus(page)]).toEqual(['', 'f-main.title'])
  expect(complaints).toEqual([])
})

test('if the script process crashes, a live region says so, and the form starts again and works', async () => {
  await using opened = await open()
  const { page, complaints } = opened
  await page.click(input('up'))
  await eventually(() => page.innerText('#e-main-count')).toBe('1')
  await page.fill(input('name'), 'not saved')
  const said = await hear(page, '#client-connection')
  for (const { pid, clients } of host.processes()) if ((clients ?? 0) > 0) process.kill(pid, 'SIGKILL')
  await eventually(said).toBe('This page had to restart. Unsaved changes are lost.')
  await eventually(() => page.innerText('#e-main-count')).toBe('0')
  expect(await page.inputValue(input('name'))).toBe('')
  expect(await faultsOfScreen(page, 'trials-reopened')).toEqual([])
  // The notice above the form disappears when the user does something, but not while the button is pressed.
  await page.fill(input('name'), 'typed')
  await page.click(input('up'))
  await eventually(() => page.innerText('#e-main-count')).toBe('1')
  expect(await said()).toBe('')
  expect(complaints).toEqual([])
})

test('a button that its own handler disables keeps the focus until the user moves it', async () => {
  await using opened = await open()
  const { page, complaints } = opened
  await page.focus(input('both'))
  await page.keyboard.press('Enter')
  await eventually(() => page.innerText('#e-main-count')).toBe('1')
  expect(await page.isDisabled(input('both'))).toBe(true)
  expect(await nameOfFocus(page)).toBe('e-main-both.input')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Shift+Tab')
  expect(await nameOfFocus(page)).toBe('e-main-up.input')
  await page.keyboard.press('Tab')
  expect(await nameOfFocus(page)).not.toBe('e-main-both.input')
  await page.click(input('up'))
  await eventually(() => page.innerText('#e-main-count')).toBe('2')
  expect(complaints).toEqual([])
})

describe('solutions without forms', () => {
  test('the signed-in user is shown', async () => {
    await using opened = await openWatched(browser)
    const { page, complaints } = opened
    await signIn(page, `${host.url}/solution/users/index.html`, 'olga')
    expect(await page.innerText('dl.facts')).toContain('olga')
    expect(await faultsOfScreen(page, 'no-form')).toEqual([])
    expect(complaints).toEqual([])
  })

  test('without a sign-in, the page says that the solution is open to everyone', async () => {
    await using opened = await openWatched(browser)
    const { page, complaints } = opened
    await page.goto(`${host.url}/solution/open-to-all/index.html`)
    await page.waitForSelector('text=This solution is open to everyone.')
    expect(await faultsOfScreen(page, 'no-form-open')).toEqual([])
    expect(complaints).toEqual([])
  })
})

describe('the Content-Security-Policy', () => {
  test('the client page’s policy passes csp_evaluator, and nothing on the page violates it', async () => {
    await using opened = await openWatched(browser)
    const { page, complaints, sources, frames } = opened
    const policies: string[] = []
    page.on('response', (response) => {
      if (response.request().isNavigationRequest()) policies.push(response.headers()['content-security-policy'] ?? '')
    })
    await page.goto(`${host.url}/solution/trials/index.html`)
    await page.waitForSelector('#f-main')
    await page.click(input('fail'))
    await page.waitForSelector('.message.error')
    await page.click(input('slow'))
    await page.waitForSelector('#client-progress:not([hidden])')
    await eventually(() => page.innerText('#e-main-count')).toBe('1')
    expect(policies).toHaveLength(1)
    expect(policies.flatMap(seriousFindings)).toEqual([])
    expect(complaints).toEqual([])
    const markup = [...sources, ...frames().map(markupOf)].join('\n')
    expect(markup).toContain('id="e-main-count"')
    expect(markup.match(/<[^>]*\s(on[a-z]+|style)\s*=[^>]*>|javascript:|<script(?![^>]* nonce=)/gi)).toBe(null)
  })

  test('the policy is effective: the browser reports a violation by the page', async () => {
    await using opened = await open()
    const { page, complaints } = opened
    await page.evaluate(
      `document.body.insertAdjacentHTML('beforeend', '<img src="x:y" onerror="1"><p style="color:red">')`,
    )
    await eventually(() => complaints.join('\n')).toContain('refused by the policy: style-src-attr')
  })
})

test('after a sign-out, the Back button shows no user data, even on a page from the back/forward cache', async () => {
  await using opened = await openWatched(browser)
  const { page } = opened
  await signIn(page, `${host.url}/solution/users/index.html`, 'olga')
  await page.click('text=Account')
  await page.waitForURL('**/account')
  await page.goBack()
  await page.waitForSelector('dl.facts')
  await Promise.all([page.waitForURL('**?signed-out'), page.getByRole('button', { name: 'Sign out' }).click()])
  for (let step = 0; step < 2; step++) {
    await page.goBack()
    await page.waitForSelector('#username')
    expect(await page.content()).not.toContain('olga')
  }
})

function markupOf(frame: ReturnType<Awaited<ReturnType<typeof openWatched>>['frames']>[number]): string {
  if (frame.kind === 'form') return frame.html
  return frame.kind === 'patch' ? frame.changes.map(({ html }) => html).join('\n') : ''
}

/** @returns the csp_evaluator findings that are dangerous, always or in some circumstances */
function seriousFindings(policy: string): string[] {
  return new CspEvaluator(new CspParser(policy).csp)
    .evaluate()
    .filter(({ severity }) => severity <= Severity.MEDIUM)
    .map(({ directive, value, description }) => `${directive} ${value ?? ''}: ${description}`)
}
