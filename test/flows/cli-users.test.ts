import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCli, runCliProcess, temporaryFolder, writeFiles } from '../support/cli.ts'
import { ADMIN_PASSWORD, startTestHost, type TestHost } from '../support/host.ts'
import { addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'
import { waitUntil } from '../support/wait-until.ts'

// Tests `solhost users …` against a real host.

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
})
afterAll(() => host.stop())

const folder = temporaryFolder()
afterAll(() => folder[Symbol.dispose]())

/** Runs the command as the admin account. */
function users(words: readonly string[], env: Record<string, string> = {}, run = runCli) {
  const options = { cwd: folder.path, env: { SOLHOST_PASSWORD: ADMIN_PASSWORD, ...env } }
  return run(['users', ...words, '--user', 'admin'], options)
}

async function userNamed(username: string): Promise<Record<string, unknown> | undefined> {
  const { items } = await askAdmin(host, 'GET', `users?search=${encodeURIComponent(username)}`)
  return (items as Record<string, unknown>[]).find((user) => user.username === username)
}

test('users add: the new user has the permissions, can sign in with the printed password, and must change it', async () => {
  await addDefaultSolution(host, 'crm')
  const words = ['add', 'anna', host.url, '--permissions', 'Users, Sales@crm', '--email', 'a@example.org']
  const added = await users(words, {}, runCliProcess)
  const password = /password {5}([a-z2-9]{5}(?:-[a-z2-9]{5}){3}) {3}\(shown only once\)/.exec(added.out)?.[1] ?? ''
  const user = await userNamed('anna')
  expect(added).toEqual({
    code: 0,
    err: '',
    out: `Added anna.
  password     ${password}   (shown only once)
  uid          ${user?.uid}
  permissions  Users,Sales@crm
Next: send the user their username and password. They must choose a new password at the first sign-in.
`,
  })
  expect(user).toMatchObject({
    email: 'a@example.org',
    enabled: true,
    mustChangePassword: true,
    permissions: ['Users', { name: 'Sales', solution: 'crm' }],
  })
  const browser = await visit(host, 'crm')
  const answer = await browser.signIn('anna', password)
  expect([answer.status, answer.text.includes('Choose a new password')]).toEqual([200, true])
})

test('users add: without permissions, the suggested command has the same account as this one', async () => {
  expect((await users(['add', 'ada', host.url])).out).toMatch(
    new RegExp(`:\n  solhost users set ada ${host.url} --user admin --permissions <list>\n$`),
  )
})

test('users add: a duplicate name and a weak password are reported with the host’s message', async () => {
  await addUser(host, 'bram')
  expect(await users(['add', 'BRAM', host.url])).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(/^.*BRAM.*\nNext: choose another name, or change that user with "users set"\.\n$/),
  })
  const weak = await users(['add', 'carla', host.url, '--ask-password'], { SOLHOST_NEW_PASSWORD: 'short' })
  expect([weak.code, weak.out]).toEqual([1, ''])
  expect(weak.err).toMatch(/^The host rejected the request: .*8 characters/)
  expect(await userNamed('carla')).toBeUndefined()
})

test('users list: prints a table sorted by name, and supports --search and --json', async () => {
  await addUser(host, 'dora', { permissions: ['Users'], email: 'd@example.org' })
  await addUser(host, 'dorian', { permissions: [], enabled: false })
  const uids = [(await userNamed('dora'))?.uid, (await userNamed('dorian'))?.uid] as [string, string]
  const width = Math.max(...uids.map((uid) => uid.length))
  expect(await users(['list', host.url, '--search', 'DOR'])).toEqual({
    code: 0,
    err: `Next: solhost users add <name> ${host.url} --user admin\n`,
    out: `name    ${'uid'.padEnd(width)}  state     email          permissions
dora    ${uids[0].padEnd(width)}  enabled   d@example.org  Users
dorian  ${uids[1].padEnd(width)}  disabled  -              -
`,
  })
  const listed = JSON.parse((await users(['list', host.url, '--search', 'dora', '--json'])).out)
  expect(listed).toEqual({ ok: true, users: [await userNamed('dora')] })
  expect((await users(['list', host.url, '--search', 'zz'])).out).toBe('No user matches "zz".\n')
})

