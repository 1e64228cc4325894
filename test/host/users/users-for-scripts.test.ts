import { expect, test } from 'vitest'
import { createHostCall, type HostCall } from '../../../base/bundles/host-call.ts'
import { createUsersForScripts, type UsersForScriptsParts } from '../../../host/users/users-for-scripts.ts'
import { manifestOf } from '../../support/solutions.ts'

const PASSWORD = 'seven green tractors'
const ANNA = { passwordChangedAt: 5, uid: 'a-1', username: 'anna' }

/** The users table as scripts see it, with a single user. */
const users = createUsersForScripts({
  users: {
    authenticate: async (name: string, password: string) => (name === 'anna' && password === PASSWORD ? ANNA : null),
    checkPassword: async (uid: string, password: string) => uid === 'a-1' && password === PASSWORD,
    get: async (uid: string) => (uid === 'a-1' ? ANNA : null),
    find: async () => ({ ...ANNA, displayName: null, email: null, enabled: true }),
    permissionsFor: async () => ['Users'],
  },
  grants: { get: async () => ({ databases: {}, http: [], users: true }) },
  throttle: { count: async () => null, succeeded: async () => {} },
  audit: {},
  noteRefusal: () => {},
} as unknown as UsersForScriptsParts)

function newCall(): HostCall {
  const solution = { name: 'crm', manifest: manifestOf({}), modules: [] } as unknown as HostCall['solution']
  const facts = { kind: 'login', correlationId: 'c', user: null, account: null, address: '127.0.0.1' } as const
  return createHostCall({ ...facts, solution, locale: 'en', serverUrl: 'http://127.0.0.1' })
}

test('users for scripts: a call records whose password was right, so that a login with that uid counts as a login of a user of the table', async () => {
  const [authenticated, checked] = [newCall(), newCall()]
  expect(await users.authenticate(authenticated, 'anna', PASSWORD)).toEqual({ uid: 'a-1', permissions: ['Users'] })
  expect(await users.checkPassword(checked, 'a-1', PASSWORD)).toBe(true)
  const anna = { uid: 'a-1', passwordChangedAt: 5 }
  expect([authenticated.effects.authenticated, checked.effects.authenticated]).toEqual([anna, anna])
})

test('users for scripts: a wrong password and a look-up authenticate nobody', async () => {
  const call = newCall()
  expect(await users.authenticate(call, 'anna', 'wrong')).toBeNull()
  expect(await users.checkPassword(call, 'a-1', 'wrong')).toBe(false)
  expect(await users.getUser(call, 'anna')).toMatchObject({ uid: 'a-1' })
  expect(call.effects.authenticated).toBeUndefined()
})
