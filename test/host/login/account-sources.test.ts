import { expect, test } from 'vitest'
import type { User, Users } from '../../../base/accounts/users.ts'
import { noEffects } from '../../../base/bundles/host-call.ts'
import { createAccountSources } from '../../../host/login/account-sources.ts'

/** The source of solutions whose own script signs users in, with a users table in which `anna` is enabled or not. */
function sourceOf(isEnabled: boolean) {
  const users = {
    recheck: async () => (isEnabled ? ({} as User) : null),
    get: async () => ({ enabled: isEnabled, passwordChangedAt: 5 }) as User,
  } as Partial<Users> as Users
  const login = { username: 'anna', uid: 'a-1', permissions: ['Users'] }
  const asked: unknown[] = []
  const source = createAccountSources(
    users,
    async (...question) => {
      asked.push(question)
      return { kind: 'accepted', login, effects: { ...noEffects(), login }, user: null }
    },
    {} as never,
    null,
  ).ofForm('AUTHENTICATOR')
  const asking = { locale: 'en', url: new Map() } as never
  const series = (factorsOf: 'users' | '', uid = 'a-1') =>
    ({ ...login, uid, factorsOf, custom: {}, tenant: null, locale: null, lastLoginAt: 0 }) as never
  const checked = (uid?: string, passwordChangedAt = 5) => {
    const authenticated = uid === undefined ? {} : { authenticated: { uid, passwordChangedAt } }
    return { login, effects: { ...noEffects(), ...authenticated }, user: null } as never
  }
  return { source, asking, series, checked, asked }
}

test('authenticator: a remembered user of the users table who was disabled is refused, and the script is not asked', async () => {
  const { source, asking, series, asked } = sourceOf(false)
  expect(await source.recheck(asking, series('users'))).toMatchObject({ kind: 'refused' })
  expect(asked).toEqual([])
  // The script's own users are unknown to the platform.
  expect(await source.recheck(asking, series(''))).toMatchObject({ kind: 'accepted' })
  expect(await sourceOf(true).source.recheck(asking, series('users'))).toMatchObject({ kind: 'accepted' })
})

test('authenticator: a sign-in is valid only if the user of the users table is still enabled after the session was stored', async () => {
  const holds = (isEnabled: boolean, uid?: string) => {
    const { source, asking, checked } = sourceOf(isEnabled)
    return source.stillHolds(asking, checked(uid), null)
  }
  expect([await holds(true, 'a-1'), await holds(false, 'a-1')]).toEqual([true, false])
  expect([await holds(false), await holds(false, 'b-2')]).toEqual([true, true])
})

test('authenticator: a sign-in is not valid if the user of the users table has got a new password since the check', async () => {
  const { source, asking, checked } = sourceOf(true)
  const holds = (passwordChangedAt: number, uid: string) =>
    source.stillHolds(asking, checked(uid, passwordChangedAt), null)
  expect([await holds(5, 'a-1'), await holds(4, 'a-1'), await holds(4, 'b-2')]).toEqual([true, false, true])
})

test('authenticator: for a remembered user, or one with a passkey, the script can sign in only the same uid', async () => {
  const { source, asking, series } = sourceOf(true)
  for (const factorsOf of ['users', ''] as const) {
    expect(await source.recheck(asking, series(factorsOf, 'b-2'))).toMatchObject({ kind: 'refused' })
  }
  const owner = (uid: string) =>
    ({ account: { source: '', solution: 'crm', uid }, user: { username: 'anna' }, lastUsedAt: 0 }) as never
  expect(await source.checkPasskey(asking, owner('a-1'), new Map())).toMatchObject({ kind: 'accepted' })
  expect(await source.checkPasskey(asking, owner('b-2'), new Map())).toMatchObject({ kind: 'refused' })
})
