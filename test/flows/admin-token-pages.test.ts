import { afterAll, beforeAll, expect, test } from 'vitest'
import { NAVIGATION } from '../support/admin.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { type Answer, ask } from '../support/http.ts'
import { bundleOf } from '../support/zip.ts'

let host: TestHost
beforeAll(async () => {
  host = await startTestHost({ ADMIN_FAILURES: '1000', PLATFORM_TESTING_MODE: 'true' })
  for (const name of ['shop', 'crm']) await host.upload(name, await bundleOf({ name, authenticator: 'NONE' }))
})
afterAll(() => host.stop())

type Token = { readonly id: string; readonly token: string }

async function createToken(scopes: readonly string[], more: object = {}): Promise<Token> {
  const made = await ask(`${host.url}/admin/api/tokens`, {
    method: 'POST',
    headers: { authorization: host.admin, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'workbench author', scopes, ...more }),
  })
  return made.json() as Token
}

function signIn(token: string, more: Record<string, string> = {}): Promise<Answer> {
  return ask(`${host.adminUrl}/admin/sign-in/token`, {
    method: 'POST',
    headers: { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token, ...more }).toString(),
  })
}

async function cookieOf(token: string): Promise<string> {
  const answer = await signIn(token)
  expect(answer.status).toBe(303)
  return (answer.headers['set-cookie'] ?? [])[0]?.split(';', 1)[0] ?? ''
}

const getPage = (path: string, cookie: string) => ask(`${host.adminUrl}${path}`, { headers: { ...NAVIGATION, cookie } })

const callApi = (method: string, path: string, headers: Record<string, string>) =>
  ask(`${host.adminUrl}/admin/api/${path}`, { method, headers: { 'sec-fetch-site': 'same-origin', ...headers } })

const csrfIn = ({ text }: Answer) => /name="csrf-token" content="([^"]+)"/.exec(text)?.[1] ?? ''

test('token sign-in: it redirects to the requested page, and to no other site', async () => {
  const { token } = await createToken(['solutions:shop:write'])
  const answer = await signIn(token, { to: '/admin/solutions/shop/log' })
  expect([answer.status, answer.headers.location]).toEqual([303, '/admin/solutions/shop/log'])
  expect((await signIn(token, { to: 'https://evil.example/' })).headers.location).toBe('/admin/')
})

test('token sign-in: an unknown token gets 401, no cookie, and is not shown again', async () => {
  const answer = await signIn(`sol_${'A'.repeat(43)}`)
  expect([answer.status, answer.headers['set-cookie']]).toEqual([401, undefined])
  expect(answer.text).toContain('The API token is unknown, revoked or expired.')
  expect(answer.text).not.toContain('AAAA')
})

test('token sign-in: a form of another site is rejected', async () => {
  const { token } = await createToken(['solutions:shop:write'])
  const answer = await ask(`${host.adminUrl}/admin/sign-in/token`, {
    method: 'POST',
    headers: { ...NAVIGATION, 'sec-fetch-site': 'cross-site', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token }).toString(),
  })
  expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined])
})

test('token sign-in: failures are throttled together with those of the admin account', async () => {
  const strict = await startTestHost({ ADMIN_FAILURES: '2' })
  const attempt = () =>
    ask(`${strict.adminUrl}/admin/sign-in/token`, {
      method: 'POST',
      headers: { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token: `sol_${'B'.repeat(43)}` }).toString(),
    })
  try {
    expect([(await attempt()).status, (await attempt()).status]).toEqual([401, 401])
    const throttled = await attempt()
    expect(throttled.status).toBe(429)
    expect(Number(throttled.headers['retry-after'])).toBeGreaterThan(0)
  } finally {
    await strict.stop()
  }
})

