import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addCookie, adminCookie, openAdminPage, signInToAdmin } from '../support/admin.ts'
import {
  browserPath,
  closeContexts,
  complaintsOf,
  lookOf,
  SOUND_LOOK,
  sharedBrowser,
  speak,
  untilTrue,
} from '../support/browser.ts'
import { freePort } from '../support/database-server.ts'
import { ADMIN_PASSWORD, startTestHost, type TestHost } from '../support/host.ts'
import { type HostProcess, startHostProcess } from '../support/host-process.ts'
import { ask } from '../support/http.ts'
import { createPages } from '../support/usual-page.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf, type Files, moduleFile } from '../support/zip.ts'

type Draft = { readonly id: string }
type Hosted = Pick<TestHost, 'adminUrl'>

const EDITOR = '.cm-content'
const STATE = '#workbench-state'

/**
 * A message that CodeMirror logs after a jump to the end of a long file, if it needs more than five rounds to measure
 * the wrapped lines. The test checks that the end is shown anyway.
 */
const MEASURED_LATER = 'Measure loop restarted more than 5 times'

const END_IS_SHOWN = `(() => {
  const [scroller, line] = ['.cm-scroller', '.cm-line:last-of-type'].map((one) => document.querySelector(one).getBoundingClientRect())
  return line.bottom <= scroller.bottom + 1 && line.bottom <= innerHeight
})()`