test('users set: permissions, disabling and a new password take effect immediately', async () => {
  await addDefaultSolution(host, 'shop')
  await addUser(host, 'emil')
  const browser = await visit(host, 'shop')
  await browser.signIn('emil')
  expect((await browser.session()).status).toBe(200)
  const set = await users(['set', 'Emil', host.url, '--disable', '--permissions', 'Sales', '--display-name', 'Emil E.'])
  expect([set.code, set.err, set.out]).toEqual([
    0,
    '',
    `Changed emil.\n  state        disabled\n  permissions  Sales\nNext: solhost users list ${host.url} --user admin\n`,
  ])
  expect(await userNamed('emil')).toMatchObject({ enabled: false, permissions: ['Sales'], displayName: 'Emil E.' })
  await waitUntil(async () => expect((await browser.session()).status).toBe(401))

  expect((await users(['set', 'emil', host.url, '--enable', '--permissions', ''])).code).toBe(0)
  expect(await userNamed('emil')).toMatchObject({ enabled: true, permissions: [], displayName: 'Emil E.' })
  const asked = await users(['set', 'emil', host.url, '--permissions', 'Users', '--ask-password'], {
    SOLHOST_NEW_PASSWORD: 'nine purple ladders',
  })
  expect(asked.code).toBe(0)
  const again = await visit(host, 'shop')
  expect((await again.signIn('emil', PASSWORD)).status).toBe(401)
  const answer = await again.signIn('emil', 'nine purple ladders')
  expect([answer.status, answer.text.includes('Choose a new password')]).toEqual([200, true])
})

test('users set: no change, conflicting options and an unknown user are reported', async () => {
  const nothing = await users(['set', 'nobody', host.url])
  expect(nothing).toEqual({
    code: 2,
    out: '',
    err: 'solhost users set: no change was specified; add at least one option.\nRun "solhost help users set" for usage.\n',
  })
  expect((await users(['set', 'nobody', host.url, '--enable', '--disable'])).code).toBe(2)
  expect(await users(['set', 'nobody', host.url, '--enable'])).toEqual({
    code: 1,
    out: '',
    err: `The host has no user "nobody". Run "solhost users list ${host.url} --user admin" to see the users.\n`,
  })
})

test('users remove: deletes the user; --erase also removes the name from the audit log', async () => {
  await addUser(host, 'fay')
  await addUser(host, 'fayette')
  const { code, out } = await users(['remove', 'fay', host.url])
  expect([code, out]).toEqual([0, `Removed fay.\nNext: solhost users list ${host.url} --user admin\n`])
  expect([await userNamed('fay'), (await userNamed('fayette'))?.username]).toEqual([undefined, 'fayette'])
  const erased = JSON.parse((await users(['remove', 'fayette', host.url, '--erase', '--json'])).out)
  expect(erased).toEqual({ ok: true, uid: expect.any(String), username: 'fayette', erased: true })
})

