import { beforeEach, expect, test } from 'vitest'
import type { Passwords } from '../../../base/accounts/passwords.ts'
import { createUsers, type User, type Users } from '../../../base/accounts/users.ts'
import { createLinkedUsers, type LinkedUsers } from '../../../host/links/linked-users.ts'
import { createLinks, type FoundLink, LINK_LIFETIMES, type Links } from '../../../host/links/links.ts'
import { createLimits } from '../../../runtime/limits.ts'
import type { TestPlace } from '../../base/database/contract.ts'

const GOOD = 'correct horse battery'
const OTHER = 'stapled paper clips'

/** Tests users' links on every kind of database. */
export function testLinks(place: TestPlace, passwords: Passwords): void {
  const { kind } = place
  let users: Users
  let links: Links
  let linkedUsers: LinkedUsers
  let ended: string[]
  let noticed: string[]
  let time = 1_000_000_000
  const now = () => time

  beforeEach(async () => {
    const { db } = place
    for (const table of ['links', 'permissions', 'users'] as const) await db.deleteFrom(table).execute()
    ended = []
    noticed = []
    const ports = {
      endAccess: async (uid: string) => void ended.push(uid),
      eraseFromAudit: async () => {},
      passwordChanged: ({ username }: { readonly username: string }) => void noticed.push(username),
    }
    users = createUsers(db, passwords, createLimits(), ports, now)
    links = createLinks(db, users, now)
    linkedUsers = createLinkedUsers({ db, users, passwords, limits: createLimits(), ...ports }, now)
  })

  const addUser = (username: string, more: object = {}) => users.create({ username, password: GOOD, ...more })
  const PASSWORD_LINK = { kind: 'password', solution: 'crm', isMailed: true } as const
  const tokenFor = async (user: User) => (await links.create(user, PASSWORD_LINK))?.token ?? ''
  const find = (token: string) => links.find('crm', 'password', token)

  async function needLink(token: string): Promise<FoundLink> {
    const found = await find(token)
    if (found === null) throw new Error('the link was not found')
    return found
  }

  test(`${kind}, links: a link is found on its solution’s page of its kind, until it expires`, async () => {
    const anna = await addUser('anna')
    const token = await tokenFor(anna)
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(await find(token)).toMatchObject({ user: { uid: anna.uid } })
    expect(JSON.stringify(await place.db.selectFrom('links').selectAll().execute())).not.toContain(token)
    for (const [solution, of, text] of [
      ['other', 'password', token],
      ['crm', 'invitation', token],
      ['crm', 'password', `${token}x`],
      ['crm', 'password', 'x'.repeat(43)],
    ] as const) {
      expect(await links.find(solution, of, text)).toBeNull()
    }
    time += LINK_LIFETIMES.password
    expect(await find(token)).toBeNull()
    await links.sweep()
    expect(await place.db.selectFrom('links').selectAll().execute()).toEqual([])
  })

  test(`${kind}, links: at most three of a kind are open, even if they are created at the same time`, async () => {
    const anna = await addUser('anna')
    const made = await Promise.all(Array.from({ length: 8 }, () => links.create(anna, PASSWORD_LINK)))
    expect(made.filter((one) => one !== null)).toHaveLength(3)
    expect(await links.create(anna, { ...PASSWORD_LINK, kind: 'invitation' })).not.toBeNull()
    time += LINK_LIFETIMES.password
    expect(await links.create(anna, PASSWORD_LINK)).not.toBeNull()
    await links.revoke(anna.uid, 'password')
    expect(await place.db.selectFrom('links').select('kind').execute()).toEqual([{ kind: 'invitation' }])
  })

  test(`${kind}, links: a new password or address, disabling and deleting the user invalidate links`, async () => {
    for (const [name, change] of [
      ['bea', { password: OTHER }],
      ['cas', { email: 'cas@example.org' }],
      ['dan', { enabled: false }],
    ] as const) {
      const user = await addUser(name)
      const token = await tokenFor(user)
      time++
      await users.change(user.uid, { displayName: 'x', permissions: ['Users'] })
      expect(await find(token)).not.toBeNull()
      await users.change(user.uid, change)
      expect([name, await find(token)]).toEqual([name, null])
    }
    const eva = await addUser('eva')
    await tokenFor(eva)
    await users.delete(eva.uid)
    expect(await place.db.selectFrom('links').select('kind').where('uid', '=', eva.uid).execute()).toEqual([])
  })

  test(`${kind}, links: of 50 parallel uses of one link on two hosts, exactly one succeeds`, async () => {
    const token = await tokenFor(await addUser('anna'))
    const found = await needLink(token)
    const hosts = [links, createLinks(place.db, users, now)]
    const taken = await Promise.all(Array.from({ length: 50 }, (_, index) => hosts[index % 2]?.take(found)))
    expect(taken.filter(Boolean)).toHaveLength(1)
    expect(await find(token)).toBeNull()
  })

  test(`${kind}, links: a user is found by name, or by an address that no other user has`, async () => {
    const anna = await addUser('anna', { email: 'Anna@Example.org' })
    await addUser('twin1', { email: 'twin@example.org' })
    await addUser('twin2', { email: 'TWIN@example.org' })
    await addUser('none', { email: 'none@example.org', password: null })
    for (const asked of ['ANNA', ' anna@example.ORG']) expect((await linkedUsers.find(asked))?.uid).toBe(anna.uid)
    for (const asked of ['twin@example.org', 'none', 'none@example.org', 'nobody', '', '%', 'anna@example.or_']) {
      expect([asked, await linkedUsers.find(asked)]).toEqual([asked, null])
    }
    // If the text is both one user's username and another user's address, the username takes precedence.
    const named = await addUser('twin@example.org')
    expect((await linkedUsers.find('twin@example.org'))?.uid).toBe(named.uid)
  })

  test(`${kind}, links: a password is set only in the state that the link was checked in`, async () => {
    const anna = await addUser('anna', { email: 'anna@example.org', mustChangePassword: true })
    const [token, another] = [await tokenFor(anna), await tokenFor(anna)]
    const [link, other] = [await needLink(token), await needLink(another)]
    time += 1
    expect(await linkedUsers.choosePassword(link, 'short')).toMatchObject({ key: 'platform.password.short' })
    expect(await linkedUsers.choosePassword(link, GOOD)).toMatchObject({ key: 'platform.password.same' })
    expect(await find(token)).toEqual(link)
    expect([await linkedUsers.choosePassword(link, OTHER), ended, noticed]).toEqual([null, [anna.uid], ['anna']])
    expect(await users.get(anna.uid)).toMatchObject({ emailVerifiedAt: time, mustChangePassword: false })
    expect((await users.authenticate('anna', OTHER))?.uid).toBe(anna.uid)
    // `anna` and `other` still have the state from before the change.
    for (const one of [link, other]) expect(await linkedUsers.choosePassword(one, `${OTHER} again`)).toBe('over')
    expect(await linkedUsers.verifyAddress(anna, 'new@example.org')).toBe(false)
    const current = (await users.get(anna.uid)) as User
    expect(await linkedUsers.verifyAddress(current, 'new@example.org')).toBe(true)
    expect(await users.get(anna.uid)).toMatchObject({ email: 'new@example.org', emailVerifiedAt: time })
    // An address that an operator enters has not been verified by anyone.
    await users.change(anna.uid, { email: 'NEW@example.org' })
    expect(await users.get(anna.uid)).toMatchObject({ emailVerifiedAt: null })
    const last = await needLink(await tokenFor((await users.get(anna.uid)) as User))
    await users.change(anna.uid, { enabled: false })
    expect(await linkedUsers.choosePassword(last, `${OTHER} again`)).toBe('over')
  })

  test(`${kind}, links: a link that is revoked while a password is chosen does not set a password and stays revoked`, async () => {
    const anna = await addUser('anna')
    for (const [password, end] of [
      ['short', { key: 'platform.password.short' }],
      [OTHER, 'over'],
    ] as const) {
      const token = await tokenFor(anna)
      const link = await needLink(token)
      await links.revoke(anna.uid, 'password')
      expect(await linkedUsers.choosePassword(link, password)).toEqual(
        end === 'over' ? end : expect.objectContaining(end),
      )
      expect(await find(token)).toBeNull()
    }
    expect(await users.checkPassword(anna.uid, GOOD)).toBe(true)
  })
}
