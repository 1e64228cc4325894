import { afterAll, beforeAll, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { addAuthenticatorSolution, addDefaultSolution, addUser, askAdmin, visit } from '../support/users.ts'

let host: TestHost
/** Like `host`, but with a grace period of 1 ms, so that any second use is treated as theft. */
let strict: TestHost
beforeAll(async () => {
  host = await startTestHost()
  strict = await startTestHost({ REMEMBER_GRACE: '1ms' })
  for (const one of [host, strict]) {
    await addDefaultSolution(one, 'crm')
    await addUser(one, 'anna')
  }
  await addAuthenticatorSolution(host, 'auth', AUTHENTICATOR)
  await addAuthenticatorSolution(host, 'tenants', TENANTS)
})
afterAll(async () => {
  await host.stop()
  await strict.stop()
})

const AUTHENTICATOR = `function onSolutionOpen(arg, q) {
  if (q.username === 'admin') {
    if (q.last_login || q.password === 'right') security.login(q.username, q.username, ['Users'])
    return
  }
  if (q.username === 'throws') { if (q.last_login) throw new Error('not now') }
  if (q.last_login) {
    if (q.password !== undefined) return
    const { uid, permissions, last_login, username } = q.last_login
    if (username === 'gone' || uid !== 'u-' + q.username) return
    security.login(q.username, uid, permissions.concat('Remembered'))
    security.setTenantValue([Date.now() - last_login])
  } else if (q.password === 'sesame') security.login(q.username, 'u-' + q.username, ['Users'])
}`

const TENANTS = `function onSolutionOpen(arg, q) {
  application.output('asked ' + JSON.stringify([q, i18n.getCurrentLanguage()]))
  if (q.password !== 'sesame' && !q.last_login) return
  security.login(q.username, q.username === 'heir' && q.last_login ? 'another' : 'u-1', ['Users'])
  const last = q.last_login
  if (last) {
    if (q.username === 'moves') security.setTenantValue('globex')
    return
  }
  security.setTenantValue([q.custom_tenant, -1])
  i18n.setLocale('nl', 'BE')
}`

async function remembered(on: TestHost, solution = 'crm', username = 'anna', password?: string) {
  const browser = await visit(on, solution)
  expect((await browser.signIn(username, password, { remember: 'on' })).status).toBe(303)
  browser.close()
  return browser
}

test('a remembered browser is signed in without the login page, each time with a new cookie', async () => {
  const browser = await remembered(host)
  const first = browser.cookie('remember')
  const page = await browser.open()
  expect(page.status).toBe(200)
  expect(page.text).not.toContain('name="password"')
  expect(page.text).toContain('Signed in as anna')
  expect((await browser.session()).status).toBe(200)
  expect(browser.cookie('remember')).not.toBe(first)
  const line = page.headers['set-cookie']?.find((one) => one.startsWith('remember-crm='))
  expect(line).toMatch(/httponly/i)
  expect(line).toMatch(/samesite=lax/i)
})

test('without the checkbox, the browser is not remembered', async () => {
  const browser = await visit(host, 'crm')
  await browser.signIn('anna')
  expect(browser.cookie('remember')).toBeUndefined()
  browser.close()
  expect((await browser.open()).text).toContain('name="password"')
})

test('two tabs opened at the same time are both signed in', async () => {
  const browser = await remembered(host)
  const pages = await Promise.all([browser.open(), browser.open(), browser.open()])
  expect(pages.map(({ text }) => text.includes('Signed in as anna'))).toEqual([true, true, true])
  browser.close()
  expect((await browser.open()).text).toContain('Signed in as anna')
})

test('using a stolen cookie ends the remembered login and every session created from it, and is recorded in the audit log', async () => {
  const owner = await remembered(strict)
  const stolen = owner.cookie('remember') ?? ''
  const other = await visit(strict, 'crm')
  await other.signIn('anna')
  await owner.open()
  await new Promise((resolve) => setTimeout(resolve, 5))
  const thief = await visit(strict, 'crm')
  thief.cookies.set('remember-crm', { value: stolen, path: '/solution/crm/' })
  thief.close()
  expect((await thief.open()).text).toContain('name="password"')
  expect((await owner.session()).status).toBe(401)
  owner.close()
  expect((await owner.open()).text).toContain('name="password"')
  expect((await other.session()).status).toBe(200)
  const { items } = await askAdmin(strict, 'GET', 'audit?limit=50&action=remembered-theft')
  expect(items).toMatchObject([{ actor: 'user:anna', outcome: 'refused', solution: 'crm' }])
})

test('signing out ends the browser’s remembered login; the user’s other browsers stay remembered', async () => {
  const other = await remembered(host)
  const browser = await remembered(host)
  await browser.open()
  const kept = browser.cookie('remember') ?? ''
  await browser.logOut()
  expect(browser.cookie('remember')).toBeUndefined()
  browser.cookies.set('remember-crm', { value: kept, path: '/solution/crm/' })
  expect((await browser.open()).text).toContain('name="password"')
  expect((await other.open()).text).toContain('Signed in as anna')
})

test('neither the page after signing out nor a prefetch signs the user in automatically', async () => {
  const browser = await remembered(host)
  const before = browser.cookie('remember')
  expect((await browser.get(`${browser.page}?signed-out`)).text).toContain('You are signed out')
  expect((await browser.open({ 'sec-purpose': 'prefetch;prerender' })).text).toContain('name="password"')
  expect((await browser.get('/solution/crm/session')).status).toBe(401)
  expect(browser.cookie('remember')).toBe(before)
})

test('the authenticator is called again with last_login, and its result decides', async () => {
  const browser = await remembered(host, 'auth', 'bea', 'sesame')
  await browser.open()
  const session = (await browser.session()).json() as { permissions: string[]; tenant: number[] }
  expect(session).toMatchObject({ username: 'bea', uid: 'u-bea', permissions: ['Users', 'Remembered'] })
  expect(session.tenant[0]).toBeGreaterThanOrEqual(0)
  const gone = await remembered(host, 'auth', 'gone', 'sesame')
  expect((await gone.open()).text).toContain('name="password"')
  expect(gone.cookie('remember')).toBeUndefined()
})

test('an error in the authenticator leaves the cookie and the remembered login unchanged', async () => {
  const browser = await remembered(host, 'auth', 'throws', 'sesame')
  const before = browser.cookie('remember')
  const page = await browser.open()
  expect(page.status).toBe(200)
  expect(page.text).toContain('Something went wrong during sign-in')
  expect(browser.cookie('remember')).toBe(before)
  expect((await browser.open()).text).toContain('Something went wrong during sign-in')
})

test('a remembered login checks again whether the user is disabled, and which permissions they have', async () => {
  const uid = await addUser(host, 'carl', { permissions: ['Users'] })
  const browser = await remembered(host, 'crm', 'carl')
  await askAdmin(host, 'PATCH', `users/${uid}`, { permissions: ['Users', 'Editors'] })
  await browser.open()
  expect((await browser.session()).json()).toMatchObject({ permissions: ['Editors', 'Users'] })
  browser.close()
  await askAdmin(host, 'PATCH', `users/${uid}`, { enabled: false })
  expect((await browser.open()).text).toContain('name="password"')
})

test('a remembered login is valid for one solution only', async () => {
  await addDefaultSolution(host, 'other')
  const browser = await remembered(host)
  const stranger = await visit(host, 'other')
  stranger.cookies.set('remember-other', { value: browser.cookie('remember') ?? '', path: '/solution/other/' })
  expect((await stranger.open()).text).toContain('name="password"')
  expect((await browser.open()).text).toContain('Signed in as anna')
})

test('a new sign-in without the checkbox removes the previous remembered login', async () => {
  const browser = await remembered(host)
  const before = browser.cookie('remember') ?? ''
  await browser.get(`${browser.page}?signed-out`)
  await browser.open({ 'sec-purpose': 'prefetch' })
  expect((await browser.signIn('anna')).status).toBe(303)
  expect(browser.cookie('remember')).toBeUndefined()
  browser.close()
  browser.cookies.set('remember-crm', { value: before, path: '/solution/crm/' })
  expect((await browser.open()).text).toContain('name="password"')
})

test('only the platform sets last_login: a form or URL that contains it does not sign anyone in', async () => {
  const browser = await visit(host, 'auth')
  expect((await browser.signIn('admin', 'wrong', { last_login: '1' })).status).toBe(401)
  const fields = { username: 'admin', password: 'wrong' }
  expect((await browser.post('/solution/auth/index.html?last_login=1', fields)).status).toBe(401)
})

test('deleting a solution removes its remembered logins, even if it is uploaded again', async () => {
  await addDefaultSolution(host, 'again')
  const browser = await visit(host, 'again')
  await browser.signIn('anna', undefined, { remember: 'on' })
  await askAdmin(host, 'DELETE', 'solutions/again', undefined, 204)
  await addDefaultSolution(host, 'again', { version: '2.0.0' })
  browser.close()
  expect((await browser.open()).text).toContain('name="password"')
})

test('if an operator ends a session, its remembered login ends too, even if that login created the session', async () => {
  for (const comesBack of [false, true]) {
    const browser = await visit(host, 'crm')
    await browser.signIn('anna', undefined, { remember: 'on' })
    if (comesBack) {
      browser.close()
      expect((await browser.open()).status).toBe(200)
    }
    expect((await browser.session()).status).toBe(200)
    const { items } = await askAdmin(host, 'GET', 'sessions?solution=crm&limit=1000')
    const newest = (items as { id: string; createdAt: number }[]).sort((a, b) => b.createdAt - a.createdAt)[0]
    await askAdmin(host, 'DELETE', `sessions/${newest?.id}`, undefined, 204)
    browser.close()
    expect((await browser.session()).status).toBe(401)
    expect((await browser.open()).text).toContain('name="password"')
    expect((await browser.session()).status).toBe(401)
  }
})

/** @returns the arguments of the authenticator's last call, from the solution's log */
async function lastAsked(solution: string) {
  const { items } = await askAdmin(host, 'GET', `solutions/${solution}/log`)
  const line = (items as { message: string }[]).findLast(({ message }) => message.startsWith('asked '))
  return JSON.parse(line?.message.slice('asked '.length) ?? 'null')
}

test('when a remembered user returns, the authenticator gets the custom fields, tenant and locale from the sign-in', async () => {
  const browser = await visit(host, 'tenants')
  const fields = { remember: 'on', custom_tenant: 'acme', custom_empty: '' }
  expect(
    (await browser.post(`${browser.page}?custom_desk=7`, { username: 'bea', password: 'sesame', ...fields })).status,
  ).toBe(303)
  browser.close()
  // The new URL contains another tenant, and a field that the sign-in did not have.
  await browser.get(`${browser.page}?custom_tenant=globex&custom_role=all&page=2`, { 'accept-language': 'de' })
  const [params, language] = await lastAsked('tenants')
  expect([params, language]).toEqual([
    {
      page: '2',
      custom_desk: '[custom_desk]',
      custom_tenant: '[custom_tenant]',
      custom_empty: '',
      username: 'bea',
      last_login: {
        last_login: expect.any(Number),
        uid: 'u-1',
        username: 'bea',
        permissions: ['Users'],
        tenant: ['[custom_tenant]', -1],
        locale: 'nl-BE',
      },
    },
    'nl',
  ])
})

test('a remembered user who returns keeps the tenant and locale from the sign-in if the script sets none, at every return', async () => {
  const browser = await visit(host, 'tenants')
  await browser.signIn('bea', 'sesame', { remember: 'on', custom_tenant: 'acme' })
  for (const _ of [1, 2]) {
    browser.close()
    await browser.open({ 'accept-language': 'de' })
    expect((await browser.session()).json()).toMatchObject({ tenant: ['acme', -1], locale: 'nl-BE' })
  }
})

test('a tenant that the script sets when a remembered user returns applies from then on; a different uid is not signed in', async () => {
  const browser = await visit(host, 'tenants')
  await browser.signIn('moves', 'sesame', { remember: 'on', custom_tenant: 'acme' })
  browser.close()
  await browser.open()
  expect((await browser.session()).json()).toMatchObject({ tenant: ['globex'], locale: 'nl-BE' })
  expect((await lastAsked('tenants'))[0].last_login.tenant).toEqual(['[custom_tenant]', -1])
  browser.close()
  await browser.open()
  expect((await lastAsked('tenants'))[0].last_login.tenant).toEqual(['globex'])
  const heir = await visit(host, 'tenants')
  await heir.signIn('heir', 'sesame', { remember: 'on', custom_tenant: 'acme' })
  heir.close()
  await heir.open({ 'accept-language': 'en' })
  expect((await heir.session()).status).toBe(401)
  expect(heir.cookie('remember')).toBeUndefined()
})

test('tenant-login: a remembered user returns with the same tenant and language', async () => {
  const uploaded = await host.upload('tenant-login', await packFolder(exampleFolder('tenant-login')))
  expect(uploaded.status).toBe(201)
  const browser = await visit(host, 'tenant-login')
  const bram = { remember: 'on', custom_tenant: 'van-dijk' }
  expect((await browser.signIn('bram', 'bram-tries-van-dijk', bram)).status).toBe(303)
  for (const _ of [1, 2]) {
    browser.close()
    await browser.open()
    expect((await browser.session()).json()).toMatchObject({ uid: 'v-1', tenant: ['van-dijk', -1], locale: 'nl-BE' })
  }
})
