import { beforeAll, expect, test } from 'vitest'
import { ask } from '../support/http.ts'
import { sharedHost } from '../support/shared-host.ts'
import { addAuthenticatorSolution, visit } from '../support/users.ts'
import { bundleOf } from '../support/zip.ts'

let host: Awaited<ReturnType<typeof sharedHost>>
beforeAll(async () => {
  host = await sharedHost()
  const signIn = { secondFactor: 'required', requiredFor: ['Administrators'] }
  const manifest = { name: 'policies', permissions: ['Administrators', 'Users'], signIn }
  expect((await host.upload('policies', await bundleOf(manifest))).status).toBe(201)
})

async function send(method: string, body?: unknown, name = 'policies') {
  const answer = await ask(`${host.url}/admin/api/solutions/${name}/sign-in-policy`, {
    method,
    headers: { authorization: host.admin, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return [answer.status, answer.text === '' ? null : (answer.json() as Record<string, unknown>)] as const
}

const OF_MANIFEST = {
  level: 'required',
  requiredFor: ['Administrators'],
  graceDays: 0,
  setUpByLink: false,
  source: 'manifest',
  warnings: [],
}

test('sign-in policy: the operator replaces the manifest’s policy, until the policy is deleted', async () => {
  expect(await send('GET')).toEqual([200, OF_MANIFEST])
  const all = {
    level: 'required',
    requiredFor: null,
    graceDays: 30,
    setUpByLink: false,
    source: 'operator',
    warnings: [],
  }
  expect(await send('PUT', { level: 'required', graceDays: 30 })).toEqual([200, all])
  expect(await send('GET')).toEqual([200, all])
  const off = { level: 'off', requiredFor: null, graceDays: 0, setUpByLink: false, source: 'operator', warnings: [] }
  expect(await send('PUT', { level: 'off' })).toEqual([200, off])
  expect(await send('DELETE')).toEqual([204, null])
  expect(await send('DELETE')).toMatchObject([404, { code: 'ERR_NOT_FOUND' }])
  expect(await send('GET')).toEqual([200, OF_MANIFEST])
  expect(await send('GET', undefined, 'no-such-solution')).toMatchObject([404, { code: 'ERR_SOLUTION_NOT_FOUND' }])
})

test('sign-in policy: a permission that nobody can have causes a warning', async () => {
  const [status, body] = await send('PUT', { level: 'required', requiredFor: ['Administrators', 'Root'] })
  expect(status).toBe(200)
  expect(body?.warnings).toEqual([
    {
      code: 'permission_unlisted',
      message:
        'The solution’s manifests don’t list the permission "Root", so it has no effect in the policy. Check the name, or add the permission to a manifest.',
    },
  ])
  expect((await send('DELETE'))[0]).toBe(204)
})

test.each([
  [{ level: 'on' }, 'level: must be one of off, optional, required, passkey'],
  [{ level: 'optional', requiredFor: ['Users'] }, 'requiredFor: requires "level" to be "required" or "passkey"'],
  [{ level: 'optional', graceDays: 1 }, 'graceDays: requires "level" to be "required" or "passkey"'],
  [{ level: 'required', requiredFor: [] }, 'requiredFor: must list at least one permission'],
  [{ level: 'required', graceDays: 31 }, 'graceDays: must be a whole number from 0 to 30'],
  [{ level: 'required', graceDays: 0.5 }, 'graceDays: must be a whole number from 0 to 30'],
  [{ level: 'required', remind: true }, 'unknown property "remind"'],
])('sign-in policy: %o is refused, and the policy in force stays', async (policy, message) => {
  const [status, body] = await send('PUT', policy)
  expect([status, body?.code]).toEqual([422, 'ERR_REQUEST_INVALID'])
  expect(body?.detail).toBe(message)
  expect(await send('GET')).toEqual([200, OF_MANIFEST])
})

test('sign-in policy: a script requires a second factor for one of its users, even if the operator’s policy is off', async () => {
  const script = `function onSolutionOpen(arg, { username }) {
    if (username === 'bram') security.requireSecondFactor()
    security.login(username, username, ['Users'])
  }`
  await addAuthenticatorSolution(host, 'payments', script, { permissions: ['Users'] })
  expect((await send('PUT', { level: 'off' }, 'payments'))[0]).toBe(200)
  const [anna, bram] = [await visit(host, 'payments'), await visit(host, 'payments')]
  expect((await anna.signIn('anna')).headers.location).toBe('/solution/payments/index.html')
  expect((await anna.session()).json()).toMatchObject({ username: 'anna' })
  expect((await bram.signIn('bram')).headers.location).toBe('/solution/payments/set-up')
  expect((await bram.session()).status).toBe(401)
  expect((await bram.get('/solution/payments/set-up')).text).toContain('one-time-code')
})
