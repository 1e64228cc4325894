import { afterAll, beforeAll, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { readSettings } from '../../host/config/settings.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { addDefaultSolution, addUser, askAdmin, visit } from '../support/users.ts'

// PLATFORM_TESTING_MODE lets end-to-end tests change a host's clock and throttles. Without it, nobody can.

let host: TestHost
beforeAll(async () => {
  host = await startTestHost({ PLATFORM_TESTING_MODE: 'true', THROTTLE_ACCOUNT_NETWORK: '2' })
  const uploaded = await host.upload('tenant-login', await packFolder(exampleFolder('tenant-login')))
  expect(uploaded.status).toBe(201)
})
afterAll(() => host.stop())

const PAGE = '/solution/tenant-login/index.html'
const SESSION = '/solution/tenant-login/session'
const ANNA = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }
const DAY = 86_400_000

function set(state: unknown, authorization = host.admin) {
  return ask(`${host.url}/admin/api/testing`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(state),
  })
}

async function signedIn(fields: Record<string, string> = {}) {
  const visitor = createVisitor(host.url)
  await visitor.get(PAGE)
  expect((await visitor.post(PAGE, { ...ANNA, ...fields })).status).toBe(303)
  return visitor
}

test('testing mode: moving the clock forward ends an idle session, and has no other effect', async () => {
  const visitor = await signedIn()
  expect((await set({ clockOffsetMs: 29 * 60_000 })).json()).toEqual({ clockOffsetMs: 29 * 60_000, throttles: true })
  expect((await visitor.get(SESSION)).status).toBe(200)
  await set({ clockOffsetMs: 60 * 60_000 })
  expect((await visitor.get(SESSION)).status).toBe(401)
  await set({ clockOffsetMs: 0 })
})

test('testing mode: a remembered login is valid after six days and expired after eight', async () => {
  const visitor = await signedIn({ remember: 'on' })
  await set({ clockOffsetMs: 6 * DAY })
  // The example's script requires the tenant in each request.
  const page = `${PAGE}?custom_tenant=acme`
  expect((await visitor.get(page)).text).toContain('Signed in as anna')
  await set({ clockOffsetMs: 8 * DAY })
  expect((await visitor.get(page)).text).not.toContain('Signed in as anna')
  await set({ clockOffsetMs: 0 })
})

test('testing mode: a grace period ends even if the browser has never opened the set-up page', async () => {
  await addDefaultSolution(host, 'club')
  await askAdmin(host, 'PUT', 'solutions/club/sign-in-policy', { level: 'required', graceDays: 3 })
  await addUser(host, 'gus')
  async function postpone() {
    const browser = await visit(host, 'club')
    await browser.signIn('gus')
    return (await browser.post('/solution/club/set-up', { act: 'later' })).headers.location
  }
  expect(await postpone()).toBe('/solution/club/index.html')
  await set({ clockOffsetMs: 2 * DAY })
  expect(await postpone()).toBe('/solution/club/index.html')
  await set({ clockOffsetMs: 4 * DAY })
  expect(await postpone()).toBe('/solution/club/set-up')
  await set({ clockOffsetMs: 0 })
})

test('testing mode: throttles can be turned off and on', async () => {
  const visitor = createVisitor(host.url)
  await visitor.get(PAGE)
  const wrong = async () => (await visitor.post(PAGE, { ...ANNA, username: 'nobody', password: 'wrong' })).status
  expect([await wrong(), await wrong(), await wrong()]).toEqual([401, 401, 429])
  await set({ throttles: false })
  expect([await wrong(), await wrong()]).toEqual([401, 401])
  await set({ throttles: true })
  expect(await wrong()).toBe(429)
})

test.each([
  { clockOffsetMs: -1 },
  { clockOffsetMs: 1.5 },
  { clockOffsetMs: 400 * DAY },
  { throttles: 'no' },
  { other: 1 },
])('testing mode: %j is rejected', async (state) => {
  expect((await set(state)).status).toBe(422)
})

test('testing mode: only the admin account can change it, and changes are recorded in the audit log', async () => {
  const made = await ask(`${host.url}/admin/api/tokens`, {
    method: 'POST',
    headers: { authorization: host.admin, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'ci', scopes: ['solutions:*:write', 'users:write'] }),
  })
  const { token } = made.json() as { token: string }
  expect((await set({ throttles: false }, `Bearer ${token}`)).status).toBe(403)
  const audit = await ask(`${host.url}/admin/api/audit?action=testing&limit=1`, {
    headers: { authorization: host.admin },
  })
  expect(audit.json()).toMatchObject({ items: [{ action: 'testing', outcome: 'ERR_FORBIDDEN' }] })
})

test('testing mode: a host without testing mode does not have the route', async () => {
  const own = await startTestHost()
  const answer = await ask(`${own.url}/admin/api/testing`, {
    method: 'POST',
    headers: { authorization: own.admin, 'content-type': 'application/json' },
    body: '{"throttles":false}',
  })
  expect([answer.status, (answer.json() as { code: string }).code]).toEqual([404, 'ERR_NOT_FOUND'])
  await own.stop()
})

test('testing mode: a Satellite that other machines can reach does not start in testing mode', () => {
  const onprem = { PLATFORM_TESTING_MODE: 'true', ENVIRONMENT: 'onprem', SERVLET_PASSWORD: 'x' }
  expect(() => readSettings({ ...onprem, HOST: '0.0.0.0' })).toThrow('PLATFORM_TESTING_MODE must not be true')
  expect(readSettings({ ...onprem, HOST: '127.0.0.1' }).isTesting).toBe(true)
  expect(() => readSettings({ PLATFORM_TESTING_MODE: 'yes' })).toThrow('PLATFORM_TESTING_MODE must be true or false')
})
