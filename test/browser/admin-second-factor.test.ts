import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codeOf } from '../support/authenticator-app.ts'
import {
  addAuthenticator,
  browserPath,
  closeContexts,
  complaintsOf,
  lookOf,
  SOUND_LOOK,
  sharedBrowser,
} from '../support/browser.ts'
import { ADMIN_PASSWORD, startTestHost, type TestHost } from '../support/host.ts'

describe.skipIf(browserPath === undefined)('second factors of the admin account, in a browser', () => {
  let host: TestHost
  let page: Page
  let admin = ''
  const complaints: string[] = []

  beforeAll(async () => {
    host = await startTestHost({ ADMIN_SECOND_FACTOR: 'required' })
    admin = host.adminUrl.replace('127.0.0.1', 'localhost')
    page = await (await (await sharedBrowser()).newContext()).newPage()
    await addAuthenticator(page)
    complaintsOf(page, complaints)
  })
  afterAll(async () => {
    await closeContexts(await sharedBrowser())
    await host?.stop()
  })

  async function signIn(): Promise<void> {
    await page.goto(`${admin}/admin/sign-in?to=/admin/account`)
    await page.fill('[name=username]', 'admin')
    await page.fill('[name=password]', ADMIN_PASSWORD)
    await page.click('button[type=submit]')
  }

  test('if a second factor is required, the operator creates a passkey at the first sign-in', async () => {
    await signIn()
    expect(await page.locator('h1').textContent()).toBe('Set up a second factor')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('form[data-passkey] button')
    await page.waitForSelector('#recovery-codes')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('button[value=saved]')
    expect(page.url()).toBe(`${admin}/admin/account`)
  })

  test('an authenticator app is added on the account page', async () => {
    await page.click('button[value=new-app]')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    const secret = ((await page.locator('.setup-key').textContent()) ?? '').replaceAll(' ', '')
    await page.fill('[name=code]', codeOf(secret, 0))
    await page.click('button[value=add-app]')
    await page.click('button[value=saved]')
    expect(await page.locator('main table tbody tr').count()).toBe(2)
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('button[value=new-passkey]')
    await page.waitForSelector('form[data-passkey]')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
  })

  test('the next sign-in needs the passkey after the password, and changes are confirmed with it', async () => {
    await page.context().clearCookies()
    await signIn()
    expect(await page.locator('h1').textContent()).toBe('Confirm that it’s you')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('form[data-passkey] button')
    await page.waitForURL(`${admin}/admin/account`)
    await page.goto(`${admin}/admin/confirm?to=/admin/tokens`)
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.click('form[data-passkey] button')
    await page.waitForURL(`${admin}/admin/tokens`)
    expect(complaints).toEqual([])
  })
})
