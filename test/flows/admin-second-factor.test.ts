import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NAVIGATION } from '../support/admin.ts'
import { codeOf, firstCodeOf, readNewApp, recoveryCodesIn, wrongCode } from '../support/authenticator-app.ts'
import { runCli, temporaryFolder } from '../support/cli.ts'
import { freePort } from '../support/database-server.ts'
import { ADMIN_PASSWORD, startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { createPasskeyDevice, passkeyOptionsIn } from '../support/passkey-device.ts'
import { addDefaultSolution, addUser } from '../support/users.ts'

// Tests the admin account's second factor, and changes that the operator must confirm.

const folder = temporaryFolder()
const home = join(folder.path, 'home')
let host: TestHost
let uid = ''
beforeAll(async () => {
  host = await startTestHost({ PLATFORM_TESTING_MODE: 'true', ADMIN_FAILURES: '1000' }, { home })
  await addDefaultSolution(host, 'shop')
  uid = await addUser(host, 'anna')
})
afterAll(() => host?.stop())

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** A browser on the admin pages. */
function browserAt(at: Pick<TestHost, 'adminUrl'>) {
  const visitor = createVisitor(at.adminUrl, NAVIGATION)
  return {
    ...visitor,
    signIn: (to = '/admin/tokens') =>
      visitor.post('/admin/sign-in', { username: 'admin', password: ADMIN_PASSWORD, to }),
    isSignedIn: async () => (await visitor.get('/admin/tokens')).status === 200,
    async api(method: string, path: string, body?: unknown) {
      const page = await visitor.get('/admin/tokens')
      const csrf = /name="csrf-token" content="([^"]+)"/.exec(page.text)?.[1] ?? ''
      const cookie = [...visitor.cookies].map(([name, { value }]) => `${name}=${value}`).join('; ')
      return call(at.adminUrl, method, path, { cookie, 'x-csrf-token': csrf, 'sec-fetch-site': 'same-origin' }, body)
    },
  }
}