describe.skipIf(browserPath === undefined)('the workbench, in a browser', () => {
  let host: TestHost
  let browser: Browser
  beforeAll(async () => {
    ;[host, browser] = await Promise.all([startTestHost(), sharedBrowser()])
  })
  afterAll(async () => {
    await closeContexts(browser)
    await host?.stop()
  })

  async function upload(name: string, manifest: object = {}, files: Files = {}): Promise<string> {
    const answer = await host.upload(name, await bundleOf({ name, authenticator: 'NONE', ...manifest }, files))
    expect(answer.status).toBe(201)
    return ((await answer.json()) as { sha256: string }).sha256
  }

  const openPage = createPages(() => ({
    browser,
    blank: `${host.adminUrl}/admin/api/none`,
    signIn: async (page) => addCookie(page, `${host.adminUrl}/admin/`, await adminCookie(host)),
  }))

  /** Opens the page; `complaints` are its console messages. */
  async function open(path: string, at: Hosted = host, options?: BrowserContextOptions) {
    const opened = await openPage(options)
    const { page } = opened
    const complaints = complaintsOf(page, [], (_url, text) => text !== MEASURED_LATER)
    if (at === host) await page.goto(`${host.adminUrl}${path}`)
    else await openAdminPage(page, at, path)
    return { ...opened, context: page.context(), complaints }
  }

  async function createDraft(name: string, body: object, at: Hosted = host): Promise<Draft> {
    const answer = await (await signInToAdmin(at)).api('POST', `solutions/${name}/drafts`, body)
    expect([answer.status, answer.text]).toEqual([201, expect.any(String)])
    return answer.json() as Draft
  }

  const pathOf = (name: string, { id }: Draft, file = 'globals.js') =>
    `/admin/solutions/${name}/workbench?draft=${id}&file=${file}`

  async function textOnHost(name: string, { id }: Draft, file = 'globals.js', at: Hosted = host): Promise<string> {
    const answer = await (await signInToAdmin(at)).api('GET', `solutions/${name}/drafts/${id}/files/${file}`)
    return (answer.json() as { text: string }).text
  }

  /** Puts the cursor at the start of the file. */
  async function focusStart(page: Page): Promise<void> {
    await page.click(EDITOR)
    await page.keyboard.press('Control+Home')
  }

  /** @returns the number of rows in which the buttons are laid out */
  function linesOf(page: Page, actions: string): Promise<number> {
    return page
      .locator(`#workbench-${actions} .button`)
      .evaluateAll((all) => new Set(all.map((one) => Math.round(one.getBoundingClientRect().top))).size)
  }

  const isSaved = (page: Page) => page.locator(`${STATE}[data-state=saved]`, { hasText: 'Saved at' }).waitFor()

  test.each([1280, 320])(
    'in a window of %i px, a solution is created from a template, gets its own login page, and is previewed and published in the browser, within 5 minutes',
    async (width) => {
      const name = `bakery-${width}`
      const begun = performance.now()
      await using opened = await open('/admin/', host, { viewport: { width, height: 800 } })
      const { page, complaints } = opened
      await page.fill('#create-name', name)
      await page.selectOption('#create-template', 'login-page')
      await page.click('text=Create draft')
      await page.waitForURL(new RegExp(`/admin/solutions/${name}/workbench\\?draft=`))
      await page.locator('#workbench-path', { hasText: 'media/login.html' }).waitFor()
      await page.locator(EDITOR, { hasText: '<!DOCTYPE html>' }).waitFor()
      await page.click(EDITOR)
      await page.keyboard.press('Control+End')
      await untilTrue(page, END_IS_SHOWN)
      await page.keyboard.type('<!-- bread and cake -->')
      await isSaved(page)
      await page.click('#workbench-preview-open')
      const frame = page.frameLocator('#workbench-preview-frame')
      await frame.locator('form[name=login_form]').waitFor()
      expect(await page.locator('nav.tabs').count()).toBe(0)
      await page.click('#workbench-publish-open')
      await page.locator('#workbench-publish-version').waitFor()
      await waitUntil(async () =>
        expect(await page.inputValue('#workbench-publish-version')).toMatch(/^\d+\.\d+\.\d+$/),
      )
      await page.click('#workbench-publish-button')
      await page.locator('#workbench-publish-said', { hasText: /^Published: version/ }).waitFor()
      const link = page.locator('#workbench-publish-said a', { hasText: 'Open the solution' })
      expect(await link.getAttribute('href')).toBe(`${host.url}/solution/${name}/`)
      expect(await page.locator('nav.tabs a[aria-current]').innerText()).toBe('Workbench')
      await page.locator('nav.tabs a', { hasText: 'Versions' }).waitFor()
      await page.locator('h2', { hasText: 'Draft based on version' }).waitFor()
      const shown = await ask(`${host.url}/solution/${name}/index.html`, { headers: { accept: 'text/html' } })
      expect([shown.status, shown.text]).toEqual([200, expect.stringContaining('<!-- bread and cake -->')])
      expect(performance.now() - begun).toBeLessThan(5 * 60_000)
      expect(complaints).toEqual([])
    },
  )

  test('the actions of a draft are on one line, and so are those of a file, in windows of 885 px; none is wider than the window', async () => {
    await upload('wide', {}, { 'scopes/a-file-with-a-rather-long-name.js': 'function one() {}\n' })
    const draft = await createDraft('wide', { base: await activeOf('wide') })
    await using opened = await open('/admin/', host, {})
    const { page } = opened
    for (const locale of ['en', 'nl', 'de', 'fr', 'es']) {
      await speak(page, locale)
      await page.goto(`${host.adminUrl}${pathOf('wide', draft, 'scopes/a-file-with-a-rather-long-name.js')}`)
      expect(await page.getAttribute('html', 'lang')).toBe(locale)
      await page.locator(EDITOR, { hasText: 'function one' }).waitFor()
      for (const width of [320, 600, 885, 1040, 1280]) {
        await page.setViewportSize({ width, height: 800 })
        const seen = [locale, width]
        expect([...seen, await page.evaluate('document.documentElement.scrollWidth - innerWidth')]).toEqual([
          ...seen,
          0,
        ])
        if (width < 885) continue
        expect([...seen, await linesOf(page, 'actions'), await linesOf(page, 'file-actions')]).toEqual([...seen, 1, 1])
      }
    }
  })

  test('a check marks errors at their line, F8 goes to them, and Escape with Tab leaves the editor', async () => {
    await upload('checked', {}, { 'globals.js': 'function one() {\n  return 1\n}\n' })
    const draft = await createDraft('checked', { base: await activeOf('checked') })
    await using opened = await open(pathOf('checked', draft))
    const { page, complaints } = opened
    await page.locator(EDITOR, { hasText: 'function one' }).waitFor()
    await page.click(EDITOR)
    await page.keyboard.press('Control+End')
    await page.keyboard.type('function (')
    const problem = page.locator('#workbench-problems-list li').first()
    await problem.locator('text=/globals\\.js:\\d+/').waitFor()
    await page.locator('.cm-lint-marker-error').waitFor()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('F8')
    const line = await page.evaluate(`getSelection().anchorNode.parentElement.closest('.cm-line').textContent`)
    expect(line).toContain('function (')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(`document.activeElement.closest('.cm-editor') === null`)).toBe(true)
    expect(complaints).toEqual([])
  })

  test('completions offer the platform’s globals in scripts, and properties in solution.json; invisible characters are made visible', async () => {
    await upload('completed', {}, { 'globals.js': 'const x = "a\u200bb\u202e"\n' })
    const draft = await createDraft('completed', { base: await activeOf('completed') })
    await using opened = await open(pathOf('completed', draft))
    const { page, complaints } = opened
    await page.locator('.cm-specialChar[title="U+200B"]').waitFor()
    await page.locator('.cm-specialChar[title="U+202E"]').waitFor()
    await page.click(EDITOR)
    await page.keyboard.press('Control+End')
    await page.keyboard.type('security.getUserN')
    await page.locator('.cm-tooltip-autocomplete li', { hasText: 'getUserName' }).waitFor()
    await page.click('a[data-path="solution.json"]')
    await page.locator(EDITOR, { hasText: 'authenticator' }).waitFor()
    await focusStart(page)
    await page.keyboard.press('ArrowRight')
    await page.keyboard.type('"firstF')
    await page.locator('.cm-tooltip-autocomplete li', { hasText: 'firstForm' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('the host is killed while the author types: nothing is lost, on the open page and after it is closed', async () => {
    const home = mkdtempSync(join(tmpdir(), 'solhost-workbench-'))
    const properties = {
      SERVLET_PASSWORD: ADMIN_PASSWORD,
      PORT: String(await freePort()),
      ADMIN_PORT: String(await freePort()),
    }
    const at = { adminUrl: `http://127.0.0.1:${properties.ADMIN_PORT}` }
    let process: HostProcess = await startHostProcess(home, properties)
    async function kill(): Promise<void> {
      process.child.kill('SIGKILL')
      await process.gone
    }
    try {
      const draft = await createDraft('sturdy', { template: 'solution' }, at)
      await using opened = await open(pathOf('sturdy', draft), at, {})
      const { page } = opened
      await page.locator(EDITOR, { hasText: 'function' }).waitFor()
      await focusStart(page)
      await page.keyboard.type('// before')
      await kill()
      await page.keyboard.type(' and during')
      await page.locator(`${STATE}[data-state=unsaved]`).waitFor()
      process = await startHostProcess(home, properties)
      await page.keyboard.type(' and after')
      await isSaved(page)
      await waitUntil(async () =>
        expect(await textOnHost('sturdy', draft, 'globals.js', at)).toMatch(/^\/\/ before and during and after/),
      )
      await kill()
      await page.keyboard.type(', even closed')
      await page.locator(`${STATE}[data-state=unsaved]`).waitFor()
      await page.close()
      process = await startHostProcess(home, properties)
      const again = await opened.context.newPage()
      await again.goto(`${at.adminUrl}${pathOf('sturdy', draft)}`)
      await again.locator(EDITOR, { hasText: 'and after, even closed' }).waitFor()
      await isSaved(again)
      await waitUntil(async () =>
        expect(await textOnHost('sturdy', draft, 'globals.js', at)).toMatch(/ and after, even closed/),
      )
    } finally {
      await kill()
      rmSync(home, { recursive: true, force: true })
    }
  })

  test('two browsers edit one file: the one that saves later shows both texts, and neither is lost', async () => {
    await upload('shared', {}, { 'globals.js': 'function one() {}\n' })
    const draft = await createDraft('shared', { base: await activeOf('shared') })
    await using first = await open(pathOf('shared', draft))
    await using second = await open(pathOf('shared', draft), host, {})
    for (const { page } of [first, second]) await page.locator(EDITOR, { hasText: 'function one' }).waitFor()
    await focusStart(first.page)
    await first.page.keyboard.type('// of the first ')
    await isSaved(first.page)
    await focusStart(second.page)
    await second.page.keyboard.type('// of the second ')
    await second.page.locator(`${STATE}[data-state=conflict]`).waitFor()
    const mine = second.page.getByLabel('globals.js Your text')
    expect(await mine.inputValue()).toContain('// of the second')
    // The conflict may appear while the user is typing, so the cursor stays where it was in the editor.
    const cursor = await second.page.evaluate('document.activeElement.selectionStart')
    expect(cursor).toBe('// of the second '.length)
    expect(await second.page.getByLabel('globals.js Text on the host').inputValue()).toContain('// of the first')
    expect(await textOnHost('shared', draft)).toContain('// of the first')
    expect(await lookOf(second.page)).toEqual(SOUND_LOOK)
    // Renaming would close the file and discard its unsaved text.
    await second.page.click('#workbench-rename')
    await second.page.fill('#workbench-name-path', 'renamed.js')
    await second.page.keyboard.press('Enter')
    await second.page.getByText('Some files aren’t saved yet. Save them first.').waitFor()
    expect(await mine.inputValue()).toContain('// of the second')
    await mine.fill('// of both\nfunction one() {}\n')
    await second.page.click('text=Keep your text')
    await isSaved(second.page)
    expect(await textOnHost('shared', draft)).toBe('// of both\nfunction one() {}\n')
    // The first browser's text is based on an outdated version.
    await first.page.keyboard.type('again ')
    await first.page.locator(`${STATE}[data-state=conflict]`).waitFor()
    await first.page.click('text=Use the other text')
    await first.page.locator(EDITOR, { hasText: '// of both' }).waitFor()
    expect(await textOnHost('shared', draft)).toBe('// of both\nfunction one() {}\n')
  })

  test('two tabs of one browser edit one file: both texts are there, even after the tab with the conflict is closed', async () => {
    await upload('tabs', {}, { 'globals.js': 'function one() {}\n' })
    const draft = await createDraft('tabs', { base: await activeOf('tabs') })
    await using opened = await open(pathOf('tabs', draft), host, {})
    const { page, context } = opened
    async function openTab(): Promise<Page> {
      const tab = await context.newPage()
      await tab.goto(`${host.adminUrl}${pathOf('tabs', draft)}`)
      return tab
    }
    const other = await openTab()
    for (const tab of [page, other]) await tab.locator(EDITOR, { hasText: 'function one' }).waitFor()
    await focusStart(page)
    await page.keyboard.type('// of the first ')
    await isSaved(page)
    await other.bringToFront()
    await focusStart(other)
    await other.keyboard.type('// of the second ')
    await other.locator(`${STATE}[data-state=conflict]`).waitFor()
    await other.close()
    expect(await textOnHost('tabs', draft)).toContain('// of the first')
    const again = await openTab()
    await again.locator(`${STATE}[data-state=conflict]`).waitFor()
    expect(await again.getByLabel('globals.js Your text').inputValue()).toContain('// of the second')
    expect(await again.getByLabel('globals.js Text on the host').inputValue()).toContain('// of the first')
  })

  test('while the browser is offline, the text is not lost, and it is saved when the network is back', async () => {
    await upload('offline', {}, { 'globals.js': 'function one() {}\n' })
    const draft = await createDraft('offline', { base: await activeOf('offline') })
    await using opened = await open(pathOf('offline', draft), host, {})
    const { page, context } = opened
    await page.locator(EDITOR, { hasText: 'function one' }).waitFor()
    await context.setOffline(true)
    await focusStart(page)
    await page.keyboard.type('// on the train ')
    await page.locator(`${STATE}[data-state=unsaved]`, { hasText: 'stored in this browser' }).waitFor()
    await page.waitForTimeout(1500)
    expect(await textOnHost('offline', draft)).toBe('function one() {}\n')
    await context.setOffline(false)
    await isSaved(page)
    expect(await textOnHost('offline', draft)).toContain('// on the train')
  })

  test('Ctrl+S saves immediately, and so does leaving the page', async () => {
    await upload('saved', {}, { 'globals.js': 'function one() {}\n' })
    const draft = await createDraft('saved', { base: await activeOf('saved') })
    await using opened = await open('/admin/', host, {})
    const { context } = opened
    // The page doesn't save automatically.
    await context.addInitScript(
      'const later = setTimeout; setTimeout = (act, delay, ...more) => later(act, [800, 1000].includes(delay) ? 600000 : delay, ...more)',
    )
    const page = await context.newPage()
    await page.goto(`${host.adminUrl}${pathOf('saved', draft)}`)
    await page.locator(EDITOR, { hasText: 'function one' }).waitFor()
    await focusStart(page)
    await page.keyboard.type('// by key ')
    await page.locator(`${STATE}[data-state=unsaved]`).waitFor()
    await page.waitForTimeout(1500)
    expect(await textOnHost('saved', draft)).not.toContain('// by key')
    await page.keyboard.press('Control+s')
    await isSaved(page)
    expect(await textOnHost('saved', draft)).toContain('// by key')
    await page.keyboard.type('// by leaving ')
    await page.locator(`${STATE}[data-state=unsaved]`).waitFor()
    await page.goto('about:blank')
    await waitUntil(async () => expect(await textOnHost('saved', draft)).toContain('// by leaving'))
  })

  test('a user who was signed out while typing signs in in another tab, and the page then saves the text', async () => {
    await upload('signed-out', {}, { 'globals.js': 'function one() {}\n' })
    const draft = await createDraft('signed-out', { base: await activeOf('signed-out') })
    await using opened = await open(pathOf('signed-out', draft), host, {})
    const { page, context } = opened
    await page.locator(EDITOR, { hasText: 'function one' }).waitFor()
    await context.clearCookies()
    await focusStart(page)
    await page.keyboard.type('// of a guest ')
    await page.locator(`${STATE}[data-state=signed-out]`, { hasText: 'signed out' }).waitFor()
    expect(await textOnHost('signed-out', draft)).toBe('function one() {}\n')
    const [tab] = await Promise.all([context.waitForEvent('page'), page.click('#workbench-sign-in')])
    await tab.fill('[name=username]', 'admin')
    await tab.fill('[name=password]', ADMIN_PASSWORD)
    await tab.press('[name=password]', 'Enter')
    await tab.waitForURL(/\/admin\/$/)
    await tab.close()
    await page.bringToFront()
    await page.click(EDITOR)
    await page.keyboard.type('x')
    await isSaved(page)
    expect(await page.locator('#workbench-sign-in').isVisible()).toBe(false)
    expect(await textOnHost('signed-out', draft)).toContain('// of a guest ')
  })

  test('after a deploy in the meantime, publishing is refused; after a rebase, the draft can be published over the deployed version', async () => {
    await upload('raced', {}, { 'globals.js': 'function one() {}\n', 'scopes/a.js': 'function a() {}\n' })
    const draft = await createDraft('raced', { base: await activeOf('raced') })
    await using opened = await open(pathOf('raced', draft))
    const { page, complaints } = opened
    await page.locator(EDITOR, { hasText: 'function one' }).waitFor()
    await focusStart(page)
    await page.keyboard.type('// of the draft ')
    await isSaved(page)
    await page.click('#workbench-publish-open')
    await page.locator('#workbench-publish-diff .diff-file', { hasText: 'globals.js' }).waitFor()
    const files = { 'globals.js': '// deployed\nfunction one() {}\n', 'scopes/a.js': 'function a() { return 2 }\n' }
    const deployed = await upload('raced', { version: '1.5.0' }, files)
    await page.click('#workbench-publish-button')
    await page.locator('#workbench-publish-said', { hasText: 'Another version is active now: 1.5.0' }).waitFor()
    expect(await activeOf('raced')).toBe(deployed)
    await page.click('text=Rebase the draft onto version 1.5.0')
    const merged = page.getByLabel('globals.js In your draft')
    expect(await merged.inputValue()).toContain('// of the draft')
    await merged.fill('// deployed and of the draft\nfunction one() {}\n')
    await page.click('text=Keep your text')
    await page.locator('#workbench-publish-said', { hasText: 'now based on the active version' }).waitFor()
    await page.click('#workbench-publish-button')
    await page.locator('#workbench-publish-said', { hasText: /^Published: version/ }).waitFor()
    expect(await textOnHost('raced', draft)).toBe('// deployed and of the draft\nfunction one() {}\n')
    expect(await textOnHost('raced', draft, 'scopes/a.js')).toBe('function a() { return 2 }\n')
    // Chromium logs the status of the refused request.
    expect(complaints.filter((text) => !text.includes('409'))).toEqual([])
  })

  test('a draft that is the same as the active version can’t be published, and the button says why', async () => {
    await upload('same', {}, { 'globals.js': 'function one() {}\n' })
    const draft = await createDraft('same', { base: await activeOf('same') })
    await using opened = await open(pathOf('same', draft))
    const { page, complaints } = opened
    const button = page.locator('#workbench-publish-button')
    const reason = 'There is nothing to publish: the draft is the same as the active version.'
    const seen = () => accessibleState(page, '#workbench-publish-button')
    await page.locator(EDITOR, { hasText: 'function one' }).waitFor()
    await page.click('#workbench-publish-open')
    await waitUntil(async () => expect(await seen()).toEqual({ isDisabled: true, description: reason }))
    expect(await page.locator('text=There is nothing to publish').isVisible()).toBe(true)
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await button.focus()
    await page.keyboard.press('Enter')
    expect(await page.locator('#workbench-publish-said').innerText()).toBe('')
    await focusStart(page)
    await page.keyboard.type(' ')
    expect(await seen()).toEqual({ isDisabled: false, description: '' })
    await page.locator('#workbench-publish-diff .diff-file', { hasText: 'globals.js' }).waitFor()
    await page.keyboard.press('Backspace')
    await waitUntil(async () => expect(await seen()).toEqual({ isDisabled: true, description: reason }))
    await page.keyboard.type(' ')
    await page.locator('#workbench-publish-diff .diff-file').waitFor()
    await button.click()
    await page.locator('#workbench-publish-said', { hasText: /^Published: version/ }).waitFor()
    expect(await seen()).toEqual({ isDisabled: true, description: reason })
    expect(complaints).toEqual([])
  })

  test('if another version is activated right after the publication, the page doesn’t show "Published"', async () => {
    await upload('replaced', {}, { 'globals.js': 'function one() {}\n' })
    const draft = await createDraft('replaced', { base: await activeOf('replaced') })
    await using opened = await open(pathOf('replaced', draft))
    const { page } = opened
    await page.locator(EDITOR, { hasText: 'function one' }).waitFor()
    await focusStart(page)
    await page.keyboard.type('// mine ')
    await isSaved(page)
    await page.click('#workbench-publish-open')
    await waitUntil(async () => expect(await page.inputValue('#workbench-publish-version')).not.toBe(''))
    await page.route('**/publish', async (route) => {
      const response = await route.fetch()
      expect(response.status()).toBe(201)
      await upload('replaced', { version: '3.0.0' }, { 'globals.js': 'function two() {}\n' })
      await route.fulfill({ response })
    })
    await page.click('#workbench-publish-button')
    await page.locator('#workbench-publish-said', { hasText: 'but we couldn’t confirm that it is active' }).waitFor()
    expect(await page.locator('#workbench-publish-said').innerText()).not.toContain('Published')
  })

  test('the exported zip has the bytes that are published', async () => {
    const draft = await createDraft('exported', { template: 'solution' })
    await using opened = await open(pathOf('exported', draft))
    const { page } = opened
    await page.locator(EDITOR, { hasText: 'function' }).waitFor()
    await focusStart(page)
    await page.keyboard.type('// mine ')
    await isSaved(page)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click('#workbench-actions >> text=Download'),
    ])
    const exported = await bytesOf(await download.createReadStream())
    await page.click('#workbench-publish-open')
    const { version } = JSON.parse(await textOnHost('exported', draft, 'solution.json')) as { version: string }
    await waitUntil(async () => expect(await page.inputValue('#workbench-publish-version')).not.toBe(''))
    await page.fill('#workbench-publish-version', version)
    await page.click('#workbench-publish-button')
    await page.locator('#workbench-publish-said', { hasText: /^Published: version/ }).waitFor()
    expect(createHash('sha256').update(exported).digest('hex')).toBe(await activeOf('exported'))
  })

  test('a file that is too large is refused with the limit, before it is sent', async () => {
    await upload('heavy')
    const draft = await createDraft('heavy', { base: await activeOf('heavy') })
    await using opened = await open(pathOf('heavy', draft, 'solution.json'))
    const { page, complaints } = opened
    await page.locator(EDITOR, { hasText: 'authenticator' }).waitFor()
    const buffer = Buffer.alloc(10 * 1024 ** 2 + 1)
    await page.setInputFiles('#workbench-upload', { name: 'film.bin', mimeType: 'application/octet-stream', buffer })
    await page
      .locator('#workbench-refusal', {
        hasText: 'film.bin is too large. Files in the workbench can be at most 10 MB.',
      })
      .waitFor()
    expect(complaints).toEqual([])
  })

  test('files are added, uploaded, renamed, reverted and deleted; reverting, deleting and discarding ask first', async () => {
    await upload('filed', {}, { 'globals.js': 'function one() {}\n' })
    const draft = await createDraft('filed', { base: await activeOf('filed') })
    await using opened = await open(pathOf('filed', draft))
    const { page, complaints } = opened
    await page.locator(EDITOR, { hasText: 'function one' }).waitFor()
    await page.click('#workbench-add')
    await page.fill('#workbench-name-path', 'scopes/more.js')
    await page.keyboard.press('Enter')
    await page.locator('#workbench-path', { hasText: 'scopes/more.js' }).waitFor()
    await page.click(EDITOR)
    await page.keyboard.type('function more() {{}')
    await page.click('#workbench-rename')
    await page.fill('#workbench-name-path', 'scopes/other.js')
    await page.keyboard.press('Enter')
    await page.locator('#workbench-path', { hasText: 'scopes/other.js' }).waitFor()
    expect(await textOnHost('filed', draft, 'scopes/other.js')).toContain('function more()')
    await page.click('#workbench-delete')
    await page.locator('dialog[open] button[value=yes]').click()
    await page.locator('a[data-path="scopes/other.js"]').waitFor({ state: 'detached' })
    await page.setInputFiles('#workbench-upload', {
      name: 'data.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('of a file'),
    })
    await page.fill('#workbench-name-path', 'media/data.txt')
    await page.keyboard.press('Enter')
    await page.locator('a[data-path="media/data.txt"]').waitFor()
    expect(await textOnHost('filed', draft, 'media/data.txt')).toBe('of a file')
    await page.click('a[data-path="globals.js"]')
    await focusStart(page)
    await page.keyboard.type('// changed ')
    await isSaved(page)
    await page.click('#workbench-revert')
    await page.locator('dialog[open] button[value=no]').click()
    expect(await textOnHost('filed', draft)).toContain('// changed')
    await page.click('#workbench-revert')
    await page.locator('dialog[open] button[value=yes]').click()
    await waitUntil(async () => expect(await page.locator(EDITOR).innerText()).not.toContain('// changed'))
    expect(await textOnHost('filed', draft)).toBe('function one() {}\n')
    await page.click('#workbench-discard')
    await page.locator('dialog[open] button[value=yes]').click()
    await page.locator('text=No drafts yet.').waitFor()
    expect(complaints).toEqual([])
  })

  test('Try: a sign-in, an endpoint, a job and a script error, whose position opens the line', async () => {
    const manifest = {
      authenticator: 'AUTHENTICATOR',
      modules: ['auth'],
      endpoints: { 'POST /greet/{name}': { function: 'greet', authentication: 'session' } },
      jobs: { remind: { function: 'remind' } },
    }
    await upload('tried', manifest, {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': `function onSolutionOpen(arg, q) {
  console.log('trying ' + q.username)
  if (q.password !== 'right') throw new Error('wrong ' + 'password')
  security.login(q.username, 'a-1', ['Users'])
}`,
      'globals.js': `function greet({ params, body }) { return { greeting: body.word + ' ' + params.name + ' from ' + security.getUserName() } }
function remind(job) { plugins.jobs.enqueue('remind', { day: job.data.day + 1 }); return security.getTenantValue() }`,
    })
    const draft = await createDraft('tried', { base: await activeOf('tried') })
    await using opened = await open(pathOf('tried', draft))
    const { page, complaints } = opened
    const result = page.locator('#workbench-try-result')
    await page.locator(EDITOR, { hasText: 'greet' }).waitFor()
    await page.click('#workbench-try-open')
    await page.keyboard.press('Tab')
    await page.locator('#try-run:focus').waitFor()
    expect(await page.locator('#try-address').isVisible()).toBe(false)
    await page.click('#try-username')
    await page.keyboard.type('anna')
    await page.click('#try-password')
    await page.keyboard.type('right')
    await page.keyboard.press('Enter')
    await result.locator('text=would sign in anna with Users').waitFor()
    await result.locator('li', { hasText: 'trying anna' }).waitFor()
    expect(await result.locator('.state').innerText()).toBe('returned')
    expect(await result.locator('p').first().innerText()).toMatch(/^returned \d+ ms · \d+\.\d MB$/)
    await page.fill('#try-password', 'left')
    await page.keyboard.press('Enter')
    await result.locator('p', { hasText: 'wrong password' }).waitFor()
    await result.locator('p button', { hasText: 'modules/auth/globals.js:3:' }).click()
    await page.locator('#workbench-path', { hasText: 'modules/auth/globals.js' }).waitFor()
    await page.locator('.cm-activeLine', { hasText: 'throw new Error' }).waitFor()
    await page.selectOption('#try-run', 'endpoint')
    expect(await page.locator('#try-password').isVisible()).toBe(false)
    await page.fill('#try-username', 'ben')
    await page.fill('#try-address', 'POST /greet/kim')
    await page.fill('#try-more', '{ "body": ')
    await page.click('#workbench-try button[type=submit]')
    await result.locator('text=The JSON is invalid').waitFor()
    await page.fill('#try-more', '{ "body": { "word": "hello" } }')
    await page.click('#workbench-try button[type=submit]')
    await result.locator('pre', { hasText: 'hello kim from ben' }).waitFor()
    await page.selectOption('#try-run', 'job')
    for (const field of ['username', 'permissions', 'locale']) {
      expect(await page.locator(`#try-${field}`).isVisible()).toBe(false)
    }
    await page.fill('#try-more', '')
    await page.fill('#try-job', 'remind')
    await page.fill('#try-tenant', 'acme')
    await page.fill('#try-data', '{ "day": ')
    await page.click('#workbench-try button[type=submit]')
    await result.locator('text=The JSON is invalid').waitFor()
    await page.fill('#try-data', '{ "day": 1 }')
    await page.click('#workbench-try button[type=submit]')
    await result.locator('text=would queue remind with {"day":2}').waitFor()
    await result.locator('pre', { hasText: 'acme' }).waitFor()
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    expect(await lookOf(page, 320)).toEqual(SOUND_LOOK)
    expect(complaints).toEqual([])
  })

  test('the pages pass axe in light and dark mode and fit 320 px', async () => {
    await upload('sound', {}, { 'globals.js': `// ${'long '.repeat(60)}\nfunction one( {}\n` }).catch(() =>
      upload('sound'),
    )
    const draft = await createDraft('sound', { base: await activeOf('sound') })
    await using opened = await open('/admin/solutions/sound/workbench')
    const { page } = opened
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.goto(`${host.adminUrl}${pathOf('sound', draft, 'solution.json')}`)
    await page.locator(EDITOR).waitFor()
    for (const panel of ['try', 'preview', 'publish']) await page.click(`#workbench-${panel}-open`)
    await page.locator('#workbench-publish-same', { hasText: 'nothing to publish' }).waitFor()
    expect(await lookOf(page, 320)).toEqual(SOUND_LOOK)
  })

  test('without JavaScript, the page shows the files, but they cannot be changed', async () => {
    await upload('plain', {}, { 'globals.js': 'function plain() {}\n' })
    const draft = await createDraft('plain', { base: await activeOf('plain') })
    await using opened = await open(pathOf('plain', draft), host, { javaScriptEnabled: false })
    const { page } = opened
    expect(await page.locator('#workbench-editor pre').innerText()).toContain('function plain()')
    expect(await page.locator('#workbench-actions').isVisible()).toBe(false)
    await page.click('#workbench-files a >> text=solution.json')
    expect(await page.locator('#workbench-editor pre').innerText()).toContain('"authenticator"')
  })

  test('positions in the log and in a refused upload link to the workbench, which opens the line', async () => {
    await upload('linked', {}, { 'globals.js': 'function onSolutionOpen() {\n  missing.call()\n}\n' })
    await using opened = await open('/admin/')
    const { page } = opened
    await page.goto(`${host.url}/solution/linked/index.html`)
    const { api } = await signInToAdmin(host)
    // The script runs once the page has opened its client, so don't leave the page before that.
    await waitUntil(async () => expect((await api('GET', 'solutions/linked/log')).text).toContain('missing'))
    await page.goto(`${host.adminUrl}/admin/solutions/linked/log`)
    await page.locator('a[href$="/workbench?file=globals.js&line=2"]').first().click()
    await page.waitForURL(/\/workbench\?file=globals\.js&line=2$/)
    await page.goto(`${host.adminUrl}/admin/solutions/linked/versions`)
    const buffer = await bundleOf({ name: 'linked', authenticator: 'NONE' }, { 'globals.js': '\nfunction (\n' })
    await page.setInputFiles('#bundle', { name: 'linked.zip', mimeType: 'application/zip', buffer })
    await page.click('text=Upload and activate')
    await page.click('.faults a')
    await page.waitForURL(/\/workbench\?file=globals\.js&line=2$/)
    await page.click('text=Edit the active version')
    await page.waitForURL(/draft=.*file=globals\.js/)
    await page.locator('.cm-activeLine', { hasText: 'missing.call' }).waitFor()
  })

  test('another user’s draft opens only after the author confirms it', async () => {
    await upload('foreign', {}, { 'globals.js': 'function one() {}\n' })
    const made = await (await signInToAdmin(host)).api('POST', 'tokens', {
      name: 'x',
      scopes: ['solutions:foreign:write'],
    })
    const { token, id } = made.json() as { token: string; id: string }
    const answer = await ask(`${host.url}/admin/api/solutions/foreign/drafts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ base: await activeOf('foreign') }),
    })
    const draft = answer.json() as Draft
    await using opened = await open(pathOf('foreign', draft))
    const { page } = opened
    await page.locator(`text=This draft belongs to token:${id}`).waitFor()
    expect(await page.locator('#workbench-editor').count()).toBe(0)
    await page.click(`text=Open token:${id}’s draft`)
    await page.locator(EDITOR).waitFor()
  })

  async function activeOf(name: string): Promise<string | null> {
    return ((await (await signInToAdmin(host)).api('GET', `solutions/${name}`)).json() as { active: string | null })
      .active
  }
})

/** @returns the element's state in the browser's accessibility tree */
async function accessibleState(page: Page, selector: string) {
  const devTools = await page.context().newCDPSession(page)
  const { result } = await devTools.send('Runtime.evaluate', { expression: `document.querySelector('${selector}')` })
  const wanted = { objectId: result.objectId as string, fetchRelatives: false }
  const [node] = (await devTools.send('Accessibility.getPartialAXTree', wanted)).nodes
  await devTools.detach()
  const isDisabled = node?.properties?.some(({ name, value }) => name === 'disabled' && value.value === true) ?? false
  return { isDisabled, description: String(node?.description?.value ?? '') }
}

async function bytesOf(stream: NodeJS.ReadableStream): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(Buffer.from(part as Uint8Array))
  return Buffer.concat(parts)
}
