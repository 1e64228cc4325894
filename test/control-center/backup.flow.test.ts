import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backUp, backUpPlatform } from '../../base/backup/backup.ts'
import { openArchive } from '../../base/backup/read-archive.ts'
import { restore, restorePlatform } from '../../base/backup/restore.ts'
import { PLATFORM_TABLES, type Saved, type SavedTables } from '../../base/backup/saved.ts'
import { BACKUP_TABLES } from '../../base/backup/tables.ts'
import { embedded, embeddedDialect } from '../../base/database/embedded.ts'
import { type Migrations, migrationsFor, PLATFORM_MIGRATIONS } from '../../base/database/migrations.ts'
import { openKysely } from '../../base/database/open-kysely.ts'
import { personsFactors } from '../../control-center/access/confirmations.ts'
import { CONTROL_CENTER, WITHOUT_TELEMETRY } from '../../control-center/backup/saved.ts'
import { CENTER_TABLES, TELEMETRY_TABLES } from '../../control-center/backup/tables.ts'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { CENTER_MIGRATIONS } from '../../control-center/migrations/migrations.ts'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'
import { openTelemetryDatabase } from '../../control-center/telemetry/database/open-telemetry.ts'
import { TELEMETRY_MIGRATIONS } from '../../control-center/telemetry/database/tables.ts'
import { readSettings } from '../../host/config/settings.ts'
import { firstCodeOf } from '../support/authenticator-app.ts'
import { OWNER, signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { SimulatedHost, sendOtlp } from '../support/otlp.ts'
import { makeTestPipeline, uploadPackage } from '../support/pipelines.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { UNTHROTTLED } from '../support/unthrottled.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf } from '../support/zip.ts'

