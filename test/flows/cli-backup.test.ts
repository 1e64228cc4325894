import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backUpPlatform } from '../../base/backup/backup.ts'
import type { BackupManifest } from '../../base/backup/manifest.ts'
import { openArchive } from '../../base/backup/read-archive.ts'
import { restorePlatform } from '../../base/backup/restore.ts'
import { openPlatformKey } from '../../base/config/platform-key.ts'
import { readSettings } from '../../host/config/settings.ts'
import { openHostDatabase } from '../../host/database/open.ts'
import { createSecrets } from '../../host/secrets/secrets.ts'
import { type CliRun, runCli, runCliProcess, temporaryFolder, writeFiles } from '../support/cli.ts'
import { openOnce } from '../support/client-page.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { mariadbPath, sharedMariadb } from '../support/mariadb-server.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { addDefaultSolution, addUser, askAdmin, visit } from '../support/users.ts'
import { bundleOf } from '../support/zip.ts'

/** A solution that writes a value from the URL to its embedded database. */
const NOTES = `async function onSolutionOpen(arg, q) {
  await plugins.database.query('own', 'CREATE TABLE IF NOT EXISTS note (text TEXT)')
  await plugins.database.query('own', 'INSERT INTO note VALUES (?)', [q.note])
}`
const PLUGIN = `export default () => ({ name: 'empty', guest: new URL('./guest.ts', import.meta.url), commands: {} })\n`
const GUEST = 'export default function empty() { return {} }\n'
const SECRET = 'what only id.example.org may see'

const folder = temporaryFolder()
const at = (name: string) => join(folder.path, name)
const source = at('source')
const backup = at('backup.zip')
const run = (words: string[], home: string, env: Record<string, string> = {}): Promise<CliRun> =>
  runCli(words, { cwd: folder.path, env: { PLATFORM_HOME: home, ...env } })

let host: TestHost
/** A simulated browser with a signed-in user. */
let tab: Awaited<ReturnType<typeof visit>>

beforeAll(async () => {
  writeFiles(source, { 'plugins/empty/host.ts': PLUGIN, 'plugins/empty/guest.ts': GUEST })
  host = await startTestHost({}, { home: source })
  await addUser(host, 'anna', { displayName: 'Änna 🌻', permissions: ['Users', 'Sales'] })
  const manifest = { permissions: ['Users', 'Sales'] }
  await addDefaultSolution(host, 'crm', manifest, { 'media/a.txt': 'text', 'globals.js': 'var a = 1' })
  await addDefaultSolution(host, 'crm', { ...manifest, version: '2.0.0' })
  const databases = { own: { server: 'embedded' } }
  const notes = await bundleOf({ name: 'notes', authenticator: 'NONE', databases }, { 'globals.js': NOTES })
  expect((await host.upload('notes', notes)).status).toBe(201)
  await askAdmin(host, 'PUT', 'solutions/crm/secrets/PROVIDER', { value: SECRET, hosts: ['id.example.org'] }, 204)
  await askAdmin(host, 'PUT', 'solutions/crm/oauth', { provider: 'google', clientId: 'c', apiSecret: '%%PROVIDER%%' })
  await askAdmin(host, 'PUT', 'solutions/crm/grants', { databases: {}, http: [], users: true })
  tab = await visit(host, 'crm')
  expect((await tab.signIn('anna')).status).toBe(303)
  await note('first')
})
afterAll(async () => {
  await host.stop()
  folder[Symbol.dispose]()
})

function note(text: string): Promise<unknown> {
  return openOnce(host.url, 'notes', createVisitor(host.url), `?note=${text}`)
}

/**
 * @returns the row count and hash of each table in a backup, by table name. The table of paused jobs is left out,
 * because a restore pauses all jobs. `expectWorks` checks that.
 */
