import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addCookie, adminCookie, signInToAdmin } from '../support/admin.ts'
import {
  axeViolations,
  browserPath,
  closeContexts,
  complaintsOf,
  lookOf,
  SOUND_LOOK,
  sharedBrowser,
  speak,
} from '../support/browser.ts'
import { openOnce } from '../support/client-page.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { createPages } from '../support/usual-page.ts'
import { bundleOf, type Files, moduleFile } from '../support/zip.ts'

const TALKS = `function onSolutionOpen() { console.log('hello'); console.warn('careful') }`
const ASKS = {
  authenticator: 'OAUTH',
  modules: ['auth'],
  databases: { crm: { server: 'alpha', database: 'crm_live' } },
  http: ['api.example.org'],
  oauth: { api: 'Google', clientId: 'x', apiSecret: '%%CLIENT_SECRET%%' },
}
const AUTH = {
  ...moduleFile('auth', { type: 'authenticator' }),
  'modules/auth/globals.js': 'function onSolutionOpen() {}',
}
const ENDPOINTS = {
  'GET /customers/{customer}/orders/{order}': {
    function: 'readOrder',
    authentication: ['session', 'token'],
    permission: 'Orders',
  },
  'POST /hooks/payments': {
    function: 'readOrder',
    authentication: 'signature',
    signature: { scheme: 'stripe', secret: 'PAYMENTS' },
  },
}
const MEND = 'Fix the script here, or just before this position.'
const PAGES = [
  '/admin/',
  ...['', '/versions', '/diff', '/log', '/access', '/api', '/jobs'].map((path) => `/admin/solutions/shown${path}`),
]

