import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openAdminPage } from '../support/admin.ts'
import { addApp, codeOf, wrongCode } from '../support/authenticator-app.ts'
import {
  axeViolations,
  browserPath,
  closeContexts,
  complaintsOf,
  sharedBrowser,
  untilTrue,
} from '../support/browser.ts'
import { ADMIN_PASSWORD, startTestHost, type TestHost } from '../support/host.ts'
import { addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'

const NEW = 'quiet rivers run at night'

/** Returns the words in table cells and in their labels that are broken over two lines. */
const BROKEN_WORDS = `[...document.querySelectorAll('td[data-label]')].flatMap((cell) => {
  // The text of a pseudo-element can't be measured, so measure a copy of the label.
  const { fontSize, width } = getComputedStyle(cell, '::before')
  const label = document.createElement('span')
  label.textContent = cell.dataset.label
  Object.assign(label.style, { display: 'block', fontSize, width })
  cell.append(label)
  const words = [...cell.childNodes].flatMap((node) => {
    const text = node instanceof Text ? node : node.firstChild
    if (!(text instanceof Text)) return []
    return [...text.data.matchAll(/\\p{L}+/gu)].filter(({ 0: word, index }) => {
      const range = new Range()
      range.setStart(text, index)
      range.setEnd(text, index + word.length)
      return range.getClientRects().length > 1
    })
  })
  label.remove()
  return words.map(([word]) => word)
})`

describe.skipIf(browserPath === undefined)('the admin pages for users, in a browser', () => {
  let host: TestHost
  let browser: Browser
  let page: Page
  let complaints: string[]

  beforeAll(async () => {
    host = await startTestHost({ FACTOR_LOCK: '2' })
    await addDefaultSolution(host, 'crm', { title: 'Customers', permissions: ['Users', 'Sales'] })
    browser = await sharedBrowser()
  })
  afterAll(async () => {
    await closeContexts(browser)
    await host?.stop()
  })
  beforeEach(async () => {
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
    page = await context.newPage()
    complaints = complaintsOf(page)
    return () => context.close()
  })

  const open = (path: string) => openAdminPage(page, host, path)
  const said = () => page.locator('#admin-said').textContent()
  const confirm = () => page.click('#admin-question button[value=yes]')
  const userOf = async (username: string) =>
    ((await askAdmin(host, 'GET', `users?search=${username}`)).items as Record<string, unknown>[]).find(
      (user) => user.username === username,
    )

  test('a user is added with suggested permissions and a generated password, and can sign in with it', async () => {
    await open('/admin/users/new')
    expect(
      await page.locator('#known-permissions option').evaluateAll((all) => all.map((one) => one.getAttribute('value'))),
    ).toEqual(['Administrators', 'Sales', 'Users'])
    await page.fill('#username', 'dora')
    await page.fill('#display-name', 'Dora Jansen')
    await page.click('[data-add]')
    expect(await page.evaluate("document.activeElement.getAttribute('list')")).toBe('known-permissions')
    await page.keyboard.type('Users')
    await page.click('[data-add]')
    await page.locator('.permission-row input').nth(1).fill('Sales')
    await page.locator('.permission-row select').nth(1).selectOption('crm')
    await page.click('[data-make-password]')
    const made = await page.inputValue('#password')
    expect(made).toMatch(/^([a-km-np-z2-9]{5}-){3}[a-km-np-z2-9]{5}$/)
    await page.uncheck('#must-change')
    await page.click('form button[type=submit]:has-text("Add user")')
    await page.waitForSelector('#made:not([hidden])')
    expect(await page.textContent('#made-password')).toBe(made)
    expect(await page.evaluate('document.activeElement.id')).toBe('made')
    expect(await axeViolations(page)).toEqual([])
    await page.click('button[data-copy=made-password]')
    await untilTrue(page, "document.querySelector('#admin-said').textContent === 'Copied.'")
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(made)

    expect(await userOf('dora')).toMatchObject({
      displayName: 'Dora Jansen',
      email: null,
      permissions: ['Users', { name: 'Sales', solution: 'crm' }],
      mustChangePassword: false,
    })
    expect((await (await visit(host, 'crm')).signIn('dora', made)).status).toBe(303)
    await page.click('#made a:has-text("Open user")')
    expect(await page.textContent('h1')).toBe('dora')
    expect(complaints).toEqual([])
  })

  test('if the session ended while the user was typing, their entries are still there after they sign in again', async () => {
    await open('/admin/users/new')
    await page.fill('#username', 'erika')
    await page.fill('#display-name', 'Erika Musterfrau')
    await page.fill('#password', NEW)
    await page.context().clearCookies()
    await page.click('form button[type=submit]:has-text("Add user")')
    await page.waitForURL(/\/admin\/sign-in\?to=%2Fadmin%2Fusers%2Fnew/)
    await page.fill('#username', 'admin')
    await page.fill('#password', ADMIN_PASSWORD)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${host.adminUrl}/admin/users/new`)
    await expect.poll(said).toContain('Your entries are still here')
    const fields = ['#username', '#display-name', '#password']
    expect(await Promise.all(fields.map((field) => page.inputValue(field)))).toEqual(['erika', 'Erika Musterfrau', ''])
  })

  test('if an input is rejected, the form shows the error and keeps the input', async () => {
    await addUser(host, 'taken')
    await open('/admin/users/new')
    await page.fill('#username', 'TAKEN')
    await page.click('form button[type=submit]:has-text("Add user")')
    await page.waitForSelector('.problem:not([hidden])')
    expect(await page.textContent('.problem')).toContain('A user named "TAKEN" already exists')
    expect(await page.inputValue('#username')).toBe('TAKEN')
    await page.fill('#username', ' ')
    await page.click('form button[type=submit]:has-text("Add user")')
    const message = '"Username" must be 1 to 200 visible characters'
    await expect.poll(() => page.textContent('.problem')).toContain(message)
    expect(await page.textContent('.problem'), 'the message is shown once').toBe(message)
  })

  test('the list tells users without a password from those who must change theirs', async () => {
    const { uid } = await askAdmin(host, 'POST', 'users', { username: 'gus', permissions: ['Users'] })
    await open('/admin/users?search=gus')
    expect(await page.locator('tbody .state').allTextContents()).toEqual(['No password yet'])
    await askAdmin(host, 'PATCH', `users/${uid}`, { password: 'quiet rivers run at night' })
    await page.reload()
    expect(await page.locator('tbody .state').allTextContents()).toEqual(['Must change password'])
  })

  test('a user can be edited: a permission is removed and a name cleared', async () => {
    const uid = await addUser(host, 'emil', { displayName: 'Emil', permissions: ['Sales', 'Users'] })
    await open(`/admin/users/${uid}`)
    await page.click('.permission-row:first-child [data-remove]')
    expect(await page.evaluate("document.activeElement.hasAttribute('data-add')")).toBe(true)
    await page.fill('#display-name', '')
    await Promise.all([page.waitForEvent('load'), page.click('button:has-text("Save")')])
    await expect.poll(said).toBe('User saved.')
    expect(await userOf('emil')).toMatchObject({ username: 'emil', displayName: null, permissions: ['Users'] })
    expect(complaints).toEqual([])
  })

  test('a new password can be set; it is shown once and must be changed at the next sign-in', async () => {
    const uid = await addUser(host, 'fred')
    await open(`/admin/users/${uid}`)
    await page.fill('#password', 'short')
    await page.click('[data-show-password]')
    expect(await page.getAttribute('#password', 'type')).toBe('text')
    await page.fill('#password', 'fifty silent bicycles')
    await page.click('form button[type=submit]:has-text("Set new password")')
    await page.waitForSelector('#password-set:not([hidden])')
    expect(await page.textContent('#set-password-value')).toBe('fifty silent bicycles')
    expect(await userOf('fred')).toMatchObject({ mustChangePassword: true })
    await page.reload()
    expect(await page.content()).not.toContain('fifty silent bicycles')
  })

  test('disabling a user requires a confirmation and signs the user out; cancelling changes nothing; enabling restores access', async () => {
    const uid = await addUser(host, 'gina')
    const visitor = await visit(host, 'crm')
    await visitor.signIn('gina')
    await open(`/admin/users/${uid}`)
    await page.click('button:has-text("Disable user")')
    expect(await page.textContent('#admin-question-text')).toBe(
      'Disable user gina? The user is signed out everywhere immediately.',
    )
    expect(await page.evaluate('document.activeElement.value')).toBe('no')
    await page.keyboard.press('Escape')
    expect(await userOf('gina')).toMatchObject({ enabled: true })
    await page.click('button:has-text("Disable user")')
    await Promise.all([page.waitForEvent('load'), confirm()])
    expect(await page.textContent('.title-row .state')).toBe('Disabled')
    await expect.poll(async () => (await visitor.session()).status).toBe(401)
    await Promise.all([page.waitForEvent('load'), page.click('button:has-text("Enable user")')])
    expect(await userOf('gina')).toMatchObject({ enabled: true })
    expect(complaints).toEqual([])
  })

  test('all of a user’s sessions can be ended, and the user can sign in again', async () => {
    const uid = await addUser(host, 'hans')
    const visitor = await visit(host, 'crm')
    await visitor.signIn('hans')
    await open(`/admin/users/${uid}`)
    await page.click('button:has-text("End all sessions")')
    await Promise.all([page.waitForEvent('load'), confirm()])
    await expect.poll(async () => (await visitor.session()).status).toBe(401)
    expect((await (await visit(host, 'crm')).signIn('hans')).status).toBe(303)
  })

  test('a second step is shown with the number of recovery codes left, can be unlocked after too many wrong codes, and can be reset', async () => {
    const uid = await addUser(host, 'fay')
    const visitor = await visit(host, 'crm')
    await visitor.signIn('fay')
    const { secret } = await addApp(visitor, 'crm')
    const other = await visit(host, 'crm')
    await other.signIn('fay')
    const enter = (code: string) => other.post('/solution/crm/second-step', { code })
    for (let wrong = 0; wrong < 2; wrong++) await enter(wrongCode(secret))
    expect((await enter(codeOf(secret, 0))).status).toBe(401)
    await open(`/admin/users/${uid}`)
    const card = page.locator('section[aria-labelledby=second-step]')
    expect((await card.innerText()).replace(/\s+/g, ' ')).toContain('Recovery codes left 10')
    await card.locator('text=The authenticator app is locked').waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.setViewportSize({ width: 320, height: 640 })
    expect(await page.evaluate('document.scrollingElement.scrollWidth')).toBe(320)
    await page.click('button:has-text("Unlock authenticator app")')
    await confirm()
    await page.locator('#admin-said:has-text("Authenticator app unlocked.")').waitFor()
    expect(await card.innerText()).not.toContain('locked')
    expect((await enter(codeOf(secret, 0))).status).toBe(303)
    await page.click('button:has-text("Reset second factor")')
    await confirm()
    await page.locator('#admin-said:has-text("Second factor reset.")').waitFor()
    await card.locator('text=This user signs in without a second factor.').waitFor()
    expect((await other.session()).status).toBe(401)
    expect(complaints).toEqual([])
  })

  test.each([
    ['Delete user', 'ida', 'user:ida'],
    ['Delete and erase', 'jane', 'user:erased'],
  ])(
    '%s: after a confirmation, the user is deleted; the audit log keeps or erases the name accordingly',
    async (button, name, actor) => {
      const uid = await addUser(host, name)
      const visitor = await visit(host, 'crm')
      const correlationId = (await visitor.signIn(name)).headers['x-correlation-id']
      await open(`/admin/users/${uid}`)
      await page.click(`button:has-text("${button}")`)
      await Promise.all([page.waitForURL(`${host.adminUrl}/admin/users`), confirm()])
      expect(await userOf(name)).toBeUndefined()
      const { items } = await askAdmin(host, 'GET', `audit?correlationId=${correlationId}`)
      expect(items).toEqual([expect.objectContaining({ actor })])
    },
  )

  test('on a phone, the list and the account page don’t break German words in tables', async () => {
    await addUser(host, 'ines', { permissions: ['Users'] })
    const context = await browser.newContext({ locale: 'de-DE', viewport: { width: 390, height: 800 } })
    page = await context.newPage()
    await open('/admin/users')
    await page.waitForSelector('td[data-label=Berechtigungen]')
    expect(await page.evaluate(BROKEN_WORDS)).toEqual([])
    await page.setViewportSize({ width: 320, height: 640 })
    await page.goto(`${host.url}/solution/crm/index.html`)
    await page.fill('#username', 'ines')
    await page.fill('#password', PASSWORD)
    await page.click('#submit')
    await page.waitForURL('**/index.html')
    await page.goto(`${host.url}/solution/crm/password`)
    await page.fill('#current', PASSWORD)
    await page.fill('#new', NEW)
    await page.fill('#repeat', NEW)
    await page.click('main form button[type=submit]')
    await page.waitForURL('**/index.html?password-changed')
    await page.fill('#username', 'ines')
    await page.fill('#password', NEW)
    await page.click('#submit')
    await page.waitForURL('**/index.html')
    await page.goto(`${host.url}/solution/crm/account`)
    await page.waitForSelector('td:has-text("Passwortänderung")')
    expect(await page.evaluate(BROKEN_WORDS)).toEqual([])
    await context.close()
  })

  test('the list can be searched by any part of the name, email address or uid', async () => {
    await addUser(host, 'kate', { email: 'sales@kites.example' })
    const { uid } = (await userOf('kate')) as { uid: string }
    for (const search of ['ATE', '@Kites.ex', uid.slice(9).toUpperCase()]) {
      await open('/admin/users')
      await page.fill('#search', search)
      await Promise.all([page.waitForURL(/search=./), page.press('#search', 'Enter')])
      expect(await page.locator('tbody th').allTextContents(), search).toEqual([expect.stringContaining('kate')])
    }
    await page.goto(`${host.adminUrl}/admin/users?search=nobody-%3Cb%3E`)
    expect(await page.textContent('.empty')).toBe('No user matches “nobody-<b>”.')
  })

  test('an import shows errors by line, then a preview, and then imports the users; an export returns all users', async () => {
    await open('/admin/users/import')
    const file = (text: string) => ({ name: 'users.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
    await page.setInputFiles('#file', file('username,email\nlena,lena@example.org\nmax,no address\n'))
    await page.click('button:has-text("Check file")')
    await page.waitForSelector('.problem:not([hidden])')
    expect(await page.locator('.problem li').allTextContents()).toEqual([
      expect.stringMatching(/^Line 3: email must be an email address/),
    ])
    expect(await page.isVisible('#import-told')).toBe(false)

    await page.setInputFiles('#file', file('username,email,permissions\nlena,lena@example.org,Users;Sales@crm\n'))
    await page.click('button:has-text("Check file")')
    await page.waitForSelector('#import-told:not([hidden])')
    expect(await page.locator('#import-told [data-count]').allTextContents()).toEqual(['1', '0', '0'])
    const notes = page.locator('#import-told [data-note]:visible [data-value]')
    expect(await notes.allTextContents()).toEqual(['1'])
    expect(await page.isVisible('text=Users without a password can’t sign in')).toBe(true)

    await page.setInputFiles('#file', file(`username,password,permissions\nlena,${PASSWORD},"Users, Sales"\n`))
    await page.click('button:has-text("Check file")')
    await expect.poll(() => notes.allTextContents()).toEqual(['Users, Sales'])
    expect(await page.isVisible('text=Check the spelling')).toBe(true)

    await page.setInputFiles('#file', file('username,email,permissions\nlena,lena@example.org,Users;Sales@crm\n'))
    await page.click('button:has-text("Check file")')
    await page.waitForSelector('#import-told:not([hidden])')
    expect(await userOf('lena')).toBeUndefined()
    expect(await axeViolations(page)).toEqual([])
    await Promise.all([page.waitForURL(`${host.adminUrl}/admin/users`), page.click('[data-import-now]')])
    await expect.poll(said).toBe('Users imported.')
    expect(await userOf('lena')).toMatchObject({ permissions: ['Users', { name: 'Sales', solution: 'crm' }] })

    const [download] = await Promise.all([page.waitForEvent('download'), page.click('a[download]')])
    expect(download.suggestedFilename()).toBe('users.csv')
    const text = await readFile(await download.path(), 'utf8')
    expect(text).toContain('lena,,lena@example.org,true,Users;Sales@crm')
  })
})