async function tablesIn(file: string): Promise<Record<string, string>> {
  const { manifest, close } = await openArchive(file)
  close()
  const isCompared = (name: string) => name.startsWith('database/') && name !== 'database/job_pauses.jsonl'
  const parts = Object.entries(manifest.parts).filter(([name]) => isCompared(name))
  return Object.fromEntries(parts.map(([name, { sha256, rows }]) => [name, `${rows} rows ${sha256}`]))
}

async function rowsOf(file: string, table: string): Promise<Record<string, unknown>[]> {
  const archive = await openArchive(file)
  let text = ''
  for await (const piece of archive.read(`database/${table}.jsonl`)) text += piece.toString('utf8')
  archive.close()
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, unknown>]))
}

/**
 * Starts a host on the restored data. Checks that known passwords and cookies work, and that the key decrypts the
 * secret.
 */
async function expectWorks(home: string, properties: Record<string, string> = {}): Promise<void> {
  const settings = readSettings({ PLATFORM_HOME: home, ...properties })
  const restored = await startTestHost(properties, { home })
  try {
    const fresh = await visit(restored, 'crm')
    expect((await fresh.signIn('anna')).status).toBe(303)
    expect((await fresh.session()).json()).toMatchObject({ username: 'anna', permissions: ['Sales', 'Users'] })
    const old = await visit(restored, 'crm')
    for (const [name, cookie] of tab.cookies) old.cookies.set(name, cookie)
    expect((await old.session()).json()).toMatchObject({ username: 'anna' })
    expect((await fresh.signIn('anna', 'a wrong password')).status).not.toBe(303)
    const versions = (await askAdmin(restored, 'GET', 'solutions/crm')) as { versions: { version: string }[] }
    expect(versions.versions.map(({ version }) => version)).toEqual(['1.0.0', '2.0.0'])
    expect(await askAdmin(restored, 'GET', 'solutions/crm/grants')).toMatchObject({ users: true })
    expect(await askAdmin(restored, 'GET', 'solutions/crm/jobs')).toMatchObject({ paused: true })
    // Tests that the sequence of an auto-increment key was restored too.
    await addUser(restored, 'after-the-restore')
    const db = await openHostDatabase(settings)
    const key = await openPlatformKey(db, home, settings.platformKey)
    expect(await createSecrets(db, key).forHost('crm', 'PROVIDER', 'id.example.org')).toBe(SECRET)
    await db.destroy()
  } finally {
    await restored.stop()
  }
  expect(readFileSync(join(home, 'plugins/empty/host.ts'), 'utf8')).toBe(PLUGIN)
  using notes = new DatabaseSync(join(home, 'databases/notes.sqlite'))
  expect(notes.prepare('SELECT text FROM note LIMIT 1').all()).toEqual([{ text: 'first' }])
}

test('backup: a backup taken while a host runs and users write is a consistent snapshot, readable only by its owner', async () => {
  let isWriting = true
  let added = 0
  const writing = (async () => {
    while (isWriting) await Promise.all([addUser(host, `user-${added++}`), note(`n${added}`)])
  })()
  await expect.poll(() => added).toBeGreaterThan(2)
  const options = { cwd: folder.path, env: { PLATFORM_HOME: source } }
  const { code, out, err } = await runCliProcess(['backup', backup], options)
  isWriting = false
  await writing
  expect([code, err]).toEqual([0, ''])
  expect(out).toMatch(/^\S+backup\.zip: \d+ rows, 1 solution database, 2 plugin files, \d+ bytes\n/)
  expect(out).toContain('The backup contains secrets and the key')
  expect(out).toMatch(/\nNext: .*solhost restore .*\n$/)
  expect(statSync(backup).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder.path).filter((name) => name.startsWith('.solhost-backup'))).toEqual([])
  const uids = (await rowsOf(backup, 'users')).map(({ uid }) => uid)
  const permissions = new Set((await rowsOf(backup, 'permissions')).map(({ uid }) => uid))
  expect(uids.length).toBeGreaterThan(3)
  expect([...permissions].sort()).toEqual([...uids].sort())
})

