import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openAdminPage } from '../support/admin.ts'
import {
  browserPath,
  closeContexts,
  complaintsOf,
  lookOf,
  SOUND_LOOK,
  sharedBrowser,
  untilTrue,
} from '../support/browser.ts'
import { ADMIN_PASSWORD, startTestHost, type TestHost } from '../support/host.ts'
import { type LdapServer, startLdapServer } from '../support/ldap-server.ts'
import { AD_BASE, adDirectory, adEntries, EDITORS, SALES } from '../support/played-directory.ts'
import { addDefaultSolution, askAdmin, visit } from '../support/users.ts'

const MINUTE = 60_000

describe.skipIf(browserPath === undefined)('the admin pages for directories, in a browser', () => {
  let host: TestHost
  let server: LdapServer
  let browser: Browser
  let page: Page
  let complaints: string[]

  beforeAll(async () => {
    server = await startLdapServer(adEntries())
    host = await startTestHost({ PLATFORM_TESTING_MODE: 'true' })
    await addDefaultSolution(host, 'crm', { title: 'Customers', permissions: ['Users', 'Sales'] })
    browser = await sharedBrowser()
  })
  afterAll(async () => {
    await closeContexts(browser)
    await host?.stop()
    await server?.stop()
  })
  beforeEach(async () => {
    const context = await browser.newContext()
    page = await context.newPage()
    complaints = complaintsOf(page)
    return () => context.close()
  })

  const open = (path: string) => openAdminPage(page, host, path)
  const stored = async () => (await askAdmin(host, 'GET', 'directories')).items as Record<string, unknown>[]
  const { bindDn, bindPassword } = adDirectory({ port: 0 })
  const tested = () =>
    page
      .locator('.tested li')
      .evaluateAll((all) =>
        all.map((one) => `${one.querySelector('strong')?.textContent} ${one.querySelector('.state')?.textContent}`),
      )

  async function enter(password: string): Promise<void> {
    await page.fill('#urls', `ldap://127.0.0.1:${server.port}`)
    await page.uncheck('#start-tls')
    await page.fill('#bind-dn', bindDn ?? '')
    await page.fill('#bind-password', password)
    await page.fill('#base', AD_BASE)
    await page.fill('#filter', '(&(objectClass=user)(sAMAccountName={name}))')
    await page.fill('.group-row [data-dn]', SALES)
    await page.fill('.group-row .permission-row input', 'Users')
  }

  test('an empty list explains when a directory is useful; a directory can be added with the form, and is then tested', async () => {
    await open('/admin/directories')
    expect(await page.textContent('main .card')).toContain('Add one if your users already have accounts')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('main a.button')
    // Waits for the page's script, as users do: the browser shows the page only after the script has run.
    await page.waitForURL(`${host.adminUrl}/admin/new-directory`)
    // Choosing another type changes only fields that still have the default value.
    await page.fill('#attribute-email', 'internalEmail')
    await page.selectOption('#id-attribute', 'entryUUID')
    expect(await page.inputValue('#filter')).toBe('(&(objectClass=inetOrgPerson)(uid={name}))')
    expect(await page.inputValue('#attribute-displayName')).toBe('cn')
    expect(await page.inputValue('#attribute-email')).toBe('internalEmail')
    expect(await page.isVisible('#group-base')).toBe(true)
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.selectOption('#id-attribute', 'objectGUID')
    expect(await page.inputValue('#attribute-username')).toBe('sAMAccountName')
    expect(await page.isVisible('#group-base')).toBe(false)
    await page.fill('#attribute-email', '')
    await page.fill('#name', 'new')
    await enter(bindPassword ?? '')
    // Adds another group by keyboard, with a permission in one solution. An empty group is left out.
    await page.focus('[data-groups] > p > [data-add]')
    await page.keyboard.press('Enter')
    await page.keyboard.type(EDITORS)
    await page.keyboard.press('Tab')
    await page.keyboard.type('Sales')
    await page.locator('.group-row').nth(1).locator('select').selectOption('crm')
    await page.click('[data-groups] > p > [data-add]')
    await page.click('#directory-form button[type=submit]')
    await page.waitForURL(`${host.adminUrl}/admin/directories/new`)
    await page.locator('.tested').waitFor()
    expect(await tested()).toEqual([
      'Connection OK',
      'Bind account OK',
      'Base DN OK',
      'Groups OK',
      'Person Skipped',
      'Membership Skipped',
    ])
    expect(await stored()).toMatchObject([
      {
        ...{ name: 'new', urls: [`ldap://127.0.0.1:${server.port}`], startTls: false, ca: null, bindDn, base: AD_BASE },
        attributes: { username: 'sAMAccountName', displayName: 'displayName', email: null },
        groups: [
          { dn: SALES, permissions: ['Users'] },
          { dn: EDITORS, permissions: [{ name: 'Sales', solution: 'crm' }] },
        ],
        ...{ hasBindPassword: true, lastTest: { failed: null }, order: 100 },
      },
    ])
    expect(complaints).toEqual([])
  })

  test('a failed step says what to do; settings are changed without the password, which the page never contains', async () => {
    await open('/admin/directories/new')
    await page.fill('#test-username', 'carla')
    await page.press('#test-username', 'Enter')
    await page.locator('.tested .advice').waitFor()
    expect(await tested()).toContain('Person Failed')
    expect(await page.textContent('.tested .advice')).toContain('The entry must be enabled')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.goto(`${host.adminUrl}/admin/directories`)
    expect((await page.textContent('tbody'))?.replace(/\s+/g, ' ')).toContain('Failed: Person')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('tbody a')
    expect(await page.content()).not.toContain(bindPassword)
    expect(await page.textContent('#bind-password-hint')).toContain('A password is stored.')
    await page.locator('.group-row').nth(1).locator('[data-remove-group]').click()
    await page.fill('#order', '7')
    await page.fill('#urls', `ldap://127.0.0.1:${server.port}\nhttp://localhost`)
    await page.fill('#base', 'people')
    await page.click('#directory-form button[type=submit]')
    await page.locator('#directory-form .problem li').nth(1).waitFor()
    expect(await page.locator('#directory-form .problem li').allTextContents()).toEqual([
      expect.stringMatching(/^"Server URLs" \(2\): must be "ldaps:/),
      expect.stringMatching(/^"Base DN": must be a distinguished name/),
    ])
    await page.fill('#base', AD_BASE)
    await page.fill('#urls', `ldap://127.0.0.1:${server.port}\nldap://localhost:${server.port}`)
    await page.click('#directory-form button[type=submit]')
    await expect.poll(() => page.textContent('.problem')).toContain('"Password" is missing')
    await page.fill('#urls', `ldap://127.0.0.1:${server.port}`)
    await page.click('#directory-form button[type=submit]')
    await page.locator('.tested').waitFor()
    expect(await stored()).toMatchObject([{ order: 7, groups: [{ dn: SALES }], hasBindPassword: true }])
    // Chromium logs the status of each rejected request.
    expect(complaints).toEqual([expect.stringContaining('422'), expect.stringContaining('422')])
  })

  test('the pages of a user show which directory the user comes from', async () => {
    expect((await (await visit(host, 'crm')).signIn('anna', 'password of Anna Berg')).status).toBe(303)
    await open('/admin/users')
    expect(await page.textContent('tbody')).toContain('from the directory new')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('tbody a')
    expect(await page.textContent('section[aria-labelledby=directory]')).toContain(
      'The directory new manages this user.',
    )
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    expect(complaints).toEqual([])
  })

  test('what was entered is still there after a confirmation, except for passwords', async () => {
    await open('/admin/new-directory')
    await page.fill('#name', 'second')
    await enter('another secret')
    await page.click('.group-row [data-add]')
    await page.locator('.permission-row input').nth(1).fill('Sales')
    await page.click('[data-groups] > p > [data-add]')
    await page.locator('[data-dn]').nth(1).fill(EDITORS)
    await page.locator('.group-row').nth(1).locator('.permission-row input').fill('Editors')
    await page.locator('.group-row').nth(1).locator('select').selectOption('crm')
    await page.fill('#ca', 'not a certificate\nof two lines')
    await askAdmin(host, 'POST', 'testing', { clockOffsetMs: 6 * MINUTE }, 200)
    await page.click('#directory-form button[type=submit]')
    await page.waitForURL(/\/admin\/confirm/)
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('another secret')
    await page.fill('input[name=password]', ADMIN_PASSWORD)
    await page.click('main button[type=submit]')
    await page.waitForURL(`${host.adminUrl}/admin/new-directory`)
    await untilTrue(page, "document.querySelector('#admin-said').textContent.startsWith('Your entries are still here')")
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Add directory')
    expect(await page.inputValue('#bind-password')).toBe('')
    expect(await page.inputValue('#ca')).toBe('not a certificate\nof two lines')
    await page.fill('#ca', '')
    await page.fill('#bind-password', bindPassword ?? '')
    await page.click('#directory-form button[type=submit]')
    await page.locator('.tested').waitFor()
    expect((await stored())[1]).toMatchObject({
      name: 'second',
      startTls: false,
      groups: [
        { dn: SALES, permissions: ['Users', 'Sales'] },
        { dn: EDITORS, permissions: [{ name: 'Editors', solution: 'crm' }] },
      ],
    })
    // On the next visit, the fields are empty again.
    await page.goto(`${host.adminUrl}/admin/new-directory`)
    expect(await page.inputValue('#name')).toBe('')
    // The fields of a sign-in policy depend on its level.
    await page.goto(`${host.adminUrl}/admin/solutions/crm/access`)
    await page.selectOption('#sign-in-level', 'required')
    await page.fill('#grace-days', '9')
    await askAdmin(host, 'POST', 'testing', { clockOffsetMs: 12 * MINUTE }, 200)
    await page.click('#sign-in-policy-form button[type=submit]')
    await page.waitForURL(/\/admin\/confirm/)
    await page.click('main a:has-text("Cancel")')
    await page.waitForURL(/\/access$/)
    expect([await page.inputValue('#sign-in-level'), await page.inputValue('#grace-days')]).toEqual(['required', '9'])
    expect(await page.isVisible('#grace-days')).toBe(true)
  })

  test('a directory is deleted after a confirmation, and the page says what that does to its users', async () => {
    await open('/admin/directories/new')
    expect(await page.textContent('.danger-zone')).toContain('are signed out and can no longer sign in')
    await page.click('.danger-zone button')
    expect(await page.textContent('#admin-question-text')).toContain('Delete the directory new?')
    await page.click('#admin-question button[value=yes]')
    await page.waitForURL(`${host.adminUrl}/admin/directories`)
    expect((await stored()).map(({ name }) => name)).toEqual(['second'])
    expect((await page.goto(`${host.adminUrl}/admin/directories/new`))?.status()).toBe(404)
  })
})
