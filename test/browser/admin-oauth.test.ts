import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addCookie, adminCookie } from '../support/admin.ts'
import { browserPath, closeContexts, complaintsOf, lookOf, SOUND_LOOK, sharedBrowser } from '../support/browser.ts'
import { CLIENT_SECRET } from '../support/client-secret.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { type OidcProvider, startOidcProvider } from '../support/oidc-provider.ts'
import { createPages } from '../support/usual-page.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

const SCRIPT = 'function onSolutionOpen() {}\nfunction getOAuthConfig() { return null }'
const AUTH = { ...moduleFile('auth', { type: 'authenticator' }), 'modules/auth/globals.js': SCRIPT }
/** A provider that doesn't exist. Names in `.invalid` never resolve, so testing its settings fails. */
const NOWHERE = {
  api: 'Custom',
  issuer: 'https://login.invalid',
  clientId: 'of the author',
  apiSecret: 'written in the manifest',
  prompt: 'login',
}

describe.skipIf(browserPath === undefined)('the OAuth wizard, in a browser', () => {
  let provider: OidcProvider
  let host: TestHost
  let browser: Browser

  beforeAll(async () => {
    provider = await startOidcProvider()
    host = await startTestHost({ OAUTH_ALLOWED_HOSTS: provider.hostPort })
    browser = await sharedBrowser()
    const modules = ['auth']
    for (const manifest of [
      { name: 'bare', authenticator: 'OAUTH', modules },
      { name: 'looks', authenticator: 'OAUTH', modules },
      { name: 'crm', authenticator: 'OAUTH', modules, oauth: NOWHERE },
      { name: 'many', authenticator: 'OAUTH_AUTHENTICATOR', modules },
    ]) {
      expect((await host.upload(manifest.name, await bundleOf(manifest, AUTH))).status).toBe(201)
    }
    expect((await host.upload('open', await bundleOf({ name: 'open', authenticator: 'NONE' }))).status).toBe(201)
  })
  afterAll(async () => {
    await closeContexts(browser)
    await host?.stop()
    await provider?.stop()
  })

  const openPage = createPages(() => ({
    browser,
    blank: `${host.adminUrl}/admin/api/none`,
    signIn: async (page) => addCookie(page, `${host.adminUrl}/admin/`, await adminCookie(host)),
  }))

  async function open(name: string, options?: BrowserContextOptions) {
    const opened = await openPage(options)
    const { page } = opened
    const addresses: string[] = []
    const complaints = complaintsOf(page)
    page.on('request', (request) => addresses.push(request.url()))
    await page.goto(`${host.adminUrl}/admin/solutions/${name}/oauth`)
    return { ...opened, complaints, addresses }
  }

  async function stored(path: string): Promise<unknown> {
    return (await ask(`${host.url}/admin/api/solutions/${path}`, { headers: { authorization: host.admin } })).json()
  }

  const choose = (page: Page, api: string) => page.check(`input[name=api][value=${api}]`)
  const next = (page: Page) => page.getByRole('button', { name: 'Next' }).click()

  async function tested(page: Page): Promise<string[]> {
    await page.locator('.tested').waitFor()
    const items = await page.locator('.tested li').allInnerTexts()
    return items.map((text) => text.split('\n')[0]?.trim().replace(/\s+/g, ' ') ?? '')
  }

  test('after the wizard is completed, users can sign in with the provider; the secret is stored, but not in a setting or URL', async () => {
    await using opened = await open('bare', {})
    const { page } = opened
    const redirect = `${host.url}/solution/bare/app_oauth/index.html`
    expect(await page.locator('#oauth-address-redirect').innerText()).toBe(redirect)
    await provider.setClient({ client_id: 'solhost', redirect_uris: [redirect] })

    await choose(page, 'Custom')
    await page.fill('#oauth-clientId', 'solhost')
    await page.fill('#oauth-issuer', provider.issuer)
    await page.fill('#oauth-secret-value', CLIENT_SECRET)
    expect(await page.inputValue('#oauth-secret-hosts')).toBe(provider.hostPort)
    await next(page)
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Advanced parameters')
    await page.fill('#oauth-parameters', 'prompt=consent\nmax_age=600')
    await page.click('#oauth-back')
    expect(await page.inputValue('#oauth-clientId')).toBe('solhost')
    await next(page)

    await page.click('#oauth-test')
    expect(await tested(page)).toEqual([
      'Settings OK',
      'Discovery OK',
      'Endpoints OK',
      'Keys OK',
      'Secret Skipped',
      'Clock OK',
    ])
    expect(await stored('bare/oauth')).toMatchObject({ settings: null })

    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Save' }).click()])
    await page.getByText('Settings saved. They apply immediately.').waitFor()
    expect((await tested(page))[4]).toBe('Secret OK')
    expect(await page.locator('#oauth-warnings').count()).toBe(0)
    expect(await stored('bare/oauth')).toEqual({
      settings: {
        api: 'Custom',
        clientId: 'solhost',
        issuer: provider.issuer,
        apiSecret: '%%BARE_SECRET%%',
        prompt: 'consent',
        max_age: '600',
      },
      warnings: [],
    })
    expect(await stored('bare/secrets')).toEqual({ items: [{ name: 'BARE_SECRET', hosts: [provider.hostPort] }] })
    expect(await page.content()).not.toContain(CLIENT_SECRET)
    expect(opened.addresses.filter((address) => address.includes(CLIENT_SECRET.slice(0, 10)))).toEqual([])
    expect(opened.complaints).toEqual([])

    await page.goto(`${host.url}/solution/bare/index.html`)
    expect(new URL(page.url()).origin).toBe(provider.issuer)
    expect(provider.requests.find(({ query }) => query.client_id === 'solhost')?.query).toMatchObject({
      redirect_uri: redirect,
      prompt: 'consent',
    })
  })

  test('only the fields of the selected provider are shown', async () => {
    await using opened = await open('looks')
    const { page } = opened
    const shown = () => page.locator('fieldset[data-step="1"] [data-providers]:visible > label').allInnerTexts()
    const common = (own: string[]) => ['Client ID', ...own, 'Default scope']
    expect(await shown()).toEqual(common([]))
    for (const [api, own] of Object.entries({
      Google: [],
      Microsoft: ['Tenant'],
      Apple: ['Team ID', 'Key ID'],
      Okta: ['Domain', 'Issuer'],
      Custom: ['Issuer', 'Authorization endpoint', 'Token endpoint', 'JWKS URI'],
    })) {
      await choose(page, api)
      expect(await shown()).toEqual(common(own))
      expect(await page.locator('.provider-guide:visible h3').allInnerTexts()).toEqual([
        api === 'Custom' ? 'Register the application with your provider' : `Register the application with ${api}`,
      ])
    }
    await page.fill('#oauth-accessTokenEndpoint', 'https://login.example.org:8443/token')
    expect(await page.inputValue('#oauth-secret-hosts')).toBe('login.example.org:8443')
    await choose(page, 'Apple')
    expect(await page.inputValue('#oauth-secret-hosts')).toBe('appleid.apple.com')
    expect(opened.complaints).toEqual([])
  })

  test('the user can continue only when the fields that the provider needs are filled in', async () => {
    await using opened = await open('looks')
    const { page } = opened
    await choose(page, 'Google')
    await page.fill('#oauth-clientId', 'x')
    await next(page)
    expect(await page.evaluate('document.querySelector("#oauth-secret-value").validity.valueMissing')).toBe(true)
    expect(await page.locator('#oauth-parameters').isVisible()).toBe(false)
  })

  test('an API error is shown with the name of the setting, which gets the focus', async () => {
    await using opened = await open('looks')
    const { page } = opened
    await choose(page, 'Custom')
    await page.fill('#oauth-clientId', 'x')
    await next(page)
    await page.fill('#oauth-parameters', 'prompt')
    await page.getByRole('button', { name: 'Save' }).click()
    const problem = page.locator('.problem')
    expect(await problem.innerText()).toBe('Additional parameters, line 1: use the format name=value.')
    await page.fill('#oauth-parameters', 'state=mine')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('must not be set: the platform sets it').waitFor()
    expect(await problem.innerText()).toContain('state')
    expect(await page.evaluate('document.activeElement.className')).toBe('problem')
    expect(await stored('looks/oauth')).toMatchObject({ settings: null })
  })

  test('the source of each setting is shown, but a secret in the manifest is not', async () => {
    await using opened = await open('crm')
    const { page } = opened
    await page.fill('#oauth-clientId', 'of the operator')
    await next(page)
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Save' }).click()])
    await tested(page)
    const cells = (await page.locator('tbody tr').allInnerTexts()).map((row) => row.split(/\s*\t\s*/))
    expect(cells).toEqual([
      ['api', 'Custom', 'Manifest'],
      ['clientId', 'of the operator', 'Operator'],
      ['apiSecret', 'Set in the manifest, not shown here', 'Manifest'],
      ['issuer', 'https://login.invalid', 'Manifest'],
      ['prompt', 'login', 'Manifest'],
      ['defaultScope', 'openid email profile', 'Provider default'],
      ['code_challenge_method', 'S256', 'Provider default'],
      ['response_type', 'code', 'Provider default'],
      ['response_mode', 'query', 'Provider default'],
    ])
    expect(await page.content()).not.toContain(NOWHERE.apiSecret)
    const remove = page.locator('form[data-api=DELETE] button')
    await remove.click()
    await page.locator('#admin-question').getByText('Yes, continue').click()
    await page.getByText('Operator settings removed.').waitFor()
    expect(await stored('crm/oauth')).toMatchObject({ settings: null })
    expect(opened.complaints).toEqual([])
  })

  test('the instructions for the selected provider link to its console, and the redirect URI can be copied', async () => {
    await using opened = await open('crm', { permissions: ['clipboard-read', 'clipboard-write'] })
    const { page } = opened
    const steps = page.locator('.provider-guide:visible')
    expect(await steps.locator('a').count()).toBe(0)
    await choose(page, 'GitHub')
    expect(await steps.locator('a').getAttribute('href')).toBe('https://github.com/settings/developers')
    expect(await steps.locator('li').count()).toBe(3)
    await steps.getByRole('button', { name: 'Copy: Redirect URI (GitHub)' }).click()
    await page.getByText('Copied.').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`${host.url}/solution/crm/app_oauth/index.html`)
  })

  test('the page says what to do if the solution chooses the provider, or if users sign in another way', async () => {
    await using many = await open('many')
    expect(await many.page.locator('#oauth-chosen').innerText()).toContain('getOAuthConfig')
    expect(await many.page.locator('#oauth-address-redirect').innerText()).toContain('/solution/many/app_oauth/')
    expect(await many.page.locator('#oauth-form').count()).toBe(0)
    expect(await lookOf(many.page)).toEqual(SOUND_LOOK)
    await using other = await open('open', {})
    expect(await other.page.locator('#oauth-none').innerText()).toContain('Its authenticator is NONE')
    expect(await other.page.locator('#oauth-none').innerText()).toContain('"authenticator": "OAUTH"')
    expect(await other.page.locator('form[id]').count()).toBe(0)
    expect(await lookOf(other.page)).toEqual(SOUND_LOOK)
    expect([many.complaints, other.complaints]).toEqual([[], []])
  })

  test('axe finds no violation in light and dark mode, and each step fits a window 320 px wide', async () => {
    await using opened = await open('crm')
    const { page } = opened
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await choose(page, 'Custom')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await page.fill('#oauth-clientId', 'x')
    await next(page)
    await page.click('#oauth-test')
    await tested(page)
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    expect(opened.complaints).toEqual([])
  })
})