test('users import and export: either all lines are imported, or none and the invalid lines are reported', async () => {
  // This solution lists no permissions, so any name may be right.
  await addDefaultSolution(host, 'desk')
  const good = 'username,permissions,password\ngusta,Users;Sales@crm,seven green tractors\nhugo,,\n'
  writeFiles(folder.path, { 'good.csv': good, 'bad.csv': 'username,email\nines,ines\n,x@example.org\n' })
  const dry = await users(['import', 'good.csv', host.url, '--dry-run'])
  expect([dry.code, dry.out]).toEqual([
    0,
    'Dry run: 2 to add, 0 to change, 0 unchanged.\n' +
      '1 new user has no password and can’t sign in. After the import, invite the user on the admin pages (the user’s page, "Link for the user"; see docs/self-service.md), or set a password with "users set".\n' +
      `Next: solhost users import good.csv ${host.url} --user admin\n`,
  ])
  expect(await userNamed('gusta')).toBeUndefined()
  expect((await users(['import', 'good.csv', host.url])).out).toBe(
    '2 added, 0 changed, 0 unchanged.\n' +
      '1 new user has no password and can’t sign in. Invite the user on the admin pages (the user’s page, "Link for the user"; see docs/self-service.md), or set a password with "users set".\n' +
      `Next: solhost users list ${host.url} --user admin\n`,
  )
  expect(await userNamed('gusta')).toMatchObject({ permissions: ['Users', { name: 'Sales', solution: 'crm' }] })

  writeFiles(folder.path, {
    'commas.csv': 'username,permissions,password\ngusta,"Users,Sales@crm",\nhugo,Users;Sales,\n',
  })
  expect((await users(['import', 'commas.csv', host.url])).out).toBe(
    '0 added, 2 changed, 0 unchanged.\nNo solution lists the permission "Users,Sales". Check the spelling. In the file, ";" separates permissions.\n' +
      `Next: solhost users list ${host.url} --user admin\n`,
  )
  expect((await users(['list', host.url, '--search', 'gusta'])).out).toMatch(/ "Users,Sales@crm"\n$/)
  expect((await users(['list', host.url, '--search', 'hugo'])).out).toMatch(/ Sales,Users\n$/)

  const bad = await users(['import', 'bad.csv', host.url])
  expect([bad.code, bad.out]).toEqual([1, ''])
  expect(bad.err).toMatch(
    /^bad\.csv:2 {2}email must be .+\nbad\.csv:3 {2}username must be .+\nNothing was imported\. Next: /,
  )
  expect(await userNamed('ines')).toBeUndefined()

  expect((await users(['export', host.url, '-o', 'all.csv'])).code).toBe(0)
  const file = join(folder.path, 'all.csv')
  const written = readFileSync(file, 'utf8')
  expect(written).toContain('gusta,,,true,"Users,Sales@crm"')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const shown = await users(['export', host.url], {}, runCliProcess)
  expect([shown.out, shown.err]).toEqual([written, ''])
  const over = await users(['export', host.url, '-o', 'all.csv'])
  expect([over.code, over.err]).toEqual([1, expect.stringMatching(/^Cannot create all\.csv: EEXIST/)])
})

test('users: a token without the scope is rejected, and the message says which scope is required', async () => {
  const { token } = (await askAdmin(host, 'POST', 'tokens', { name: 'reader', scopes: ['users:read'] })) as {
    token: string
  }
  const options = { cwd: folder.path, env: { SOLHOST_TOKEN: token } }
  expect((await runCli(['users', 'list', host.url], options)).code).toBe(0)
  const added = await runCli(['users', 'add', 'ivo', host.url], options)
  expect([added.code, added.out]).toEqual([4, ''])
  expect(added.err).toMatch(
    /Next: ask the operator for a token with the scope users:read\. To make changes, it also needs users:write\.\n$/,
  )
})

test('users: if the subcommand is missing or unknown, the output lists the subcommands', async () => {
  const run = (...words: string[]) => runCli(words, { cwd: folder.path })
  expect(await run('users')).toEqual({
    code: 2,
    out: '',
    err: 'solhost users: missing command.\nRun "solhost help users" for a list of commands.\n',
  })
  expect((await run('users', 'lst')).err).toBe(
    'Unknown command "users lst". Did you mean "users list"? Run "solhost help" for a list of commands.\n',
  )
  const { code, out } = await run('help', 'users')
  expect([code, out.match(/^ {2}users [a-z]+/gm)]).toEqual([
    0,
    ['  users list', '  users add', '  users set', '  users remove', '  users import', '  users export'],
  ])
  expect((await run('users', '--help')).out).toBe(out)
  expect((await run('help', 'users', 'add')).out).toContain('solhost users add <name> <url> [options]\n')
})