test('restore: a restore into an empty folder brings back passwords, cookies, secrets, versions, grants, data and plugins', async () => {
  const home = at('restored')
  const options = { cwd: folder.path, env: { PLATFORM_HOME: home } }
  const { code, out } = await runCliProcess(['restore', backup, '--json'], options)
  expect([code, JSON.parse(out)]).toMatchObject([0, { ok: true, replaced: null, solutionDatabases: 1 }])
  const files = readdirSync(home).sort()
  expect(files).toEqual(['databases', 'in-use', 'platform-key', 'platform.sqlite', 'plugins'])
  const open = files.filter(
    (name) => statSync(join(home, name)).isFile() && (statSync(join(home, name)).mode & 0o77) > 0,
  )
  expect(open).toEqual([])
  await expectWorks(home)
  using notes = new DatabaseSync(join(home, 'databases/notes.sqlite'))
  expect(notes.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
})

test('restore: prints that jobs are paused, and the command that resumes them', async () => {
  const { code, out } = await run(['restore', backup], at('restored-as-text'))
  expect([code, out.split('\n').slice(1)]).toEqual([
    0,
    [
      'Sessions and remembered logins from the backup are valid again, unless they have expired.',
      'The jobs of all solutions are paused, because some runs in the backup may have finished after the backup.',
      'Next: solhost start',
      'After the start, check each solution’s runs and resume its jobs:',
      '  solhost jobs runs <name> <url>',
      '  solhost jobs resume <name> <url>',
      '',
    ],
  ])
})

test('restore: fails without changes if a host is running, data exists or the file is truncated', async () => {
  const running = await run(['restore', backup, '--replace'], source)
  expect([running.code, running.err]).toEqual([
    1,
    expect.stringMatching(/^A host or another restore is using .*Stop the host/),
  ])
  const other = at('other')
  const alive = await startTestHost({}, { home: other })
  await addUser(alive, 'berta')
  await alive.stop()
  const occupied = await run(['restore', backup], other)
  expect([occupied.code, occupied.err]).toEqual([1, expect.stringMatching(/contains platform\.sqlite.*--replace/s)])
  const cut = at('cut.zip')
  writeFileSync(cut, readFileSync(backup).subarray(0, statSync(backup).size / 2))
  const half = await run(['restore', cut, '--replace'], other)
  expect([half.code, half.err]).toEqual([1, expect.stringMatching(/as a backup: the file is truncated/)])
  const again = await startTestHost({}, { home: other })
  expect(await askAdmin(again, 'GET', 'users?search=berta')).toMatchObject({ items: [{ username: 'berta' }] })
  await again.stop()

  const replaced = await run(['restore', backup, '--replace'], other)
  expect([replaced.code, replaced.err]).toEqual([0, ''])
  const kept = readdirSync(other).find((name) => name.startsWith('replaced-')) as string
  expect(replaced.out).toContain(join(other, kept))
  expect(readdirSync(join(other, kept))).toEqual(expect.arrayContaining(['platform-key', 'platform.sqlite']))
  await expectWorks(other)
})

test('key: a backup without the platform key can be restored only with the right key', async () => {
  const file = at('without-key.zip')
  const { out } = await run(['backup', file, '--without-key'], source)
  expect(out).toContain('does not contain the platform’s key')
  const home = at('without-key')
  const none = await run(['restore', file], home)
  expect([none.code, none.err]).toEqual([1, expect.stringContaining('Neither the backup ')])
  const wrong = await run(['restore', file], home, { PLATFORM_KEY: 'another key than that of the platform' })
  expect([wrong.code, wrong.err]).toEqual([
    1,
    expect.stringContaining('PLATFORM_KEY is not the key used to create the backup'),
  ])
  expect(existsSync(join(home, 'platform.sqlite'))).toBe(false)
  const PLATFORM_KEY = readFileSync(join(source, 'platform-key'), 'utf8')
  expect((await run(['restore', file], home, { PLATFORM_KEY })).code).toBe(0)
  await expectWorks(home, { PLATFORM_KEY })
})

/** Copies the embedded database to a server and back, and checks that the rows stay the same. */
function testServer(kind: 'alpha' | 'gamma', startServer: () => Promise<TestServer>): void {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  }, SERVER_START)
  afterAll(() => server.stop())

  const onServer = (home: string, name = 'restored') => ({
    PLATFORM_HOME: home,
    PLATFORM_DATABASE: kind,
    PLATFORM_DATABASE_NAME: name,
    [`DB_${kind.toUpperCase()}_SERVER`]: server.address.host,
    [`DB_${kind.toUpperCase()}_PORT`]: String(server.address.port),
    [`DB_${kind.toUpperCase()}_PASSWORD`]: server.address.password,
  })
  const restore = (file: string, properties: Record<string, string>, more = {}) =>
    restorePlatform({ settings: readSettings(properties), file, replace: false, force: false, ...more })
  const backUp = async (file: string, properties: Record<string, string>): Promise<BackupManifest> => {
    const settings = readSettings(properties)
    return (await backUpPlatform({ settings, file, withKey: true, version: 'test' })).manifest
  }

  test(`${kind}: a platform can be moved from the embedded database to the server and back with every row, and works there`, async () => {
    const home = at(`home-${kind}`)
    await restore(backup, onServer(home))
    const there = at(`${kind}.zip`)
    expect((await backUp(there, onServer(home))).kind).toBe(kind)
    expect(await tablesIn(there)).toEqual(await tablesIn(backup))
    await restore(there, { PLATFORM_HOME: at(`back-${kind}`) })
    await backUp(at(`back-${kind}.zip`), { PLATFORM_HOME: at(`back-${kind}`) })
    expect(await tablesIn(at(`back-${kind}.zip`))).toEqual(await tablesIn(backup))
    await expectWorks(home, onServer(home))
  })

  test(`${kind}: a restore into a database that is in use or has data fails; --replace replaces the data with the backup`, async () => {
    const properties = onServer(at(`replace-${kind}`), 'replaced')
    const before = await openHostDatabase(readSettings(properties))
    await before.insertInto('platform').values({ key: 'before', value: 'x' }).execute()
    await expect(restore(backup, properties)).rejects.toMatchObject({ code: 'ERR_RESTORE_NOT_EMPTY' })
    const inUse = restore(backup, properties, { replace: true })
    await expect(inUse).rejects.toMatchObject({
      code: 'ERR_PLATFORM_IN_USE',
      message: expect.stringContaining('--force'),
    })
    await before.destroy()
    await restore(backup, properties, { replace: true, force: true })
    await backUp(at(`replaced-${kind}.zip`), properties)
    expect(await tablesIn(at(`replaced-${kind}.zip`))).toEqual(await tablesIn(backup))
  })

  test(`${kind}: a restore that fails in its last step leaves no rows, tables or files behind`, async () => {
    const home = at(`failed-${kind}`)
    const properties = onServer(home, 'failed')
    // The restore fails in its last step because it can't replace a symbolic link with a folder.
    mkdirSync(home)
    symlinkSync('nowhere', join(home, 'databases'))
    await expect(restore(backup, properties)).rejects.toMatchObject({ code: 'ENOTDIR' })
    expect(readdirSync(home).sort()).toEqual(['databases', 'in-use'])
    await expect(backUp(at('none.zip'), properties)).rejects.toMatchObject({ code: 'ERR_BACKUP_FAILED' })
    expect(existsSync(at('none.zip'))).toBe(false)
  })
}

describe.skipIf(postgresPath === undefined)('PostgreSQL (skipped where it is not installed)', () =>
  testServer('alpha', sharedPostgres),
)
describe.skipIf(mariadbPath === undefined)('MariaDB (skipped where it is not installed)', () =>
  testServer('gamma', () => sharedMariadb()),
)
