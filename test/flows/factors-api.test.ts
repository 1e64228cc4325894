import { beforeAll, expect, test } from 'vitest'
import { addApp, codeOf, readNewApp } from '../support/authenticator-app.ts'
import { ask } from '../support/http.ts'
import { sharedHost } from '../support/shared-host.ts'
import { addAuthenticatorSolution, addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'

let host: Awaited<ReturnType<typeof sharedHost>>
beforeAll(async () => {
  host = await sharedHost()
  await addDefaultSolution(host, 'store')
  await addDefaultSolution(host, 'strict')
  await askAdmin(host, 'PUT', 'solutions/strict/sign-in-policy', { level: 'required' })
  const script = `function onSolutionOpen(arg, q) {
    if (q.password === '${PASSWORD}' || q.last_login) security.login(q.username, 'u-1', ['Users'])
  }`
  for (const name of ['scripted', 'scripted-too']) await addAuthenticatorSolution(host, name, script)
})

async function send(method: string, path: string) {
  const answer = await ask(`${host.url}/admin/api/${path}`, { method, headers: { authorization: host.admin } })
  return [answer.status, answer.text === '' ? null : (answer.json() as Record<string, unknown>)] as const
}

async function lastReset() {
  const { items } = await askAdmin(host, 'GET', 'audit?action=factor-reset&limit=1')
  const [{ actor, outcome, target, solution } = {}] = items as Record<string, unknown>[]
  return { actor, outcome, target, solution }
}

/** Signs in with "remember" and adds an authenticator app. @returns the browser */
async function signInWithApp(solution: string, username: string) {
  const browser = await visit(host, solution)
  await browser.signIn(username, PASSWORD, { remember: 'on' })
  await addApp(browser, solution)
  return browser
}

const NONE = { factors: [], isAppLocked: false, recoveryCodesLeft: 0 }
const APP = {
  factors: [
    {
      id: expect.any(String),
      kind: 'app',
      name: 'Authenticator app',
      rpId: null,
      isSynced: false,
      refusedAt: null,
      createdAt: expect.any(Number),
      lastUsedAt: expect.toSatisfy((at) => at === null || typeof at === 'number'),
    },
  ],
  isAppLocked: false,
  recoveryCodesLeft: 10,
}

test('factors of a user: the API shows them without secrets, and a reset removes them and signs the user out', async () => {
  const uid = await addUser(host, 'frida')
  expect(await send('GET', `users/${uid}/factors`)).toEqual([200, NONE])
  const browser = await signInWithApp('store', 'frida')
  expect(await send('GET', `users/${uid}/factors`)).toEqual([200, APP])
  expect(await send('GET', `users/${uid}`)).toMatchObject([200, { factors: 1 }])
  expect(await send('GET', 'users?search=frida')).toMatchObject([200, { items: [{ username: 'frida', factors: 1 }] }])

  expect(await send('DELETE', `users/${uid}/factors`)).toEqual([204, null])
  expect(await lastReset()).toMatchObject({ actor: 'admin', outcome: 'ok', target: 'user:frida' })
  expect(await send('GET', `users/${uid}/factors`)).toEqual([200, NONE])
  expect((await browser.session()).status).toBe(401)
  browser.close()
  expect((await browser.open()).text).toContain('name="password"')
  expect((await browser.signIn('frida')).headers.location).toBe('/solution/store/index.html')
})

test('factors of a user: one can be removed, and the recovery codes are removed with the last one', async () => {
  const uid = await addUser(host, 'gitte')
  const browser = await signInWithApp('store', 'gitte')
  expect(await send('DELETE', `users/${uid}/factors/other`)).toMatchObject([404, { code: 'ERR_NOT_FOUND' }])
  expect((await browser.session()).status).toBe(200)
  const set = await askAdmin(host, 'GET', `users/${uid}/factors`)
  const [{ id } = { id: '' }] = set.factors as { id: string }[]
  expect(await send('DELETE', `users/${uid}/factors/${id}`)).toEqual([204, null])
  expect(await send('GET', `users/${uid}/factors`)).toEqual([200, NONE])
  expect((await browser.session()).status).toBe(401)
})

test.each([
  ['removes the factors', 'DELETE', '/factors', undefined],
  ['signs the user out', 'POST', '/sign-out', undefined],
  ['disables the user', 'PATCH', '', { enabled: false }],
])('a sign-in in which a factor was set up ends if the operator %s', async (act, method, path, body) => {
  const username = `hanna who ${act}`
  const uid = await addUser(host, username)
  const browser = await visit(host, 'strict')
  await browser.signIn(username)
  const { setup, secret } = readNewApp((await browser.get('/solution/strict/set-up')).text)
  const setUp = (fields: Record<string, string>) => browser.post('/solution/strict/set-up', fields)
  expect((await setUp({ act: 'add-app', setup, code: codeOf(secret, 0) })).status).toBe(200)
  await askAdmin(host, method, `users/${uid}${path}`, body, method === 'PATCH' ? 200 : 204)
  expect((await setUp({ act: 'saved' })).status).toBe(410)
  expect((await browser.session()).status).toBe(401)
})

test('adding a factor ends the account’s other sign-ins', async () => {
  await addUser(host, 'liv')
  const [browser, other] = [await visit(host, 'store'), await visit(host, 'strict')]
  await browser.signIn('liv')
  expect((await other.signIn('liv')).headers.location).toBe('/solution/strict/set-up')
  await addApp(browser, 'store')
  expect((await other.get('/solution/strict/set-up')).status).toBe(410)
})

test('factors of a user: all routes return 404 for an unknown user', async () => {
  const unknown = [404, { code: 'ERR_USER_NOT_FOUND' }]
  expect(await send('GET', 'users/no-such-uid/factors')).toMatchObject(unknown)
  expect(await send('DELETE', 'users/no-such-uid/factors')).toMatchObject(unknown)
  expect(await lastReset()).toMatchObject({ outcome: 'ERR_USER_NOT_FOUND', target: 'uid:no-such-uid' })
  expect(await send('DELETE', 'users/no-such-uid/factors/id')).toMatchObject(unknown)
  expect(await send('POST', 'users/no-such-uid/unlock-factors')).toMatchObject(unknown)
})

test('factors of a solution’s own account: a reset doesn’t affect another solution’s account with the same uid', async () => {
  const browser = await signInWithApp('scripted', 'anyone')
  const other = await signInWithApp('scripted-too', 'anyone')
  const path = 'solutions/scripted/factors?uid=u-1'
  expect(await send('GET', path)).toEqual([200, { ...APP, source: 'script' }])
  const none = [404, { code: 'ERR_NOT_FOUND' }]
  expect(await send('GET', 'solutions/scripted/factors?uid=u-2')).toMatchObject(none)
  expect(await send('GET', `${path}&source=provider`)).toMatchObject(none)
  expect(await send('GET', `${path}&source=users`)).toMatchObject([422, { code: 'ERR_REQUEST_INVALID' }])
  expect(await send('GET', 'solutions/scripted/factors')).toMatchObject([422, { code: 'ERR_REQUEST_INVALID' }])
  expect(await send('GET', 'solutions/none/factors?uid=u-1')).toMatchObject([404, { code: 'ERR_SOLUTION_NOT_FOUND' }])
  expect(await send('POST', 'solutions/scripted/unlock-factors?uid=u-1')).toEqual([204, null])

  expect(await send('DELETE', path)).toEqual([204, null])
  expect(await lastReset()).toMatchObject({ outcome: 'ok', target: 'uid:u-1', solution: 'scripted' })
  expect(await send('DELETE', path)).toMatchObject(none)
  expect((await browser.session()).status).toBe(401)
  browser.close()
  expect((await browser.open()).text).toContain('name="password"')
  expect((await other.session()).status).toBe(200)
  expect(await send('GET', 'solutions/scripted-too/factors?uid=u-1')).toEqual([200, { ...APP, source: 'script' }])
})
