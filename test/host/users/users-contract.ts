import { hash } from '@node-rs/argon2'
import { beforeEach, expect, test } from 'vitest'
import type { DirectoryPerson } from '../../../base/accounts/directory-users.ts'
import { factorAccount } from '../../../base/accounts/factor-account.ts'
import { createFactors } from '../../../base/accounts/factors.ts'
import { createPasswords, type Passwords } from '../../../base/accounts/passwords.ts'
import { createUsers, type User, type UserPorts, type Users } from '../../../base/accounts/users.ts'
import { createAudit } from '../../../host/access/audit.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createLimits } from '../../../runtime/limits.ts'
import type { TestPlace } from '../../base/database/contract.ts'

const TIME = 1_000_000_000
const GOOD = 'correct horse battery'
const OTHER = 'stapled paper clips'

/** Tests the users table on every kind of database. */
export function testUsers(place: TestPlace, passwords: Passwords): void {
  const { kind } = place
  let db: HostDatabase
  let users: Users
  let ended: string[]
  let erased: string[]
  let time = TIME

  beforeEach(async () => {
    db = place.db
    await db.deleteFrom('permissions').execute()
    await db.deleteFrom('users').execute()
    ended = []
    erased = []
    users = usersOf(db)
  })

  function usersOf(
    database: HostDatabase,
    limits = createLimits(),
    hashes = passwords,
    more: Partial<UserPorts> = {},
  ): Users {
    const ports = {
      ...more,
      endAccess: async (uid: string) => void ended.push(uid),
      eraseFromAudit: async (name: string) => void erased.push(name),
    }
    return createUsers(database, hashes, limits, ports, () => time)
  }

  const codeOf = (work: Promise<unknown>) => work.then(() => null).catch((error: { code?: string }) => error.code)
  const faultsOf = (work: Promise<unknown>) =>
    work
      .then(() => [])
      .catch((error: { details: { faults: { field: string; key?: string }[] } }) => error.details.faults)

  test(`${kind}, users: simultaneous changes to one user's permissions and its deletion don't deadlock`, async () => {
    const permissions = (from: number) => Array.from({ length: 6 }, (_, n) => `P${(from + 7 * n) % 10}`)
    for (let round = 0; round < 5; round++) {
      const { uid } = await users.create({ username: `u${round}`, permissions: permissions(0) })
      const work = Array.from({ length: 8 }, (_, n) => codeOf(users.change(uid, { permissions: permissions(n) })))
      const codes = await Promise.all([...work, codeOf(users.delete(uid)), codeOf(users.addPermission(uid, 'P1'))])
      expect(codes.filter((code) => code !== null && code !== 'ERR_USER_NOT_FOUND')).toEqual([])
      expect(await users.get(uid)).toBeNull()
      expect(await db.selectFrom('permissions').selectAll().execute()).toEqual([])
    }
  })

  test(`${kind}, users: a new user has the requested values, and defaults for the rest`, async () => {
    const made = await users.create({ username: ' Anna ', permissions: ['Users', { name: 'Sales', solution: 'crm' }] })
    expect(made).toEqual({
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      username: 'Anna',
      displayName: null,
      email: null,
      emailVerifiedAt: null,
      locale: null,
      enabled: true,
      mustChangePassword: false,
      permissions: ['Users', { name: 'Sales', solution: 'crm' }],
      lastLoginAt: null,
      failedCount: 0,
      passwordChangedAt: null,
      directory: null,
      createdAt: time,
    })
    expect(await users.get(made.uid)).toEqual(made)
    expect(await users.find('ANNA')).toEqual(made)
    expect(await users.find('annа')).toBeNull()
  })

  test(`${kind}, users: names are unique ignoring case and Unicode form, even if they are created simultaneously`, async () => {
    const codes = await Promise.all(
      ['josé', 'JOSÉ', 'jose\u0301', ' José'].map((username) => codeOf(users.create({ username }))),
    )
    expect(codes.toSorted()).toEqual(['ERR_NAME_EXISTS', 'ERR_NAME_EXISTS', 'ERR_NAME_EXISTS', null])
    const { uid } = await users.create({ username: 'other' })
    expect(await codeOf(users.change(uid, { username: 'JOSÉ' }))).toBe('ERR_NAME_EXISTS')
    expect((await users.change(uid, { username: 'OTHER' })).username).toBe('OTHER')
  })

  test.each([
    ['username', { username: '  ' }],
    ['username', { username: 'x'.repeat(201) }],
    ['username', { username: 'a\nb' }],
    ['username', { username: 'a\u202eb' }],
    ['username', { username: 'a\u200bb' }],
    ['username', { username: 'a\ud800' }],
    ['username', { username: '\ufdfa'.repeat(20) }],
    ['displayName', { username: 'anna', displayName: '' }],
    ['email', { username: 'anna', email: 'nobody' }],
    ['email', { username: 'anna', email: `${'x'.repeat(250)}@example.org` }],
    ['permissions', { username: 'anna', permissions: [''] }],
    ['permissions', { username: 'anna', permissions: ['x'.repeat(201)] }],
    ['permissions', { username: 'anna', permissions: [{ name: 'Users', solution: 'No Name' }] }],
    ['permissions', { username: 'anna', permissions: Array.from({ length: 1001 }, (_, at) => `p${at}`) }],
    ['password', { username: 'anna', password: 'short' }],
  ])(`${kind}, users: an invalid %s is rejected: %#`, async (field, input) => {
    expect((await faultsOf(users.create(input))).map((fault) => fault.field)).toEqual([field])
    expect((await users.list({ limit: 10 })).items).toEqual([])
  })

  test(`${kind}, users: all errors are reported together`, async () => {
    const faults = await faultsOf(users.create({ username: '', email: 'x', password: 'password' }))
    expect(faults.map(({ field, key }) => [field, key])).toEqual([
      ['username', undefined],
      ['email', undefined],
      ['password', 'platform.password.common'],
    ])
  })

  test(`${kind}, users: they are listed in pages, sorted by name`, async () => {
    for (const username of ['Bob', 'anna', 'Anton', '100%', '100_x', '100!', '[x]']) await users.create({ username })
    const first = await users.list({ limit: 5, search: ' ' })
    expect(first.items.map((user) => user.username)).toEqual(['100!', '100%', '100_x', '[x]', 'anna'])
    expect(first.next).toBe('anna')
    const rest = await users.list({ limit: 5, after: first.next })
    expect([rest.items.map((user) => user.username), rest.next]).toEqual([['Anton', 'Bob'], undefined])
  })

  test(`${kind}, users: a search finds parts of all names and ignores case, with % and _ as ordinary characters`, async () => {
    const given = [
      { username: 'anna', displayName: 'Änne Ørsted', email: 'Sales@Example.org' },
      { username: 'Marianna', email: 'mari@example.org', permissions: ['Users'] },
      { username: '100%' },
      { username: '100_x' },
      { username: "o'[x]!" },
    ]
    const uids = new Map<string, string>()
    for (const one of given) uids.set(one.username, (await users.create(one)).uid)
    const names = async (search: string) => (await users.list({ limit: 10, search })).items.map((user) => user.username)
    const found: Record<string, readonly string[]> = {
      NN: ['anna', 'Marianna'],
      '\uff41\uff4e\uff4e\uff41': ['anna', 'Marianna'],
      'änne ør': ['anna'],
      ÄNNE: ['anna'],
      'sales@EXAMPLE': ['anna'],
      '@example.org': ['anna', 'Marianna'],
      _: ['100_x'],
      '%': ['100%'],
      '[': ["o'[x]!"],
      "'": ["o'[x]!"],
      '!': ["o'[x]!"],
      '\\': [],
      [String(uids.get('anna')).slice(4).toUpperCase()]: ['anna'],
    }
    for (const [search, expected] of Object.entries(found)) expect(await names(search), search).toEqual(expected)
    const first = await users.list({ limit: 1, search: 'example' })
    expect([first.items.map((user) => user.username), first.next]).toEqual([['anna'], 'anna'])
    const rest = await users.list({ limit: 1, search: 'example', after: first.next })
    expect(rest).toMatchObject({ items: [{ username: 'Marianna', permissions: ['Users'] }] })
    expect(rest.next).toBeUndefined()
  })

  test(`${kind}, authenticate: the right password signs in, ignoring the name’s case, records the time and resets failures`, async () => {
    const { uid } = await users.create({ username: 'anna', password: GOOD, mustChangePassword: false })
    expect(await users.authenticate('anna', OTHER)).toBeNull()
    expect(await users.authenticate('anna', OTHER)).toBeNull()
    await users.flush()
    expect((await users.get(uid))?.failedCount).toBe(2)
    time += 1
    expect(await users.authenticate('ANNA', GOOD)).toMatchObject({ uid, username: 'anna', failedCount: 2 })
    expect(await users.get(uid)).toMatchObject({ failedCount: 0, lastLoginAt: time })
  })

  test(`${kind}, authenticate: unknown, disabled and passwordless users are rejected, after one hash check each`, async () => {
    const checked: (string | null)[] = []
    const counting: Passwords = {
      ...passwords,
      verify(passwordHash, password) {
        checked.push(passwordHash)
        return passwords.verify(passwordHash, password)
      },
    }
    const ports = { endAccess: async () => {}, eraseFromAudit: async () => {} }
    const counted = createUsers(db, counting, createLimits(), ports)
    await users.create({ username: 'disabled', password: GOOD, enabled: false })
    await users.create({ username: 'nopassword' })
    for (const name of ['unknown', 'disabled', 'nopassword', 'x'.repeat(100_000)]) {
      expect(await counted.authenticate(name, GOOD)).toBeNull()
    }
    expect(checked).toEqual([null, null, null, null])
    await counted.flush()
  })

  test(`${kind}, authenticate: a rejected sign-in writes nothing before the response, so that timing reveals no names`, async () => {
    const written: string[] = []
    const watched = db.withPlugin({
      transformQuery({ node }) {
        if (node.kind !== 'SelectQueryNode') written.push(node.kind)
        return node
      },
      transformResult: async ({ result }) => result,
    })
    await users.create({ username: 'anna', password: GOOD })
    const some = usersOf(watched)
    await some.authenticate('anna', OTHER)
    expect(written).toEqual([])
    await some.flush()
    expect(written).toEqual(['UpdateQueryNode'])
  })

  test(`${kind}, authenticate: a user who is disabled or gets a new password during the check is rejected`, async () => {
    for (const change of [{ enabled: false }, { password: OTHER }]) {
      const { uid } = await users.create({ username: 'anna', password: GOOD })
      const slow: Passwords = {
        ...passwords,
        async verify(passwordHash, password) {
          const isRight = await passwords.verify(passwordHash, password)
          await users.change(uid, change)
          return isRight
        },
      }
      const nobody = async () => {}
      const late = createUsers(db, slow, createLimits(), { endAccess: nobody, eraseFromAudit: nobody })
      expect(await late.authenticate('anna', GOOD)).toBeNull()
      await users.delete(uid)
    }
  })

  test(`${kind}, authenticate: names that no database can store count as unknown`, async () => {
    for (const name of ['a\0b', '\ud800', '']) expect(await users.authenticate(name, GOOD)).toBeNull()
  })

  test(`${kind}, authenticate: a hash with weaker parameters is replaced with one with current parameters`, async () => {
    users = usersOf(db, createLimits(), createPasswords())
    const { uid } = await users.create({ username: 'anna' })
    const weak = await hash(GOOD, { memoryCost: 8 * 1024, timeCost: 1, parallelism: 1 })
    await db.updateTable('users').set({ password_hash: weak }).where('uid', '=', uid).execute()
    expect(await users.authenticate('anna', GOOD)).toMatchObject({ uid })
    const { password_hash } = await db.selectFrom('users').select('password_hash').executeTakeFirstOrThrow()
    expect(password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await users.authenticate('anna', GOOD)).toMatchObject({ uid })
  })

  test(`${kind}, permissionsFor: it returns those for all solutions and for this one, without duplicates`, async () => {
    const { uid } = await users.create({
      username: 'anna',
      permissions: ['Users', 'Users', { name: 'Users', solution: 'crm' }, { name: 'Sales', solution: 'crm' }],
    })
    await users.create({ username: 'bob', permissions: ['Others'] })
    expect(await users.permissionsFor(uid, 'crm')).toEqual(['Sales', 'Users'])
    expect(await users.permissionsFor(uid, 'other')).toEqual(['Users'])
    expect(await users.permissionsFor('nobody', 'crm')).toEqual([])
  })

  test(`${kind}, change: it sets the given values and keeps the rest`, async () => {
    const { uid } = await users.create({ username: 'anna', email: 'anna@example.org', permissions: ['Users'] })
    expect(await users.change(uid, { displayName: 'Anna J.' })).toMatchObject({
      username: 'anna',
      displayName: 'Anna J.',
      email: 'anna@example.org',
      permissions: ['Users'],
    })
    expect(await users.change(uid, { email: null, permissions: [] })).toMatchObject({ email: null, permissions: [] })
    expect(await codeOf(users.change('nobody', { email: null }))).toBe('ERR_USER_NOT_FOUND')
  })

  test.each([
    ['a new password', { password: OTHER }, true],
    ['no password any more', { password: null }, true],
    ['disabling', { enabled: false }, true],
    ['a permission less', { permissions: ['Users'] }, true],
    ['another permission', { permissions: ['Users', 'Others'] }, true],
    ['a permission more', { permissions: ['Users', 'Sales', 'Others'] }, false],
    ['the same permissions', { permissions: ['Sales', 'Users'] }, false],
    ['another name', { username: 'anne' }, false],
    ['enabling', { enabled: true }, false],
  ])(`${kind}, change: whether %s ends the user’s sessions: %#`, async (_what, input, ends) => {
    const { uid } = await users.create({ username: 'anna', password: GOOD, permissions: ['Users', 'Sales'] })
    await users.change(uid, input)
    expect(ended).toEqual(ends ? [uid] : [])
  })

  test(`${kind}, a password that somebody else set must be changed, unless they choose otherwise`, async () => {
    const { uid, mustChangePassword } = await users.create({ username: 'anna', password: GOOD })
    expect(mustChangePassword).toBe(true)
    expect(await users.setPassword(uid, OTHER)).toBeNull()
    expect((await users.get(uid))?.mustChangePassword).toBe(false)
    expect((await users.change(uid, { password: GOOD })).mustChangePassword).toBe(true)
    expect((await users.change(uid, { password: OTHER, mustChangePassword: false })).mustChangePassword).toBe(false)
  })

  test(`${kind}, setPassword: it sets the password and ends the user’s sessions; a weak or unchanged one is reported`, async () => {
    const { uid } = await users.create({ username: 'anna', password: GOOD })
    expect(await users.setPassword(uid, 'password')).toEqual({ key: 'platform.password.common', values: [] })
    expect(await users.setPassword(uid, GOOD)).toEqual({ key: 'platform.password.same', values: [] })
    expect(ended).toEqual([])
    time += 1
    expect(await users.setPassword(uid, OTHER, { mustChange: true })).toBeNull()
    expect(ended).toEqual([uid])
    expect(await users.get(uid)).toMatchObject({ mustChangePassword: true, passwordChangedAt: time })
    expect([await users.checkPassword(uid, GOOD), await users.checkPassword(uid, OTHER)]).toEqual([false, true])
    expect(await codeOf(users.setPassword('nobody', OTHER))).toBe('ERR_USER_NOT_FOUND')
  })

  test(`${kind}, choosePassword: a user can't replace a password that was set after they proved their identity`, async () => {
    const { uid } = await users.create({ username: 'anna', password: GOOD })
    const before = (await users.get(uid)) as User
    expect(await users.choosePassword(before, 'password')).toEqual({ key: 'platform.password.common', values: [] })
    expect(await users.choosePassword(before, GOOD)).toEqual({ key: 'platform.password.same', values: [] })
    time += 1
    const chosen = [1, 2, 3].map((number) => users.choosePassword(before, `${OTHER} ${number}`))
    const ends = await Promise.all(chosen)
    expect([ends.toSorted(), ended]).toEqual([[null, 'changed', 'changed'].toSorted(), [uid]])
    expect(await users.checkPassword(uid, `${OTHER} ${ends.indexOf(null) + 1}`)).toBe(true)
    const after = (await users.get(uid)) as User
    expect(after).toMatchObject({ mustChangePassword: false, passwordChangedAt: time })
    time += 1
    await users.change(uid, { password: GOOD })
    expect(await users.choosePassword(after, OTHER)).toBe('changed')
    await users.change(uid, { enabled: false })
    expect(await users.choosePassword((await users.get(uid)) as User, OTHER)).toBe('changed')
    expect(await users.choosePassword({ uid: 'nobody', passwordChangedAt: time }, OTHER)).toBe('changed')
  })

  test(`${kind}, checkPassword: it returns false for a disabled or unknown user`, async () => {
    const { uid } = await users.create({ username: 'anna', password: GOOD, enabled: false })
    expect([await users.checkPassword(uid, GOOD), await users.checkPassword('nobody', GOOD)]).toEqual([false, false])
  })

  test(`${kind}, addPermission adds without ending sessions; removePermission does if the user had it`, async () => {
    const { uid } = await users.create({ username: 'anna' })
    const sales = { name: 'Sales', solution: 'crm' }
    await users.addPermission(uid, sales)
    await users.addPermission(uid, sales)
    expect([(await users.get(uid))?.permissions, ended]).toEqual([[sales], []])
    await users.removePermission(uid, 'Sales')
    expect(ended).toEqual([])
    await users.removePermission(uid, sales)
    expect([(await users.get(uid))?.permissions, ended]).toEqual([[], [uid]])
    expect(await codeOf(users.addPermission('nobody', 'Sales'))).toBe('ERR_USER_NOT_FOUND')
    expect(await codeOf(users.addPermission(uid, ''))).toBe('ERR_REQUEST_INVALID')
  })

  test(`${kind}, delete: the user and the permissions are deleted, the sessions end, and the name can be used again`, async () => {
    const { uid } = await users.create({ username: 'anna', permissions: ['Users'] })
    await users.delete(uid)
    expect([await users.get(uid), ended]).toEqual([null, [uid]])
    expect(await db.selectFrom('permissions').selectAll().execute()).toEqual([])
    expect(await codeOf(users.delete(uid))).toBe('ERR_USER_NOT_FOUND')
    expect((await users.create({ username: 'anna' })).permissions).toEqual([])
  })

  test(`${kind}, delete: the user’s second factors are deleted, and those of a script’s account with the same uid are kept`, async () => {
    const { uid } = await users.create({ username: 'anna' })
    const factors = createFactors(db, createLimits(), () => TIME)
    const [own, other] = [factorAccount('users', 'crm', uid), factorAccount('', 'crm', uid)]
    for (const account of [own, other]) await factors.noteAsked(account)
    await users.delete(uid)
    expect((await factors.of(own)).firstAskedAt).toBeNull()
    expect((await factors.of(other)).firstAskedAt).toBe(TIME)
  })

  test(`${kind}, delete: if the sessions cannot be ended, the user is disabled and can be deleted again`, async () => {
    const { uid } = await users.create({ username: 'anna' })
    const failing = createUsers(db, passwords, createLimits(), {
      endAccess: () => Promise.reject(new Error('the database is away')),
      eraseFromAudit: async () => {},
    })
    await expect(failing.delete(uid)).rejects.toThrow('the database is away')
    expect((await users.get(uid))?.enabled).toBe(false)
    await users.delete(uid)
    expect(await users.get(uid)).toBeNull()
  })

  test(`${kind}, erase: the user’s sessions and remembered logins are deleted too, and the name is removed from the audit log`, async () => {
    const { uid } = await users.create({ username: 'Anna' })
    for (const [id, owner, source] of [
      ['1', uid, 'users'],
      ['2', uid, ''],
      ['3', 'other', 'users'],
    ] as const) {
      await db
        .insertInto('sessions')
        .values(sessionRow(id, owner, source))
        .execute()
      await db
        .insertInto('remembered')
        .values(rememberedRow(id, owner, source))
        .execute()
    }
    await users.erase(uid)
    expect(
      (await db.selectFrom('sessions').select('id_hash').orderBy('id_hash').execute()).map((row) => row.id_hash),
    ).toEqual(['2', '3'])
    const series = await db.selectFrom('remembered').select('selector').orderBy('selector').execute()
    expect(series.map(({ selector }) => selector)).toEqual(['2', '3'])
    expect([await users.get(uid), ended, erased]).toEqual([null, [uid], ['Anna']])
  })

  test(`${kind}, erase: the audit log keeps the entries without the name in any spelling, including entries not written yet`, async () => {
    const audit = createAudit(db, createLimits())
    const long = `Anna ${'x'.repeat(195)}`
    const entry = { action: 'sign-in', outcome: 'ok', address: '127.0.0.1' } as const
    await audit.record({ ...entry, actor: `user:${long}` })
    await audit.record({ ...entry, actor: 'user:Anna' })
    audit.note({ ...entry, actor: `user:${long}` })
    audit.note({ ...entry, actor: 'admin', target: `user:${long}` })
    audit.note({ ...entry, actor: `user:${long.toUpperCase()}` })
    audit.note({ ...entry, actor: 'user: ANNA ' })
    await audit.eraseUser(long)
    const read = async () => (await audit.read({ limit: 10 })).items.map(({ actor, target }) => [actor, target])
    expect(await read()).toEqual([
      ['user: ANNA ', undefined],
      ['user:erased', undefined],
      ['admin', 'user:erased'],
      ['user:erased', undefined],
      ['user:Anna', undefined],
      ['user:erased', undefined],
    ])
    await audit.eraseUser('Anna')
    expect(new Set((await read()).flat())).toEqual(new Set(['user:erased', 'admin', undefined]))
  })

  test(`${kind}, users: a person of a directory has a row that is linked to the entry and follows its changes`, async () => {
    const entry: DirectoryPerson = {
      directory: 'corp',
      id: 'a0000000-0000-4000-8000-000000000001',
      username: 'Anna',
      displayName: 'Anna Berg',
      email: 'anna@corp.test',
      permissions: ['Users', { name: 'Sales', solution: 'crm' }],
    }
    let person: DirectoryPerson | null = entry
    const refusals: string[] = []
    const directories = {
      hasAny: async () => true,
      authenticate: async () => person,
      lookUp: async () => person,
      noteRefusal: ({ username }: DirectoryPerson, reason: string) => void refusals.push(`${username}: ${reason}`),
    }
    const ofDirectory = usersOf(db, createLimits(), passwords, { directories })
    const signIn = (name: string) => ofDirectory.authenticate(name, 'the password of the directory')
    // Parallel first sign-ins create one row.
    const first = await Promise.all([signIn('anna'), signIn('anna'), signIn('ANNA')])
    const uid = first.find((one) => one !== null)?.uid ?? ''
    expect(await users.get(uid)).toMatchObject({
      ...{ username: 'Anna', displayName: 'Anna Berg', email: 'anna@corp.test', directory: 'corp', lastLoginAt: time },
      ...{ permissions: ['Users', { name: 'Sales', solution: 'crm' }], passwordChangedAt: null },
    })
    expect(new Set(first.map((one) => one?.uid ?? uid))).toEqual(new Set([uid]))
    expect((await users.list({ limit: 10 })).items).toHaveLength(1)
    expect(await faultsOf(ofDirectory.change(uid, { permissions: [] }))).not.toEqual([])

    // The directory entry has a new name, and was removed from a group.
    person = { ...entry, username: 'anna.smit', permissions: ['Users'] }
    expect(await ofDirectory.recheck(uid)).toMatchObject({ uid, username: 'anna.smit', permissions: ['Users'] })
    expect(ended).toEqual([uid])
    // Another person's entry now has this name. That person can't use the row, and gets no new row.
    person = { ...entry, id: 'b0000000-0000-4000-8000-000000000002', username: 'Anna.Smit' }
    expect(await signIn('anna.smit')).toBeNull()
    expect(refusals).toEqual(['Anna.Smit: another entry'])
    // An entry with the same id in another directory belongs to another person.
    person = { ...entry, directory: 'other', username: 'anna2' }
    expect((await signIn('anna2'))?.uid).not.toBe(uid)
    person = null
    expect(await ofDirectory.recheck(uid)).toBeNull()
    expect(await users.get(uid)).toMatchObject({ username: 'anna.smit', directory: 'corp' })
  })
}

function sessionRow(id: string, uid: string, source: string) {
  return {
    id_hash: id,
    public_id: id,
    solution: 'crm',
    username: 'Anna',
    uid,
    permissions: '[]',
    tenant: null,
    locale: 'en',
    address: '127.0.0.1',
    created_at: TIME,
    last_seen_at: TIME,
    ended_at: null,
    source,
    selector: null,
  }
}

function rememberedRow(id: string, uid: string, source: string) {
  return {
    selector: id,
    solution: 'crm',
    source,
    validator_hash: '',
    previous_hash: null,
    rotated_at: TIME,
    uid,
    username: 'Anna',
    permissions: '[]',
    last_login_at: TIME,
    created_at: TIME,
    ended_at: null,
  }
}
