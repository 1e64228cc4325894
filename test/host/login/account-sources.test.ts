import { expect, test } from 'vitest'
import type { User, Users } from '../../../base/accounts/users.ts'
import { noEffects } from '../../../base/bundles/host-call.ts'
import { createAccountSources } from '../../../host/login/account-sources.ts'

/** The source of solutions whose own script signs users in, with a users table in which `anna` is enabled or not. */
function sourceOf(isEnabled: boolean) {
  const users = {
    recheck: async () => (isEnabled ? ({} as User) : null),
    get: async () => ({ enabled: isEnabled }) as User,
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
  const series = (factorsOf: 'users' | '') =>
    ({ ...login, factorsOf, custom: {}, tenant: null, locale: null, lastLoginAt: 0 }) as never
  const checked = (authenticatedUid?: string) =>
    ({ login, effects: { ...noEffects(), ...(authenticatedUid ? { authenticatedUid } : {}) }, user: null }) as never
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