const COMMAND = fileURLToPath(new URL('../../bin/control-center.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'center-backup-'))
const at = (name: string) => join(folder, name)
const source = at('source')
const backup = at('backup.zip')

let center: TestCenter
let token = ''
let satellite = ''
let bundle: Buffer
let context: string
let publicKey = ''
let secret = ''
let strict = { id: '', uid: '' }

beforeAll(async () => {
  center = await startTestCenter({}, { home: source })
  publicKey = center.parts.signing.publicKey
  token = await center.tokenOf('owner')
  satellite = (await center.environment('east')).token
  await addSecondFactor()
  bundle = await bundleOf({ name: 'shop', title: 'Schöp 🌻', version: '1.0.0' })
  await uploadPackage(center, bundle)
  await makeTestPipeline(center, { name: 'shop-image', package: 'shop' })
  const runs = 'organisations/acme/pipelines/shop-image/runs'
  expect((await center.api('POST', runs, {})).status).toBe(201)
  await waitUntil(async () => expect((await center.api('GET', `${runs}/1`)).body.state).toBe('done'))
  context = await contextOf(center)
  const host = new SimulatedHost()
  host.add('solhost_logins_total', { solution: 'shop', mode: 'default', result: 'ok' }, 7)
  expect((await sendOtlp(center.url, satellite, 'metrics', host.metrics())).status).toBe(200)
  const lines = ['a parcel was lost', 'Łódź answered', 'nothing of note'].map((message) => ({ message }))
  expect((await sendOtlp(center.url, satellite, 'logs', host.logs(lines))).status).toBe(200)
})

afterAll(async () => {
  await center?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Creates an organisation that requires a second factor, and an owner who has one. */
async function addSecondFactor(): Promise<void> {
  const { apps, organisations } = center.parts
  const uid = await center.account('strict@example.org')
  const { id } = await organisations.create({ name: 'strict', title: 'Strict' }, uid)
  await organisations.setSecondFactor(id, 'required')
  secret = apps.newSecret()
  await apps.add(personsFactors(uid), secret, await firstCodeOf(secret), 'App')
  strict = { id, uid }
}

async function get(from: TestCenter, path: string): Promise<Buffer> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${from.url}/api/organisations/acme/${path}`, { headers })
  expect([path, answer.status]).toEqual([path, 200])
  return Buffer.from(await answer.arrayBuffer())
}

/** @returns the Docker build context that the pipeline created: artifact id, size and content */
async function contextOf(from: TestCenter): Promise<string> {
  const { items } = JSON.parse(String(await get(from, 'packages/shop/artifacts'))) as { items: Artifact[] }
  const [artifact] = items.filter(({ kind }) => kind === 'context')
  const content = await get(from, `packages/shop/artifacts/${artifact?.id}/content`)
  return `${artifact?.id} ${content.length} ${content.toString('base64')}`
}
type Artifact = { readonly id: string; readonly kind: string }

const messages = async (from: TestCenter, words: string): Promise<string[]> => {
  const { items } = JSON.parse(String(await get(from, `logs?words=${encodeURIComponent(words)}`))) as {
    items: { message: string }[]
  }
  return items.map(({ message }) => message)
}

/** Starts a control center on restored data, and checks its tokens, password, key, bundle, artifact and telemetry. */
async function expectWorks(home: string, properties: Record<string, string> = {}, hasTelemetry = true): Promise<void> {
  const restored = await startTestCenter(properties, { home })
  try {
    expect(restored.parts.signing.publicKey).toBe(publicKey)
    expect((await signInToCenter(restored, OWNER)).csrfToken).not.toBe('')
    const { versions } = JSON.parse(String(await get(restored, 'packages/shop'))) as { versions: { sha256: string }[] }
    expect(await get(restored, `packages/shop/versions/${versions[0]?.sha256}/bundle`)).toEqual(bundle)
    expect(await contextOf(restored)).toBe(context)
    const { registries, organisations, factors } = restored.parts
    expect(await organisations.secondFactorOf(strict.id)).toBe('required')
    expect((await factors.of(personsFactors(strict.uid))).factors).toMatchObject([{ kind: 'app', name: 'App' }])
    const acme = (await organisations.find('acme'))?.id ?? ''
    const [registry] = await registries.list(acme)
    expect(await registries.secret(acme, registry?.id ?? '')).toMatchObject({ accessKeyId: 'AKIATESTTESTTEST1234' })
    expect(await messages(restored, 'parcel')).toEqual(hasTelemetry ? ['a parcel was lost'] : [])
    expect(await messages(restored, 'łodz')).toEqual(hasTelemetry ? ['Łódź answered'] : [])
    // New rows get higher ids than the restored rows, and the Satellite's token works.
    const more = new SimulatedHost()
    const response = await sendOtlp(restored.url, satellite, 'logs', more.logs([{ message: 'after the restore' }]))
    expect(response.status).toBe(200)
    expect(await messages(restored, 'restore')).toEqual(['after the restore'])
    more.add('solhost_logins_total', { solution: 'new', mode: 'default', result: 'ok' }, 1)
    expect((await sendOtlp(restored.url, satellite, 'metrics', more.metrics())).status).toBe(200)
    expect((await restored.api('POST', 'organisations/acme/environments', { name: 'west', type: 'dev' })).status).toBe(
      201,
    )
  } finally {
    await restored.stop()
  }
}

function settingsOf(home: string, properties: Record<string, string> = {}) {
  return readCenterSettings({ ...UNTHROTTLED, PLATFORM_HOME: home, ...properties })
}

function backUpTo(file: string, home = source, properties: Record<string, string> = {}, saved: Saved = CONTROL_CENTER) {
  return backUp(saved, { settings: settingsOf(home, properties), file, withKey: true, version: 'test' })
}

function restoreFrom(file: string, home: string, properties: Record<string, string> = {}) {
  return restore(CONTROL_CENTER, { settings: settingsOf(home, properties), file, replace: false, force: false })
}

/** Row count and SHA-256 of each table, by name. */
async function tablesIn(file: string): Promise<Record<string, string>> {
  const { manifest, close } = await openArchive(file, CONTROL_CENTER)
  close()
  const parts = Object.entries(manifest.parts).filter(([name]) => name.startsWith('database/'))
  return Object.fromEntries(parts.map(([name, { sha256, rows }]) => [name, `${rows} rows ${sha256}`]))
}

async function rowsOf(file: string, table: string): Promise<Record<string, string>[]> {
  const archive = await openArchive(file, CONTROL_CENTER)
  let text = ''
  for await (const piece of archive.read(`database/${table}.jsonl`)) text += piece.toString('utf8')
  archive.close()
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, string>]))
}

async function run(words: readonly string[], home: string): Promise<{ code: number; out: string; err: string }> {
  const env = { PATH: process.env.PATH ?? '', PLATFORM_HOME: home }
  return promisify(execFile)(process.execPath, [COMMAND, ...words], { env, cwd: folder }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      out: stdout,
      err: stderr,
    }),
  )
}

test('backup: it contains every control center and telemetry table, with its key and binary columns', async () => {
  const settings = settingsOf(at('tables'))
  const db = await openCenterDatabase(settings)
  await (await openTelemetryDatabase(settings)).close()
  const telemetry = openKysely(embeddedDialect(join(settings.home, 'telemetry.sqlite')))
  for (const [one, tables, others] of [
    [db, CENTER_TABLES, [...Object.keys(BACKUP_TABLES), ...Object.keys(PLATFORM_TABLES.derived?.tables ?? {})]],
    // The backup doesn't contain this table, since `makeWords` derives it from the log lines.
    [telemetry, TELEMETRY_TABLES, ['log_words']],
  ] as const) {
    const all = (await one.introspection.getTables()).filter(({ name }) => !/^log_words_|_migration/.test(name))
    expect(all.map(({ name }) => name).sort()).toEqual([...Object.keys(tables), ...others].sort())
    for (const { name, columns } of all.filter(({ name }) => Object.hasOwn(tables, name))) {
      const { rows } = await sql<{ name: string; pk: number }>`select name, pk from pragma_table_info(${name})`.execute(
        one as never,
      )
      const key = rows.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
      const bytes = columns.filter(({ dataType }) => dataType.toLowerCase() === 'blob').map((column) => column.name)
      const [made] = (
        await sql<{ sql: string }>`select sql from sqlite_schema where name = ${name}`.execute(one as never)
      ).rows
      const counted = /autoincrement/i.test(made?.sql ?? '')
      const table: { key: readonly string[]; bytes?: readonly string[]; isCounted?: boolean } =
        tables[name as keyof typeof tables]
      expect([name, table.key, table.bytes ?? [], table.isCounted ?? false]).toEqual([
        name,
        key.map((column) => column.name),
        bytes,
        counted,
      ])
    }
  }
  await db.destroy()
  await telemetry.destroy()
})

function derivedOf({ derived }: SavedTables): Readonly<Record<string, { readonly since: string }>> {
  return Object.fromEntries(Object.entries(derived?.tables ?? {}).map(([name, since]) => [name, { since }]))
}

test('backup: each schema version lists exactly its tables', async () => {
  const db = openKysely(embeddedDialect(at('versions.sqlite')))
  const all: readonly (readonly [Migrations, Readonly<Record<string, { readonly since: string }>>])[] = [
    [PLATFORM_MIGRATIONS, { ...BACKUP_TABLES, ...derivedOf(PLATFORM_TABLES) }],
    [CENTER_MIGRATIONS, CENTER_TABLES],
    [TELEMETRY_MIGRATIONS, TELEMETRY_TABLES],
  ]
  for (const [migrations, tables] of all) {
    const byVersion = migrationsFor(embedded, migrations)
    for (const version of Object.keys(migrations.versions)) {
      const before = new Set((await db.introspection.getTables()).map(({ name }) => name))
      await byVersion[version]?.up(db)
      const made = (await db.introspection.getTables()).map(({ name }) => name).filter((name) => !before.has(name))
      const said = Object.entries(tables).flatMap(([name, { since }]) => (since === version ? [name] : []))
      expect([version, made.filter((name) => !name.startsWith('log_words')).sort()]).toEqual([version, said.sort()])
    }
  }
  await db.destroy()
})

test('backup: taken during writes, it is a consistent snapshot that only its owner can read', async () => {
  const { environments, organisations } = center.parts
  const acme = (await organisations.find('acme'))?.id ?? ''
  let isWriting = true
  let added = 0
  const writing = (async () => {
    while (isWriting) {
      await center.environment(`busy-${added++}`)
      // An organisation can have only 200 environments.
      const before = added - 100
      if (before >= 0) await environments.remove(acme, `busy-${before}`)
      await new Promise(setImmediate)
    }
  })()
  await expect.poll(() => added).toBeGreaterThan(2)
  const { manifest, key } = await backUpTo(backup)
  isWriting = false
  await writing
  expect([manifest.of, manifest.kind, key]).toEqual(['control center', 'embedded', 'in the backup'])
  expect(statSync(backup).mode & 0o777).toBe(0o600)
  const there = new Set((await rowsOf(backup, 'environments')).map(({ id }) => id))
  const tokens = await rowsOf(backup, 'environment_tokens')
  expect(tokens.length).toBeGreaterThan(2)
  expect(tokens.filter(({ environment }) => !there.has(environment ?? ''))).toEqual([])
})

test('restore: into an empty folder, it creates the control center with bundles, artifacts, keys and telemetry', async () => {
  const home = at('restored')
  expect((await restoreFrom(backup, home)).replaced).toBeNull()
  const files = ['control_center.sqlite', 'in-use', 'platform-key', 'telemetry.sqlite']
  expect(readdirSync(home).sort()).toEqual(files)
  await backUpTo(at('again.zip'), home)
  expect(await tablesIn(at('again.zip'))).toEqual(await tablesIn(backup))
  await expectWorks(home)
})

test('backup --without-telemetry --without-key, restore: they work on the command line if the key is copied separately', async () => {
  const file = at('small.zip')
  const made = await run(['backup', file, '--without-key', '--without-telemetry'], source)
  expect([made.code, made.err]).toEqual([0, ''])
  expect(made.out).toMatch(
    /small\.zip: \d+ rows, without telemetry, \d+ bytes\nThe backup does not contain the platform’s key. Back up the file/,
  )
  const again = await run(['backup', file], source)
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('the file already exists')])
  const home = at('small')
  const none = await run(['restore', file], home)
  expect([none.code, none.err]).toEqual([1, expect.stringContaining('Neither the backup ')])
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'platform-key'), readFileSync(join(source, 'platform-key')))
  const put = await run(['restore', file], home)
  expect([put.code, put.err]).toEqual([0, ''])
  expect(put.out).toMatch(/^Restored the control center as of .*: \d+ rows, without telemetry\.\nTokens/)
  await expectWorks(home, {}, false)
})

test('restore: it is rejected if a control center is running there, if data exists, or if the backup is not from a control center', async () => {
  await expect(restoreFrom(backup, source)).rejects.toMatchObject({
    code: 'ERR_PLATFORM_IN_USE',
    message: expect.stringMatching(/^A control center or another restore is using/),
  })
  const home = at('occupied')
  mkdirSync(home)
  writeFileSync(join(home, 'telemetry.sqlite'), '')
  await expect(restoreFrom(backup, home)).rejects.toMatchObject({
    code: 'ERR_RESTORE_NOT_EMPTY',
    message: expect.not.stringContaining('--replace'),
  })
  const cut = at('cut.zip')
  writeFileSync(cut, readFileSync(backup).subarray(0, statSync(backup).size / 2))
  await expect(restoreFrom(cut, at('none'))).rejects.toMatchObject({ code: 'ERR_BACKUP_INVALID' })
  const platform = readSettings({ PLATFORM_HOME: at('none') })
  await expect(
    restorePlatform({ settings: platform, file: backup, replace: false, force: false }),
  ).rejects.toMatchObject({
    code: 'ERR_BACKUP_INVALID',
    message: expect.stringContaining('the file is a backup of a control center'),
  })
  expect(existsSync(at('none'))).toBe(false)
})

test('restore: after an interrupted restore, starting and restoring again both fail, and the start says what to do', async () => {
  const home = at('cut-off')
  mkdirSync(home)
  writeFileSync(join(home, 'restore-unfinished'), '')
  await expect(startTestCenter({}, { home })).rejects.toMatchObject({
    code: 'ERR_PLATFORM_IN_USE',
    message: expect.stringMatching(
      /was interrupted.*Delete everything in that folder, run "npm run control-center -- restore" again/,
    ),
  })
  await expect(restoreFrom(backup, home)).rejects.toMatchObject({ code: 'ERR_RESTORE_NOT_EMPTY' })
  expect(existsSync(join(home, 'control_center.sqlite'))).toBe(false)
})

test('backup: it is rejected if the folder contains no control center, or a host', async () => {
  const nothing = { code: 'ERR_BACKUP_FAILED', message: expect.stringContaining('nothing to back up') }
  await expect(backUpTo(at('empty.zip'), at('empty'))).rejects.toMatchObject(nothing)
  const host = readSettings({ PLATFORM_HOME: at('host'), PLATFORM_DATABASE_NAME: 'control_center' })
  await expect(
    backUpPlatform({ settings: host, file: at('empty.zip'), withKey: true, version: 'test' }),
  ).rejects.toMatchObject(nothing)
  expect(existsSync(at('empty.zip'))).toBe(false)
})

describe.skipIf(postgresPath === undefined)('PostgreSQL (skipped where it is not installed)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await sharedPostgres()
  }, SERVER_START)
  afterAll(() => server?.stop())

  const onServer = (name: string) => ({
    PLATFORM_DATABASE: 'alpha',
    PLATFORM_DATABASE_NAME: name,
    DB_ALPHA_SERVER: server.address.host,
    DB_ALPHA_PORT: String(server.address.port),
    DB_ALPHA_USERNAME: server.address.username,
    DB_ALPHA_PASSWORD: server.address.password,
  })

  test('a control center can be moved from its files to the server and back with every row, and works there', async () => {
    const home = at('moved')
    await restoreFrom(backup, home, onServer('moved'))
    expect(readdirSync(home).sort()).toEqual(['in-use', 'platform-key'])
    const there = at('moved.zip')
    expect((await backUpTo(there, home, onServer('moved'))).manifest.kind).toBe('alpha')
    expect(await tablesIn(there)).toEqual(await tablesIn(backup))
    await restoreFrom(there, at('back'))
    await backUpTo(at('back.zip'), at('back'))
    expect(await tablesIn(at('back.zip'))).toEqual(await tablesIn(backup))
    await expectWorks(home, onServer('moved'))
    await expectWorks(at('back'))
    await expect(restoreFrom(backup, at('other'), onServer('moved'))).rejects.toMatchObject({
      code: 'ERR_RESTORE_NOT_EMPTY',
    })
  })

  test('a move to the server with the same folder uses the folder’s key, and leaves the old database file there', async () => {
    const file = at('within.zip')
    await backUpTo(file, at('restored'), {}, WITHOUT_TELEMETRY)
    await restoreFrom(file, at('restored'), onServer('within'))
    expect(readdirSync(at('restored'))).toEqual(expect.arrayContaining(['control_center.sqlite', 'platform-key']))
    expect(await tablesIn(file)).toEqual(await within())
    async function within() {
      await backUpTo(at('within-there.zip'), at('restored'), onServer('within'), WITHOUT_TELEMETRY)
      return tablesIn(at('within-there.zip'))
    }
  })
})