test('a token for `shop` gives access only to `shop`: in the list, on the pages and in the API', async () => {
  const cookie = await cookieOf((await createToken(['solutions:shop:write'])).token)
  const list = await getPage('/admin/', cookie)
  expect(list.status).toBe(200)
  expect(list.text).toContain('href="/admin/solutions/shop"')
  expect(list.text).not.toContain('/admin/solutions/crm')
  expect(list.text).not.toContain('href="/admin/users"')
  expect(list.text).not.toContain('href="/admin/account"')
  const tabs = ['', '/versions', '/log', '/login-page', '/api', '/jobs', '/diff', '/workbench']
  for (const tab of tabs) {
    expect([tab, (await getPage(`/admin/solutions/shop${tab}`, cookie)).status]).toEqual([tab, 200])
    expect([tab, (await getPage(`/admin/solutions/crm${tab}`, cookie)).status]).toEqual([tab, 403])
    // The response is the same for a solution that doesn't exist, so the token doesn't reveal which solutions exist.
    expect([tab, (await getPage(`/admin/solutions/none${tab}`, cookie)).status]).toEqual([tab, 403])
  }
  const headers = { cookie, 'x-csrf-token': csrfIn(list) }
  expect((await callApi('GET', 'solutions/shop/log', headers)).status).toBe(200)
  expect((await callApi('GET', 'solutions/crm/log', headers)).status).toBe(403)
  expect((await callApi('DELETE', 'solutions/crm', headers)).status).toBe(403)
  expect((await callApi('GET', 'solutions/shop/log', { ...headers, 'sec-fetch-site': 'cross-site' })).status).toBe(403)
})

test('pages without a scope are for the admin account only, even for a token with the scope admin', async () => {
  const week = 7 * 86_400_000
  const { token } = await createToken(['admin', 'users:write', 'audit:read'], { expiresAt: Date.now() + week })
  const cookie = await cookieOf(token)
  expect((await getPage('/admin/', cookie)).text).toContain('href="/admin/solutions/crm"')
  const paths = [
    'users',
    'users/new',
    'users/import',
    'directories',
    'sessions',
    'tokens',
    'tokens/new',
    'audit',
    'health',
  ]
  const others = ['health.json', 'maintenance', 'settings', 'account', 'confirm', 'solutions/crm/access']
  for (const path of [...paths, ...others, 'solutions/crm/oauth']) {
    const isData = path.endsWith('.json')
    const headers = isData ? { cookie, 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' } : undefined
    const url = `/admin/${path}`
    const answer = headers ? await ask(`${host.adminUrl}${url}`, { headers }) : await getPage(url, cookie)
    expect([path, answer.status]).toEqual([path, 403])
  }
})

test('the overview shows sign-ins only to tokens that may read the audit log', async () => {
  const without = await cookieOf((await createToken(['solutions:shop:read'])).token)
  const having = await cookieOf((await createToken(['solutions:shop:read', 'audit:read'])).token)
  expect((await getPage('/admin/solutions/shop', without)).text).not.toContain('id="sign-ins"')
  expect((await getPage('/admin/solutions/shop', having)).text).toContain('id="sign-ins"')
})

test('the session ends immediately when the token is deleted, for pages and for the API', async () => {
  const { id, token } = await createToken(['solutions:shop:write'])
  const cookie = await cookieOf(token)
  const csrf = csrfIn(await getPage('/admin/', cookie))
  const deleted = await ask(`${host.url}/admin/api/tokens/${id}`, {
    method: 'DELETE',
    headers: { authorization: host.admin },
  })
  expect(deleted.status).toBe(204)
  const page = await getPage('/admin/solutions/shop', cookie)
  expect([page.status, page.headers.location]).toEqual([302, '/admin/sign-in?to=%2Fadmin%2Fsolutions%2Fshop'])
  expect((await callApi('GET', 'solutions/shop/log', { cookie, 'x-csrf-token': csrf })).status).toBe(401)
})

test('the audit log names the token, for the sign-in and for what its session does', async () => {
  const { id, token } = await createToken(['solutions:shop:write'])
  const cookie = await cookieOf(token)
  const csrf = csrfIn(await getPage('/admin/', cookie))
  await callApi('DELETE', `solutions/shop/versions/${'0'.repeat(64)}`, { cookie, 'x-csrf-token': csrf })
  const audit = await ask(`${host.url}/admin/api/audit?actor=token:${id}`, { headers: { authorization: host.admin } })
  const { items } = audit.json() as { items: { action: string; outcome: string }[] }
  // Sign-ins are recorded in batches, so their order may vary.
  expect(items.map(({ action, outcome }) => [action, outcome]).sort()).toEqual([
    ['admin-sign-in', 'ok'],
    ['solution-version-delete', 'ERR_VERSION_NOT_FOUND'],
  ])
})