function call(base: string, method: string, path: string, headers: Record<string, string>, body?: unknown) {
  return ask(`${base}/admin/api/${path}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

const withToken = (token: string, method: string, path: string, body?: unknown) =>
  call(host.url, method, path, { authorization: `Bearer ${token}` }, body)
const codeAt = (secret: string, timestamp: number) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
const problemOf = (answer: { status: number; json: () => unknown }) => [
  answer.status,
  (answer.json() as { code?: string }).code,
]

describe('an admin account with an authenticator app', () => {
  let secret = ''
  let recoveryCodes: readonly string[] = []
  let token = ''

  test('the authenticator app is set up on the account page; from then on, tools need a token', async () => {
    const other = browserAt(host)
    await other.signIn()
    const browser = browserAt(host)
    expect((await browser.signIn()).headers.location).toBe('/admin/tokens')
    const tooLong = { name: 'ops', scopes: ['admin'], expiresAt: Date.now() + 91 * DAY }
    for (const wanted of [tooLong, { ...tooLong, expiresAt: null }]) {
      expect(problemOf(await browser.api('POST', 'tokens', wanted))).toEqual([422, 'ERR_REQUEST_INVALID'])
    }
    const created = await browser.api('POST', 'tokens', { ...tooLong, expiresAt: Date.now() + 90 * DAY })
    token = (created.json() as { token: string }).token
    await browser.get('/admin/account')
    const page = await browser.post('/admin/account', { act: 'new-app' })
    const { setup, ...app } = readNewApp(page.text)
    secret = app.secret
    expect((await browser.post('/admin/account', { act: 'add-app', setup, code: wrongCode(secret) })).status).toBe(401)
    const codes = await browser.post('/admin/account', { act: 'add-app', setup, code: await firstCodeOf(secret) })
    recoveryCodes = recoveryCodesIn(codes.text)
    expect(recoveryCodes).toHaveLength(10)
    expect([await browser.isSignedIn(), await other.isSignedIn()]).toEqual([true, false])
    const basic = await call(host.url, 'GET', 'solutions', { authorization: host.admin })
    expect(problemOf(basic)).toEqual([403, 'ERR_SECOND_FACTOR_NEEDED'])
    expect((basic.json() as { detail: string }).detail).toContain('Use an API token')
  })

  test('the operator signs in with a code after the password; the password alone gives no session', async () => {
    const browser = browserAt(host)
    expect((await browser.get('/admin/second-step')).headers.location).toBe('/admin/sign-in')
    expect((await browser.signIn('/admin/audit')).headers.location).toBe('/admin/second-step')
    expect(await browser.isSignedIn()).toBe(false)
    expect((await browser.get('/admin/set-up')).headers.location).toBe('/admin/second-step')
    expect((await browser.get('/admin/second-step')).text).toContain('autocomplete="one-time-code"')
    expect((await browser.post('/admin/second-step', { code: wrongCode(secret) })).status).toBe(401)
    const foreign = { headers: { 'sec-fetch-site': 'cross-site' } }
    expect((await browser.post('/admin/second-step', { code: codeOf(secret, 0) }, foreign)).status).toBe(403)
    const right = await browser.post('/admin/second-step', { code: codeOf(secret, 0) })
    expect([right.status, right.headers.location]).toEqual([303, '/admin/audit'])
    expect(await browser.isSignedIn()).toBe(true)
    // Neither the code nor the sign-in can be used again.
    const again = browserAt(host)
    await again.signIn()
    expect((await again.post('/admin/second-step', { code: codeOf(secret, 0) })).status).toBe(401)
    const recovered = await again.post('/admin/second-step', { recovery: 'yes', code: recoveryCodes[0] ?? '' })
    expect(recovered.headers.location).toBe('/admin/tokens')
    expect((await again.post('/admin/second-step', { code: '1' })).headers.location).toBe('/admin/sign-in')
  })

  test('a token with the scope admin can do everything except manage tokens and factors, and the audit log names it', async () => {
    expect((await withToken(token, 'GET', 'users')).status).toBe(200)
    expect((await withToken(token, 'PUT', 'solutions/shop/sign-in-policy', { level: 'required' })).status).toBe(200)
    for (const [method, path] of [
      ['GET', 'tokens'],
      ['DELETE', 'tokens/x'],
      ['DELETE', `users/${uid}/factors`],
      ['POST', `users/${uid}/unlock-factors`],
      ['DELETE', 'solutions/shop/factors?uid=x'],
    ] as const) {
      expect([path, ...problemOf(await withToken(token, method, path))]).toEqual([path, 403, 'ERR_FORBIDDEN'])
    }
    const { items } = (await withToken(token, 'GET', 'audit?action=sign-in-policy')).json() as {
      items: { actor: string; outcome: string }[]
    }
    expect(items[0]).toMatchObject({ actor: expect.stringMatching(/^token:/), outcome: 'ok' })
  })

  test('changing grants, tokens and policies requires a recent confirmation with a code', async () => {
    const browser = browserAt(host)
    await browser.signIn()
    await browser.post('/admin/second-step', { recovery: 'yes', code: recoveryCodes[1] ?? '' })
    expect((await browser.api('PUT', 'solutions/shop/sign-in-policy', { level: 'optional' })).status).toBe(200)
    const clockOffsetMs = 6 * MINUTE
    expect((await withToken(token, 'POST', 'testing', { clockOffsetMs })).status).toBeLessThan(300)
    const changes = [
      ['PUT', 'solutions/shop/sign-in-policy', { level: 'off' }],
      ['PUT', 'solutions/shop/grants', { users: true }],
      ['POST', 'tokens', { name: 'x', scopes: ['health:read'] }],
      ['DELETE', 'tokens/x', undefined],
      ['DELETE', `users/${uid}/factors`, undefined],
      ['PUT', 'directories/corp', { urls: ['ldaps://dc1.corp.example'] }],
      ['DELETE', 'directories/corp', undefined],
    ] as const
    for (const [method, path, body] of changes) {
      expect([path, ...problemOf(await browser.api(method, path, body))]).toEqual([
        path,
        403,
        'ERR_CONFIRMATION_NEEDED',
      ])
    }
    // Other changes need no confirmation.
    expect((await browser.api('PATCH', `users/${uid}`, { displayName: 'Anna' })).status).toBe(200)
    const demanded = await browser.post('/admin/account', { act: 'new-codes' }, await tokenOf(browser))
    expect(demanded.headers.location).toBe('/admin/confirm?to=/admin/account')
    const page = await browser.get('/admin/confirm?to=/admin/solutions/shop/access')
    expect(page.text).toContain('autocomplete="one-time-code"')
    const to = '/admin/solutions/shop/access'
    expect((await browser.post('/admin/confirm', { to, password: ADMIN_PASSWORD })).status).toBe(401)
    const code = codeAt(secret, Date.now() + clockOffsetMs)
    expect((await browser.post('/admin/confirm', { to, code }, { token: null })).status).toBe(403)
    expect((await browser.post('/admin/confirm', { to, code })).headers.location).toBe(to)
    expect((await browser.api('PUT', 'solutions/shop/grants', { users: true })).status).toBe(200)
    expect((await browser.get('/admin/confirm?to=https://evil.example/')).text).toContain('value="/admin/"')
  })

  test('solhost admin reset-second-factor removes a lost factor, ends the sessions and is audited', async () => {
    const browser = browserAt(host)
    await browser.signIn()
    await browser.post('/admin/second-step', { recovery: 'yes', code: recoveryCodes[2] ?? '' })
    expect(await browser.isSignedIn()).toBe(true)
    const pending = browserAt(host)
    await pending.signIn()
    const reset = (at = home) =>
      runCli(['admin', 'reset-second-factor'], { cwd: folder.path, env: { PLATFORM_HOME: at } })
    expect(await reset(`${home}-wrong`)).toMatchObject({ code: 1, err: expect.stringContaining('Set PLATFORM_HOME') })
    expect(await reset()).toMatchObject({ code: 0, out: expect.stringContaining('Removed the second factor') })
    expect(await browser.isSignedIn()).toBe(false)
    expect((await pending.get('/admin/second-step')).headers.location).toBe('/admin/sign-in')
    expect((await browser.signIn()).headers.location).toBe('/admin/tokens')
    const basic = await call(host.url, 'GET', 'audit?action=factor-reset&actor=machine', { authorization: host.admin })
    expect(basic.json()).toMatchObject({ items: [{ target: 'admin', outcome: 'ok' }] })
    expect(await reset()).toMatchObject({
      code: 0,
      out: 'The admin account has no second factor. Nothing was changed.\n',
    })
  })
})

async function tokenOf(browser: ReturnType<typeof browserAt>) {
  const page = await browser.get('/admin/account')
  return { token: /name="csrf_token" value="([^"]+)"/.exec(page.text)?.[1] ?? '' }
}

test('a passkey is accepted as a second step and for a confirmation, only on the origin where it was created; a copied passkey is refused', async () => {
  await using other = await started({})
  const local = { adminUrl: other.adminUrl.replace('127.0.0.1', 'localhost') }
  const browser = browserAt(local)
  await browser.signIn()
  expect((await browser.get('/admin/account')).text).toContain('Add a passkey')
  const atAddress = browserAt(other)
  await atAddress.signIn()
  const shown = (await atAddress.get('/admin/account')).text
  expect([shown.includes('Add a passkey'), shown.includes('you can open http://localhost')]).toEqual([false, true])
  const device = createPasskeyDevice(local.adminUrl)
  const offered = passkeyOptionsIn((await browser.post('/admin/account', { act: 'new-passkey' })).text) ?? ''
  expect(JSON.parse(offered)).toMatchObject({ rp: { id: 'localhost' }, user: { name: 'admin' } })
  const forged = device.create(offered, { origin: other.url })
  expect((await browser.post('/admin/account', { act: 'add-passkey', passkey: forged })).status).toBe(401)
  const again = passkeyOptionsIn((await browser.post('/admin/account', { act: 'new-passkey' })).text) ?? ''
  const added = await browser.post('/admin/account', { act: 'add-passkey', passkey: device.create(again) })
  expect(recoveryCodesIn(added.text)).toHaveLength(10)

  const next = browserAt(local)
  expect((await next.signIn()).headers.location).toBe('/admin/second-step')
  expect((await next.get('/admin/set-up')).headers.location).toBe('/admin/second-step')
  expect((await next.post('/admin/set-up', { act: 'add-passkey', passkey: '{}' })).headers.location).toBe(
    '/admin/second-step',
  )
  const page = await next.get('/admin/second-step')
  expect(page.headers['permissions-policy']).toContain('publickey-credentials-get=(self)')
  const answer = device.get(passkeyOptionsIn(page.text) ?? '', { counter: 1 })
  // A solution's page on another port of the same host can't ask for this passkey.
  const asked = passkeyOptionsIn((await next.get('/admin/second-step')).text) ?? ''
  const elsewhere = device.get(asked, { origin: other.url.replace('127.0.0.1', 'localhost') })
  expect((await next.post('/admin/second-step', { passkey: elsewhere })).status).toBe(401)
  expect((await next.post('/admin/second-step', { passkey: answer })).headers.location).toBe('/admin/tokens')
  const confirm = passkeyOptionsIn((await next.get('/admin/confirm?to=/admin/tokens')).text) ?? ''
  expect((await next.post('/admin/confirm', { to: '/admin/tokens', passkey: answer })).status).toBe(401)
  const right = await next.post('/admin/confirm', { to: '/admin/tokens', passkey: device.get(confirm, { counter: 2 }) })
  expect(right.headers.location).toBe('/admin/tokens')

  const third = browserAt(other)
  expect((await third.signIn()).headers.location).toBe('/admin/second-step')
  const byAddress = await third.get('/admin/second-step')
  expect([passkeyOptionsIn(byAddress.text), byAddress.text.includes('Recovery code')]).toEqual([null, true])
  const copy = browserAt(local)
  await copy.signIn()
  const last = passkeyOptionsIn((await copy.get('/admin/second-step')).text) ?? ''
  const copied = await copy.post('/admin/second-step', { passkey: device.get(last, { counter: 2 }) })
  expect([copied.status, copied.text.includes('there seems to be a copy of it')]).toEqual([401, true])
  const code = recoveryCodesIn(added.text)[0] ?? ''
  expect((await copy.post('/admin/second-step', { recovery: 'yes', code })).headers.location).toBe('/admin/tokens')
  const clones = await copy.api('GET', 'audit?action=passkey-clone')
  expect(clones.json()).toMatchObject({ items: [{ actor: 'admin', outcome: 'refused' }] })
})

test('with ADMIN_SECOND_FACTOR=required, the first sign-in sets up an app, and the last one can’t be removed', async () => {
  await using strict = await started({ ADMIN_SECOND_FACTOR: 'required' })
  const basic = () => call(strict.url, 'GET', 'solutions', { authorization: strict.admin })
  expect((await basic()).status).toBe(200)
  const browser = browserAt(strict)
  expect((await browser.signIn()).headers.location).toBe('/admin/set-up')
  const { setup, secret } = readNewApp((await browser.get('/admin/set-up')).text)
  expect((await browser.post('/admin/set-up', { act: 'saved' })).headers.location).toBe('/admin/set-up')
  const codes = await browser.post('/admin/set-up', { act: 'add-app', setup, code: codeOf(secret, 0) })
  expect(recoveryCodesIn(codes.text)).toHaveLength(10)
  expect(await browser.isSignedIn()).toBe(false)
  expect((await browser.post('/admin/set-up', { act: 'saved' })).headers.location).toBe('/admin/tokens')
  expect(problemOf(await basic())).toEqual([403, 'ERR_SECOND_FACTOR_NEEDED'])
  const account = await browser.get('/admin/account')
  const id = /name="id" value="([^"]+)"/.exec(account.text)?.[1] ?? ''
  expect((await browser.post('/admin/account', { act: 'remove', id }, await tokenOf(browser))).status).toBe(409)
})

test('if ADMIN_SECOND_FACTOR=required is set while the operator is signed in, they must confirm with the password and set up a factor', async () => {
  const home = join(folder.path, 'switched')
  // The cookie's name contains the port.
  const properties = { ADMIN_PORT: String(await freePort()), CONFIRMED_FOR: '1s' }
  const before = await started(properties, { home })
  const browser = browserAt(before)
  await browser.signIn()
  await before.stop()
  await using strict = await started({ ...properties, ADMIN_SECOND_FACTOR: 'required' }, { home })
  expect(strict.adminUrl).toBe(before.adminUrl)
  const create = () => browser.api('POST', 'tokens', { name: 'x', scopes: ['health:read'] })
  await expect.poll(async () => problemOf(await create())).toEqual([403, 'ERR_CONFIRMATION_NEEDED'])
  const to = '/admin/account'
  expect((await browser.get(`/admin/confirm?to=${to}`)).text).toContain('name="password"')
  expect((await browser.post('/admin/confirm', { to, password: 'wrong' })).status).toBe(401)
  expect((await browser.post('/admin/confirm', { to, password: ADMIN_PASSWORD })).headers.location).toBe(to)
  const page = await browser.post('/admin/account', { act: 'new-app' }, await tokenOf(browser))
  expect(page.status).toBe(200)
})

test('a new admin password ends a sign-in that has not passed all steps', async () => {
  const home = join(folder.path, 'new-password')
  // The cookie's name contains the port.
  const properties = { ADMIN_PORT: String(await freePort()), ADMIN_SECOND_FACTOR: 'required' }
  const before = await started(properties, { home })
  const browser = browserAt(before)
  await browser.signIn()
  const { setup, secret } = readNewApp((await browser.get('/admin/set-up')).text)
  const codes = await browser.post('/admin/set-up', { act: 'add-app', setup, code: codeOf(secret, 0) })
  expect(codes.status).toBe(200)
  await before.stop()
  await using after = await started({ ...properties, SERVLET_PASSWORD: 'nine quiet harbours' }, { home })
  expect(after.adminUrl).toBe(before.adminUrl)
  expect((await browser.post('/admin/set-up', { act: 'saved' })).headers.location).toBe('/admin/sign-in')
  expect(await browser.isSignedIn()).toBe(false)
})

async function started(properties: Record<string, string>, more: { readonly home?: string } = {}) {
  const one = await startTestHost(properties, more)
  return Object.assign(one, { [Symbol.asyncDispose]: () => one.stop() })
}
