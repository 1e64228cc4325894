import { readFile } from 'node:fs/promises'
import type { Browser, BrowserContextOptions, Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addCookie, adminCookie } from '../support/admin.ts'
import {
  browserPath,
  closeContexts,
  complaintsOf,
  lookOf,
  SOUND_LOOK,
  sharedBrowser,
  untilTrue,
} from '../support/browser.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createPages } from '../support/usual-page.ts'
import { bundleOf, type Files } from '../support/zip.ts'

const FORM = `<form method="post" accept-charset="UTF-8" name="login_form" role="form">
<input type="text" name="username" aria-label="name"><input type="password" name="password" aria-label="password">
<input type="checkbox" name="remember" aria-label="remember"><input type="hidden" name="id_token">
<button type="submit">go</button></form><p id="errorlabel" class="errorlabel">wrong</p>`

const page = (head: string, body = FORM) =>
  `<!DOCTYPE html><html lang="en"><head><title>own</title>${head}</head><body>${body}</body></html>`

/** The image is 2 px high, so its size shows that it was loaded. */
const PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="3" height="2"><rect width="3" height="2"/></svg>'

const PRETTY = page(
  '<style>#errorlabel{display:none}</style><link rel="stylesheet" href="media/own.css"><script>document.title = "ran"</script>',
  `<h1>%%i18n:own.title%%</h1><img src="media/own.svg" alt="">${FORM}`,
)

/** A page that attacks the admin who previews it, in several ways, and records the results. */
const HOSTILE = page(
  `<script>
    const notes = {}
    const note = (name, act) => { try { notes[name] = String(act()) } catch (error) { notes[name] = error.name } }
    note('origin', () => origin)
    note('parent', () => parent.document.title)
    note('frame', () => frameElement)
    note('cookie', () => document.cookie)
    note('storage', () => sessionStorage.length)
    note('window', () => open('/admin/'))
    note('top', () => { top.location = '/admin/users' })
    note('database', () => indexedDB.open('x').constructor.name)
    const tell = () => { document.documentElement.dataset.notes = JSON.stringify(notes) }
    tell()
    fetch('/admin/api/tokens').then((answer) => { notes.fetch = 'status ' + answer.status }, (error) => { notes.fetch = error.name }).then(tell)
    addEventListener('DOMContentLoaded', () => {
      const form = document.forms.login_form
      form.action = '/admin/sign-out'
      form.submit()
      const image = new Image()
      image.onload = () => { notes.image = 'loaded'; tell() }
      image.onerror = () => { notes.image = 'refused'; tell() }
      image.src = '/admin/admin.js'
      const frame = document.createElement('iframe')
      frame.src = '/admin/'
      document.body.append(frame)
    })
  </script>`,
)

const FAULTY = page('', `<h1 onclick="x()">own</h1>\n<p style="color:red">red</p>\n${FORM}`)