describe.skipIf(browserPath === undefined)('admin pages for solutions, in a browser', () => {
  let host: TestHost
  let browser: Browser
  let folder: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'solhost-uploads-'))
    host = await startTestHost()
    browser = await sharedBrowser()
    await upload('shown', { ...ASKS, title: 'Orders and invoices of the whole house' }, AUTH)
    const scripts = `// ${'long '.repeat(60)}\nfunction readOrder() {}`
    await upload('shown', { ...ASKS, version: '1.1.0', endpoints: ENDPOINTS }, { ...AUTH, 'globals.js': scripts })
  })
  afterAll(async () => {
    await closeContexts(browser)
    await host?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function upload(name: string, manifest: object, files: Files = {}): Promise<string> {
    const answer = await host.upload(name, await bundleOf({ name, authenticator: 'NONE', ...manifest }, files))
    expect(answer.status).toBe(201)
    return ((await answer.json()) as { sha256: string }).sha256
  }

  const openPage = createPages(() => ({
    browser,
    blank: `${host.adminUrl}/admin/api/none`,
    signIn: async (page) => addCookie(page, `${host.adminUrl}/admin/`, await adminCookie(host)),
  }))
  /** Signs in and opens the page; `complaints` are its console messages. */
  async function open(path: string, options?: BrowserContextOptions) {
    const opened = await openPage(options)
    const { page } = opened
    const complaints = complaintsOf(page)
    await page.goto(host.adminUrl + path)
    return { ...opened, complaints }
  }

  async function bundleFile(manifest: Record<string, unknown>, files: Files = {}): Promise<string> {
    const file = join(folder, `${String(manifest.name)}.zip`)
    writeFileSync(file, await bundleOf({ authenticator: 'NONE', ...manifest }, files))
    return file
  }

  const api = async (path: string) => (await (await signInToAdmin(host)).api('GET', path)).json()

  test('every page passes axe in light and dark mode, fits a window of 320 px in English and German, and logs nothing', async () => {
    await using opened = await open('/admin/', {})
    const { page, complaints } = opened
    for (const path of PAGES) {
      await page.goto(host.adminUrl + path)
      expect([path, await lookOf(page)]).toEqual([path, SOUND_LOOK])
    }
    await speak(page, 'de')
    await page.setViewportSize({ width: 320, height: 640 })
    for (const path of PAGES) {
      await page.goto(host.adminUrl + path)
      expect([path, await page.getAttribute('html', 'lang')]).toEqual([path, 'de'])
      expect([path, await page.evaluate('document.scrollingElement.scrollWidth')]).toEqual([path, 320])
    }
    expect(complaints).toEqual([])
  })

  test('upload: a selected bundle becomes active; its name, version, URL and warnings are shown', async () => {
    await using opened = await open('/admin/')
    const { page, complaints } = opened
    await page.setInputFiles('#bundle', await bundleFile({ name: 'chosen', version: '3.2.1' }, { 'notes.txt': 'x' }))
    await page.press('text=Upload and activate', 'Enter')
    const result = page.locator('.upload-result')
    await result.waitFor()
    const shown = await result.innerText()
    expect(shown).toContain('chosen 3.2.1 is active.')
    expect(shown).toContain(`${host.url}/solution/chosen/`)
    expect(shown).toContain('Move the file to one of the folders that a solution can have')
    expect(await page.evaluate('document.activeElement.className')).toBe('upload-result')
    expect(await axeViolations(page)).toEqual([])
    await page.click('text=Manage solution')
    await page.waitForURL(`${host.adminUrl}/admin/solutions/chosen`)
    expect(complaints).toEqual([])
  })

  test('upload: the form works by keyboard alone, from the page’s main button to the new version', async () => {
    await using opened = await open('/admin/')
    const { page } = opened
    const main = page.getByRole('link', { name: 'Upload solution' })
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), main.press('Enter')])
    await chooser.setFiles(await bundleFile({ name: 'by-keyboard' }))
    expect(await page.evaluate('document.activeElement.id')).toBe('bundle')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.locator('.upload-done', { hasText: 'by-keyboard 1.0.0 is active.' }).waitFor()
  })

  test('upload: a rejected bundle shows every error with its position, its line and what to change', async () => {
    await using opened = await open('/admin/')
    const { page } = opened
    const files = {
      ...moduleFile('more'),
      'modules/more/globals.js': 'let c = )',
      'globals.js': 'let a = 1\nlet b = = 2\n',
    }
    await page.setInputFiles('#bundle', await bundleFile({ name: 'at-fault', modules: ['more'] }, files))
    await page.click('text=Upload and activate')
    const problem = page.locator('.upload .problem')
    await problem.locator('li').first().waitFor()
    const faults = await problem.locator('li').allInnerTexts()
    expect(faults.map((fault) => fault.split('\n'))).toEqual([
      ["modules/more/globals.js:1:9 SyntaxError: Unexpected token ')'", 'let c = )', MEND],
      ["globals.js:2:9 SyntaxError: Unexpected token '='", 'let b = = 2', MEND],
    ])
    expect(await problem.locator('mark').allInnerTexts()).toEqual([')', '='])
    expect(await axeViolations(page)).toEqual([])
    expect(await page.evaluate('document.activeElement.className')).toBe('problem')
  })

  test('upload: a progress bar shows the upload, then a message says that the host is checking the bundle', async () => {
    await using opened = await open('/admin/solutions/shown/versions')
    const { page } = opened
    const states = await page.evaluateHandle<string[]>(`(() => {
      const states = []
      for (const state of document.querySelectorAll('.upload-state, .upload-sent')) {
        new MutationObserver(() => states.push(state.textContent)).observe(state, { childList: true })
      }
      return states
    })()`)
    const file = await bundleFile({ ...ASKS, name: 'shown', version: '1.2.0' }, { ...AUTH, 'media/a.txt': 'x' })
    await page.setInputFiles('#bundle', file)
    await page.click('text=Upload and activate')
    await page.locator('.upload-result').waitFor()
    const shown = await states.jsonValue()
    expect(shown).toContain('0% uploaded')
    expect(shown.filter((one) => /^0 B of \d.* (B|KB) sent$/.test(one)).length).toBeGreaterThan(0)
    expect(shown.filter((one) => one === 'Upload complete. Checking the bundle…').length).toBeGreaterThan(1)
    expect(shown.at(-1)).toBe('')
    expect(await page.isVisible('.upload-bar')).toBe(false)
  })

  test('upload: a dropped ZIP file is selected; a folder, two files and other file types get different messages', async () => {
    await using opened = await open('/admin/')
    const { page } = opened
    const problem = page.locator('.upload .problem')
    await drop(page, ['notes.txt'])
    expect(await problem.innerText()).toBe('“notes.txt” isn’t a .zip file. Choose a .zip file.')
    await drop(page, ['a.zip', 'b.zip'])
    expect(await problem.innerText()).toBe('Drop one file at a time.')
    await drop(page, ['folder'], { isFolder: true })
    expect(await problem.innerText()).toContain('This is a folder.')
    await page.click('text=Upload and activate')
    expect(await problem.innerText()).toBe('Choose a .zip file first.')
    await drop(page, ['large.zip'], { bytes: 10 * 1024 ** 2 + 1 })
    expect(await problem.innerText()).toBe('“large.zip” is 10 MB. The host accepts bundles up to 10 MB (BUNDLE_SIZE).')
    await drop(page, ['a.zip'])
    expect(await problem.isVisible()).toBe(false)
    expect(await page.evaluate('document.querySelector("#bundle").files[0].name')).toBe('a.zip')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Upload and activate')
  })

  test('versions: they can be rolled back after a confirmation, downloaded, compared and deleted', async () => {
    const old = await upload('rolls', {}, { 'globals.js': 'let a = 1\n' })
    const now = await upload('rolls', { version: '2.0.0' }, { 'globals.js': 'let a = 2\n' })
    await using opened = await open('/admin/solutions/rolls/versions')
    const { page, complaints } = opened
    await page.click('text=Roll back')
    await page.click('text=Cancel')
    expect(await api('solutions/rolls')).toMatchObject({ active: now })
    await page.click('text=Roll back')
    expect(await page.locator('#admin-question').innerText()).toContain('Activate version 1.0.0')
    await page.click('text=Yes, continue')
    await page.locator('text=Version 1.0.0 is active.').waitFor()
    expect(await api('solutions/rolls')).toMatchObject({ active: old })

    const [download] = await Promise.all([page.waitForEvent('download'), page.click('a[download] >> nth=1')])
    expect(download.suggestedFilename()).toBe(`rolls-${old.slice(0, 12)}.zip`)

    await page.click('a:has-text("Compare version 2.0.0")')
    await page.locator('.diff-plus', { hasText: '+let a = 2' }).waitFor()
    expect(await page.locator('.diff-minus').first().innerText()).toBe('-let a = 1')
    await page.goBack()
    await page.getByRole('button', { name: 'Delete version 2.0.0' }).click()
    await page.click('text=Yes, continue')
    await page.locator('text=Version 2.0.0 deleted.').waitFor()
    expect((await api('solutions/rolls')) as { versions: object[] }).toMatchObject({ versions: [{ sha256: old }] })
    expect(complaints).toEqual([])
  })

  test('a solution is deleted only after its name is typed', async () => {
    await upload('doomed', {})
    await using opened = await open('/admin/solutions/doomed')
    const { page } = opened
    await page.fill('#delete-name', 'doome')
    await page.click('button:has-text("Delete solution")')
    expect(await page.evaluate('document.querySelector("#delete-name").validity.patternMismatch')).toBe(true)
    expect(await api('solutions/doomed')).toMatchObject({ state: 'active' })
    await page.fill('#delete-name', 'doomed')
    await page.press('#delete-name', 'Enter')
    await page.locator('text=Solution “doomed” deleted.').waitFor()
    expect(await api('solutions/doomed')).toMatchObject({ code: 'ERR_SOLUTION_NOT_FOUND' })
  })

  test('log: new lines that match the filter appear automatically, each once; they are held back while the log is paused', async () => {
    await upload('talks', {}, { 'globals.js': TALKS })
    await using opened = await open('/admin/solutions/talks/log?level=warn')
    const { page, complaints } = opened
    const talk = () => openOnce(host.url, 'talks', createVisitor(host.url))
    await page.locator('[data-state=following]').waitFor()
    expect(await page.isVisible('#log-empty')).toBe(true)
    await talk()
    await page.locator('.log-message:text-is("careful")').waitFor()
    await page.click('text=Pause')
    expect(await page.innerText('.log-state')).toBe('Paused. New lines aren’t shown.')
    await talk()
    await page.click('text=Resume')
    await page.locator('[data-state=following]').waitFor()
    await page.locator('.log-message').nth(1).waitFor()
    expect(await page.locator('.log-message').allInnerTexts()).toEqual(['careful', 'careful'])
    expect(await page.locator('.log-level').allInnerTexts()).toEqual(['Warning', 'Warning'])
    expect(await page.locator('.log-place').first().innerText()).toBe('globals.js:1:59')
    expect(await axeViolations(page)).toEqual([])

    const shown = await page.locator('#log-rows').innerText()
    await page.reload()
    expect(await page.locator('#log-rows').innerText()).toBe(shown)
    await page.click('.log-reference >> nth=0')
    await page.waitForURL(/correlationId=[\w-]+$/)
    await page.locator('.log-message:text-is("hello")').waitFor()
    expect(complaints).toEqual([])
  })

  test('access: a grant can be created with one button, edited to use a separate account, and revoked; secrets can be set and deleted', async () => {
    await upload('asks', ASKS, AUTH)
    await using opened = await open('/admin/solutions/asks/access')
    const { page, complaints } = opened
    await page.click('[aria-label="Grant crm as requested"]')
    await page.locator('text=“crm” granted.').waitFor()
    await page.click('[aria-label="Grant api.example.org as requested"]')
    await page.locator('text=“api.example.org” granted.').waitFor()
    const crm = { server: 'alpha', database: 'crm_live', hasPassword: false }
    const http = ['api.example.org']
    expect(await api('solutions/asks/grants')).toEqual({ databases: { crm }, http, users: false })
    expect(await page.innerText('main')).toContain('with the account in DB_ALPHA_USERNAME')

    await page.click('text=Use another account or database')
    await page.fill('#database-crm-username', 'crm_scripts')
    await page.fill('#database-crm-password', 'of the scripts')
    await page.click('text=Save grant')
    await page.locator('text=Account crm_scripts').waitFor()
    const own = { ...crm, username: 'crm_scripts', hasPassword: true }
    expect(await api('solutions/asks/grants')).toEqual({ databases: { crm: own }, http, users: false })

    await page.click('[aria-label="Revoke api.example.org"]')
    await page.click('text=Yes, continue')
    await page.locator('text=“api.example.org” revoked.').waitFor()
    expect(await api('solutions/asks/grants')).toEqual({ databases: { crm: own }, http: [], users: false })

    expect(await page.inputValue('#secret-name')).toBe('CLIENT_SECRET')
    await page.fill('#secret-value', 'only for Google')
    await page.fill('#secret-hosts', 'oauth2.googleapis.com\n')
    await page.press('#secret-value', 'Enter')
    await page.locator('text=Secret set.').waitFor()
    const secrets = { items: [{ name: 'CLIENT_SECRET', hosts: ['oauth2.googleapis.com'] }] }
    expect(await api('solutions/asks/secrets')).toEqual(secrets)
    expect(await axeViolations(page)).toEqual([])
    await page.click('[aria-label="Delete secret CLIENT_SECRET"]')
    await page.click('text=Yes, continue')
    await page.locator('text=Secret CLIENT_SECRET deleted.').waitFor()
    expect(await api('solutions/asks/secrets')).toEqual({ items: [] })
    expect(complaints).toEqual([])
  })

  test('access: a sign-in policy can be set for some permissions, be made optional, and be deleted', async () => {
    await upload('policy', { authenticator: 'DEFAULT', permissions: ['Accounting', 'Sales'] })
    await using opened = await open('/admin/solutions/policy/access')
    const { page, complaints } = opened
    const policy = async () => {
      const { warnings: _, ...inForce } = (await api('solutions/policy/sign-in-policy')) as Record<string, unknown>
      return inForce
    }
    const save = async () => {
      await Promise.all([page.waitForEvent('load'), page.click('text=Save policy')])
      await page.locator('#admin-said:has-text("Policy saved.")').waitFor()
    }
    expect(await page.inputValue('#sign-in-level')).toBe('optional')
    expect(await page.isVisible('#grace-days')).toBe(false)
    await page.selectOption('#sign-in-level', 'required')
    await page.check('text=Accounting')
    await page.fill('#grace-days', '14')
    await save()
    const required = {
      level: 'required',
      requiredFor: ['Accounting'],
      graceDays: 14,
      setUpByLink: false,
      source: 'operator',
    }
    expect(await policy()).toEqual(required)
    expect([await page.isChecked('text=Accounting'), await page.isChecked('text=Sales')]).toEqual([true, false])
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.setViewportSize({ width: 320, height: 640 })
    expect(await page.evaluate('document.scrollingElement.scrollWidth')).toBe(320)
    await page.uncheck('text=Accounting')
    await save()
    expect(await policy()).toEqual({ ...required, requiredFor: null })
    await page.selectOption('#sign-in-level', 'optional')
    await save()
    expect(await policy()).toEqual({ ...required, level: 'optional', requiredFor: null, graceDays: 0 })
    await page.click('text=Use the manifest’s policy')
    await page.click('text=Yes, continue')
    await page.locator('#admin-said:has-text("Policy deleted.")').waitFor()
    expect(await policy()).toMatchObject({ level: 'optional', source: 'default' })
    expect(complaints).toEqual([])
  })

  test('access: an API error is shown at its form', async () => {
    await upload('refuses', ASKS, AUTH)
    await using opened = await open('/admin/solutions/refuses/access')
    const { page } = opened
    await page.click('text=Use another account or database')
    await page.fill('#database-crm-database', 'no;database')
    await page.click('text=Save grant')
    const problem = page.locator('details .problem')
    await problem.waitFor()
    expect(await problem.innerText()).toContain('must be 1 to 128 letters')
  })
})

/** Drops files with these names on the upload card, as a file manager does. */
async function drop(page: Page, names: readonly string[], { isFolder = false, bytes = 1 } = {}): Promise<void> {
  await page.evaluate(`((names, isFolder, bytes) => {
    const data = new DataTransfer()
    for (const name of names) data.items.add(new File([new Uint8Array(bytes)], name))
    // Scripts cannot create a folder entry.
    const items = DataTransferItem.prototype
    const { webkitGetAsEntry } = items
    if (isFolder) items.webkitGetAsEntry = () => ({ isDirectory: true })
    const event = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
    document.querySelector('.upload').dispatchEvent(event)
    items.webkitGetAsEntry = webkitGetAsEntry
  })(${JSON.stringify(names)}, ${isFolder}, ${bytes})`)
}
