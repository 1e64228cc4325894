import { beforeEach, expect, test } from 'vitest'
import type { Passwords } from '../../../base/accounts/passwords.ts'
import { createUsers, type Users } from '../../../base/accounts/users.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createUsersCsv, type UsersCsv } from '../../../host/users/users-csv.ts'
import { createLimits } from '../../../runtime/limits.ts'
import type { TestPlace } from '../../base/database/contract.ts'
import { leastOf } from '../../support/least-of.ts'
import { scaled } from '../../support/scale.ts'

const GOOD = 'correct horse battery'
/** The number of users in a large import. */
const MANY = scaled(2000, 10_000)

/** Tests the import and export of users on every kind of database. */
export function testUsersCsv(place: TestPlace, passwords: Passwords): void {
  const { kind } = place
  let db: HostDatabase
  let users: Users
  let csv: UsersCsv
  let ended: string[]

  beforeEach(async () => {
    db = place.db
    await db.deleteFrom('permissions').execute()
    await db.deleteFrom('users').execute()
    ended = []
    const endAccess = async (uid: string) => void ended.push(uid)
    users = createUsers(db, passwords, createLimits(), { endAccess, eraseFromAudit: async () => {} })
    const unlisted = async (names: ReadonlySet<string>) => [...names].filter((name) => name.includes(','))
    csv = createUsersCsv({ db, users, passwords, limits: createLimits(), endAccess, unlisted })
  })

  const load = (text: string | Buffer, dryRun = false) => csv.import(Buffer.from(text as string), { dryRun })
  const faultsOf = (text: string | Buffer) =>
    load(text)
      .then(() => [])
      .catch(
        (error: { code: string; details: { faults: { line: number; field: string | null; message: string }[] } }) => {
          expect(error.code).toBe('ERR_REQUEST_INVALID')
          return error.details.faults
        },
      )
  const exported = async () => (await Array.fromAsync(csv.export())).join('')
  const namesOf = async () => (await users.list({ limit: 100 })).items.map(({ username }) => username)

  test(`${kind}, import: it creates users from all columns, with or without a byte order mark`, async () => {
    const text =
      'username,displayName,email,enabled,permissions,password\r\n' +
      `anna,"Jansen, Anna",anna@example.org,true,Users;Sales@crm,${GOOD}\r\n` +
      'bob,,,false,,\r\n'
    expect(await load(`\u{feff}${text}`)).toEqual({
      created: 2,
      changed: 0,
      unchanged: 0,
      createdWithoutPassword: 1,
      unlistedPermissions: [],
      dryRun: false,
    })
    const { items } = await users.list({ limit: 10 })
    expect(items).toMatchObject([
      {
        username: 'anna',
        displayName: 'Jansen, Anna',
        email: 'anna@example.org',
        enabled: true,
        mustChangePassword: true,
        permissions: ['Users', { name: 'Sales', solution: 'crm' }],
      },
      { username: 'bob', displayName: null, email: null, enabled: false, mustChangePassword: false, permissions: [] },
    ])
    expect(await users.authenticate('anna', GOOD)).toMatchObject({ username: 'anna' })
  })

  test(`${kind}, import: a permission that no solution lists is imported and reported once`, async () => {
    const text = 'username,permissions\nanna,"Readers,Librarians"\nbob,"Users;Readers,Librarians@crm"\n'
    expect((await load(text, true)).unlistedPermissions).toEqual(['Readers,Librarians'])
    expect((await load(text)).unlistedPermissions).toEqual(['Readers,Librarians'])
    expect((await users.list({ limit: 1 })).items).toMatchObject([{ permissions: ['Readers,Librarians'] }])
  })

  test(`${kind}, import: it changes existing users; absent columns and empty passwords change nothing`, async () => {
    const anna = await users.create({
      username: 'Anna',
      email: 'a@example.org',
      password: GOOD,
      permissions: ['Users'],
    })
    await users.create({ username: 'bob' })
    const text = 'Username,displayname,password\nanna,Anna J.,\nbob,,\ncarl,,\n'
    expect(await load(text)).toEqual({
      created: 1,
      changed: 1,
      unchanged: 1,
      createdWithoutPassword: 1,
      unlistedPermissions: [],
      dryRun: false,
    })
    expect(await users.get(anna.uid)).toMatchObject({
      username: 'anna',
      displayName: 'Anna J.',
      email: 'a@example.org',
      permissions: ['Users'],
    })
    expect(await users.checkPassword(anna.uid, GOOD)).toBe(true)
    expect(ended).toEqual([])
  })

  test(`${kind}, import: removing a permission, disabling and a new password end sessions; adding a permission does not`, async () => {
    const uids = new Map<string, string>()
    for (const username of ['less', 'disabled', 'password', 'more']) {
      uids.set(username, (await users.create({ username, permissions: ['Users'] })).uid)
    }
    await load(
      'username,enabled,permissions,password\n' +
        `less,true,,\ndisabled,false,Users,\npassword,true,Users,${GOOD}\nmore,true,Users;Sales,\n`,
    )
    expect(ended.toSorted()).toEqual(['less', 'disabled', 'password'].map((name) => uids.get(name)).toSorted())
  })

  test(`${kind}, import: a dry run counts and finds errors, and changes nothing`, async () => {
    await users.create({ username: 'anna' })
    const text = `username,displayName,password\nanna,Anna,\nbob,Bob,${GOOD}\n`
    expect(await load(text, true)).toEqual({
      created: 1,
      changed: 1,
      unchanged: 0,
      createdWithoutPassword: 0,
      unlistedPermissions: [],
      dryRun: true,
    })
    expect((await users.list({ limit: 10 })).items).toMatchObject([{ username: 'anna', displayName: null }])
    await expect(load('username\n\u202e\n', true)).rejects.toMatchObject({ code: 'ERR_REQUEST_INVALID' })
  })

  test(`${kind}, import: all errors are listed by line, and then no user is imported`, async () => {
    const text =
      'username,email,enabled,permissions,password\r\n' +
      'good,,,,\r\n' +
      '"two\r\nlines",,,,\r\n' +
      '\r\n' +
      'anna,nobody,maybe,Users@No Name,password\r\n' +
      'ANNA,,,,\r\n' +
      'few,,\r\n'
    const faults = await faultsOf(text)
    expect(faults.map(({ line, field }) => `${line} ${field}`)).toEqual([
      '3 username',
      '6 enabled',
      '6 email',
      '6 permissions',
      '6 password',
      '7 username',
      '8 null',
    ])
    expect(faults[5]?.message).toBe('this user is already on line 6; remove one of the two lines')
    expect(JSON.stringify(faults)).not.toContain('"password"}')
    expect(await namesOf()).toEqual([])
  })

  test.each([
    [
      'an unknown column',
      'username,hash\nanna,x\n',
      1,
      'column 2 has an unknown header; the known headers are username, displayName,',
    ],
    ['a column twice', 'username,email,Email\n', 1, 'the column appears twice; remove one'],
    ['no usernames', 'email\nanna@example.org\n', 1, 'the header row must contain a "username" column'],
    ['an empty file', '', 1, 'the header row must contain a "username" column'],
    ['semicolons', 'username;email\nanna;\n', 1, 'the columns must be separated by commas'],
    ['an open quote', 'username\nanna\n"bob\ncarl\n', 3, 'a quoted cell starts on this line but has no closing quote'],
    [
      'a quote inside after line ends of both kinds',
      'username\n"anna"\r\n\r\n"b\r\nob"\nca"rl"\n',
      6,
      'a cell contains a double quote',
    ],
    ['a quote inside', 'username\nan"na"\n', 2, 'a cell contains a double quote'],
    ['Latin 1', Buffer.from('username\njos\xe9\n', 'latin1'), 1, 'the file must be UTF-8'],
    ['UTF-16', Buffer.from('\u{feff}username\nanna\n', 'utf16le'), 1, 'the file must be UTF-8'],
  ])(`${kind}, import: %s causes a single error that says so`, async (_what, text, line, message) => {
    expect(await faultsOf(text)).toEqual([expect.objectContaining({ line, message: expect.stringContaining(message) })])
  })

  test(`${kind}, import: errors are cut off at 1,000; more than 1,000 passwords or 20,000 users are rejected`, async () => {
    expect(await faultsOf(`username\n${'\u202e\n'.repeat(1500)}`)).toHaveLength(1000)
    const many = Array.from({ length: 1001 }, (_, at) => `user${at},correct horse ${at}`).join('\n')
    expect((await faultsOf(`username,password\n${many}`)).map(({ field }) => field)).toEqual(['password'])
    expect((await faultsOf(`username\n${'a\n'.repeat(20_001)}`)).map(({ message }) => message)).toEqual([
      'a file may have at most 20000 users: split the file',
    ])
  })

  test(`${kind}, import: a failure in the database leaves no user behind`, async () => {
    const rows = Array.from({ length: 150 }, (_, at) => `user${at},Users`).join('\n')
    const failing = createUsersCsv({
      db: db.withPlugin({
        transformQuery({ node }) {
          if (node.kind === 'InsertQueryNode' && JSON.stringify(node).includes('user149')) throw new Error('disk full')
          return node
        },
        transformResult: async ({ result }) => result,
      }),
      users,
      passwords,
      limits: createLimits(),
      endAccess: async () => {},
      unlisted: async () => [],
    })
    const file = Buffer.from(`username,permissions\n${rows}`)
    await expect(failing.import(file, { dryRun: false })).rejects.toThrow('disk full')
    expect(await namesOf()).toEqual([])
  })

  test(`${kind}, import: other requests are served while thousands of users are imported`, async () => {
    let imports = 0
    async function longestPause(): Promise<number> {
      const name = (at: number) => `user${imports}-${at}`
      const rows = Array.from({ length: MANY }, (_, at) => `${name(at)},${name(at)}@example.org,Users;Sales@crm`)
      imports += 1
      let longest = 0
      let last = performance.now()
      const watch = setInterval(() => {
        longest = Math.max(longest, performance.now() - last)
        last = performance.now()
      }, 1)
      expect(await load(`username,email,permissions\n${rows.join('\n')}`)).toMatchObject({ created: MANY })
      clearInterval(watch)
      return longest
    }
    expect(await leastOf(longestPause, 500)).toBeLessThan(500)
  })

  test(`${kind}, export: the file contains no hashes, is sorted by name, and has formulas written as text`, async () => {
    await users.create({ username: '=cmd()', displayName: '+1', email: '-x@example.org', password: GOOD })
    await users.create({
      username: 'anna',
      displayName: 'Jansen, "Anna"',
      permissions: ['Users', { name: 'Sales', solution: 'crm' }],
    })
    await users.create({ username: "'=quoted", enabled: false, permissions: ['@home', 'a;b\\c'] })
    expect((await exported()).split('\r\n')).toEqual([
      'username,displayName,email,enabled,permissions',
      "''=quoted,,,false,\\@home;a\\;b\\\\c",
      "'=cmd(),'+1,'-x@example.org,true,",
      'anna,"Jansen, ""Anna""",,true,Users;Sales@crm',
      '',
    ])
  })

  test(`${kind}, export: importing the file changes nothing, and creates the same users in another host`, async () => {
    await users.create({
      username: '=cmd()',
      displayName: '\uff0b1',
      email: '@x@example.org'.slice(1),
      permissions: ['=x', '-y;z'],
    })
    await users.create({
      username: "'=quoted",
      displayName: "''-x",
      enabled: false,
      permissions: ['@home', 'a;b\\c\\'],
    })
    await users.create({ username: 'josé 🐴', permissions: [{ name: 'a@b', solution: 'crm' }, ' \\'.trim()] })
    const text = await exported()
    expect(await load(text)).toEqual({
      created: 0,
      changed: 0,
      unchanged: 3,
      createdWithoutPassword: 0,
      unlistedPermissions: [],
      dryRun: false,
    })
    const before = (await users.list({ limit: 10 })).items.map(({ uid, createdAt, ...rest }) => rest)
    await db.deleteFrom('permissions').execute()
    await db.deleteFrom('users').execute()
    expect(await load(text)).toMatchObject({ created: 3 })
    expect((await users.list({ limit: 10 })).items.map(({ uid, createdAt, ...rest }) => rest)).toEqual(before)
  })

  test(`${kind}, export: more users than fit into a page are all exported`, async () => {
    const rows = Array.from({ length: 1203 }, (_, at) => `user${at}`).join('\n')
    await load(`username\n${rows}`)
    const lines = (await exported()).trim().split('\r\n')
    expect([lines.length, new Set(lines).size]).toEqual([1204, 1204])
  })
}