describe.skipIf(browserPath === undefined)('the admin page for a login page, in a browser', () => {
  let host: TestHost
  let browser: Browser

  beforeAll(async () => {
    host = await startTestHost()
    browser = await sharedBrowser()
    await upload('bare', {}, {})
    await upload(
      'pretty',
      {},
      { 'media/login.html': PRETTY, 'media/own.css': 'h1 { color: rgb(1, 2, 3) }', 'media/own.svg': PICTURE },
    )
    await upload('hostile', {}, { 'media/login.html': HOSTILE })
    await upload('faulty', { title: '<script>alert(1)</script>' }, { 'media/login.html': FAULTY })
    await upload('open', { authenticator: 'NONE' }, {})
  })
  afterAll(async () => {
    await closeContexts(browser)
    await host?.stop()
  })

  async function upload(name: string, manifest: object, files: Files) {
    const texts = { 'i18n/default.json': '{"own.title": "Welcome"}', 'i18n/nl.json': '{"own.title": "Welkom"}' }
    const answer = await host.upload(name, await bundleOf({ name, ...manifest }, { ...texts, ...files }))
    expect(answer.status).toBe(201)
  }

  const openPage = createPages(() => ({
    browser,
    blank: `${host.adminUrl}/admin/api/none`,
    signIn: async (page) => addCookie(page, `${host.adminUrl}/admin/`, await adminCookie(host)),
  }))

  async function open(name: string, options?: BrowserContextOptions) {
    const opened = await openPage(options)
    // Ignores console messages from the customer's page in the preview.
    const isOurs = (url: string) => !url.includes('/preview/')
    const complaints = complaintsOf(opened.page, [], isOurs)
    await opened.page.goto(`${host.adminUrl}/admin/solutions/${name}/login-page`)
    return { ...opened, complaints }
  }

  async function frameOf(opened: Page): Promise<Frame> {
    const frame = await (await opened.waitForSelector('#login-preview')).contentFrame()
    if (frame === null) throw new Error('the page has no frame')
    await frame.waitForSelector('form[name=login_form]')
    return frame
  }

  test('the preview shows the template with its scripts, text, styles and media', async () => {
    await using opened = await open('pretty')
    const frame = await frameOf(opened.page)
    await untilTrue(frame, 'document.images[0].complete')
    const seen = `({
      title: document.title,
      heading: document.querySelector('h1').textContent,
      color: getComputedStyle(document.querySelector('h1')).color,
      height: document.images[0].naturalHeight,
      token: document.forms.login_form.elements.csrf_token.value,
    })`
    const expected = { title: 'ran', heading: 'Welcome', color: 'rgb(1, 2, 3)', height: 2, token: '' }
    expect(await frame.evaluate(seen)).toEqual(expected)
    expect(opened.complaints).toEqual([])
  })

  test('each choice applies immediately, is in the URL, and does not add a history entry', async () => {
    // With null, Playwright doesn't override the colour scheme of iframes.
    await using opened = await open('pretty', { colorScheme: null })
    const { page } = opened
    const inner = page.frameLocator('#login-preview')
    const steps = await page.evaluate('history.length')
    await page.selectOption('#preview-locale', 'nl')
    await inner.getByText('Welkom').waitFor()
    await page.selectOption('#preview-state', 'refused')
    await inner.locator('#errorlabel').waitFor({ state: 'visible' })
    await page.check('#preview-name')
    await inner.locator('[name=username][value="anna@example.org"]').waitFor()
    await page.selectOption('#preview-width', 'phone')
    await page.selectOption('#preview-scheme', 'dark')
    const frame = await frameOf(page)
    const looks = '[innerWidth, matchMedia("(prefers-color-scheme: dark)").matches]'
    await expect.poll(() => frame.evaluate(looks)).toEqual([320, true])
    expect(new URL(page.url()).search).toBe('?locale=nl&state=refused&width=phone&scheme=dark&name=kept')
    expect(await page.evaluate('history.length')).toBe(steps)
    expect(await page.evaluate('document.activeElement.id')).toBe('preview-name')
    await page.reload()
    await inner.locator('#errorlabel').waitFor({ state: 'visible' })
    expect(await page.inputValue('#preview-width')).toBe('phone')
    expect(opened.complaints).toEqual([])
  })

  test('a malicious template cannot access anything outside its frame', async () => {
    await using opened = await open('hostile', {})
    const { page } = opened
    const address = page.url()
    const frame = await frameOf(page)
    const notes = 'JSON.parse(document.documentElement.dataset.notes)'
    await untilTrue(frame, `${notes}.fetch !== undefined && ${notes}.image !== undefined`)
    expect(await frame.evaluate(notes)).toEqual({
      origin: 'null',
      parent: 'SecurityError',
      frame: 'null',
      cookie: 'SecurityError',
      storage: 'SecurityError',
      window: 'null',
      top: 'SecurityError',
      database: 'SecurityError',
      fetch: 'TypeError',
      image: 'refused',
    })
    expect(page.url()).toBe(address)
    expect(page.context().pages()).toHaveLength(1)
    // If the form had been submitted, the user would be signed out now.
    await page.goto(`${host.adminUrl}/admin/`)
    expect(new URL(page.url()).pathname).toBe('/admin/')
  })

  test.each([
    ['an admin page', () => `${host.adminUrl}/admin/`],
    ['the list of solutions', () => `${host.url}/`],
    ['the preview itself', (frame: Frame) => frame.url()],
  ])('a template that navigates its frame to %s cannot read that page', async (_what, placeOf) => {
    await using opened = await open('pretty')
    const frame = await frameOf(opened.page)
    await frame.evaluate(`void setTimeout(() => location.assign(${JSON.stringify(placeOf(frame))}), 0)`)
    const inner = opened.page.frameLocator('#login-preview')
    await inner.locator('form').waitFor({ state: 'detached' })
    expect(await inner.locator('form, main').count()).toBe(0)
    expect(await opened.page.locator('h1').textContent()).toBe('pretty')
  })

  test('a solution without a template gets one in the workbench, which opens it, and publishes it', async () => {
    await using opened = await open('bare')
    const { page } = opened
    await page.click('text=Open in the workbench')
    expect(await page.locator('#workbench-start .button:not(.button-quiet)').allInnerTexts()).toEqual([
      'Start with the default login page',
    ])
    await page.click('text=Start with the default login page')
    await page.locator('#workbench-path', { hasText: 'media/login.html' }).waitFor()
    await page.locator('.cm-content', { hasText: '%%i18n:platform.logindialog.title%%' }).waitFor()
    await page.click('#workbench-publish-open')
    await page.locator('#workbench-publish-diff .diff-file', { hasText: 'media/login.html' }).waitFor()
    await page.click('#workbench-publish-button')
    await page.locator('#workbench-publish-said', { hasText: /^Published: version/ }).waitFor()
    await page.goto(`${host.adminUrl}/admin/solutions/bare/login-page`)
    await page.getByText('The solution has its own login page: media/login.html.').waitFor()
    await page.getByText('No problems found').waitFor()
    expect(opened.complaints).toEqual([])
  })

  test('an existing template is opened in a draft of the active version, or replaced with the default one', async () => {
    await using opened = await open('faulty')
    const { page } = opened
    for (const [button, text] of [
      ['Edit the active version', 'onclick="x()"'],
      ['Start with the default login page', '%%i18n:platform.logindialog.title%%'],
    ] as const) {
      await page.goto(`${host.adminUrl}/admin/solutions/faulty/login-page`)
      await page.click('text=Open in the workbench')
      await page.click(`text=${button}`)
      await page.locator('#workbench-path', { hasText: 'media/login.html' }).waitFor()
      await page.locator('.cm-content', { hasText: text }).waitFor()
    }
    expect(opened.complaints).toEqual([])
  })

  test('the user can download the default template', async () => {
    await using opened = await open('bare')
    const [download] = await Promise.all([
      opened.page.waitForEvent('download'),
      opened.page.click('text=Download default template'),
    ])
    expect(download.suggestedFilename()).toBe('login.html')
    expect(await readFile(await download.path(), 'utf8')).toContain('name="login_form"')
  })

  test('errors are shown with the file, line and column, the source line and what to change', async () => {
    await using opened = await open('faulty')
    const items = await opened.page.locator('.findings li').allInnerTexts()
    const lines = items.map((text) => text.split(/\n+/))
    expect(lines.map(([place]) => place)).toEqual([
      expect.stringMatching(/^media\/login\.html:1:\d+ template_inline_handler$/),
      expect.stringMatching(/^media\/login\.html:2:\d+ template_inline_style$/),
    ])
    expect(lines[1]?.slice(2)).toEqual([
      '<p style="color:red">red</p>',
      'Move the style into a <style> element on the page.',
    ])
    expect(await opened.page.locator('h1').textContent()).toBe('<script>alert(1)</script>')
  })

  test('if there is no login page, the page says what users see instead', async () => {
    await using opened = await open('open')
    expect(await opened.page.locator('#login-none').innerText()).toContain(
      'anyone can open the solution without signing in',
    )
    expect(await opened.page.locator('iframe').count()).toBe(0)
  })

  test('axe finds no violation in light and dark mode, and the page fits a window 320 px wide', async () => {
    await using opened = await open('bare')
    const { page } = opened
    for (const name of ['bare', 'faulty', 'open']) {
      await page.goto(`${host.adminUrl}/admin/solutions/${name}/login-page`)
      if (name !== 'open') await frameOf(page)
      expect([name, opened.complaints]).toEqual([name, []])
      expect([name, await lookOf(page)]).toEqual([name, SOUND_LOOK])
      // Ignores axe's console messages about iframes that it can't access.
      opened.complaints.length = 0
    }
  })
})
