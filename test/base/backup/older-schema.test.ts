import { join } from 'node:path'
import { Migrator } from 'kysely/migration'
import { expect, test } from 'vitest'
import { createFactors } from '../../../base/accounts/factors.ts'
import { createOpenSignIns } from '../../../base/accounts/open-sign-ins.ts'
import { createRemembered } from '../../../base/accounts/remembered.ts'
import { createSessions } from '../../../base/accounts/sessions.ts'
import { backUpPlatform } from '../../../base/backup/backup.ts'
import { restorePlatform } from '../../../base/backup/restore.ts'
import { noEffects } from '../../../base/bundles/host-call.ts'
import { openPlatformKey } from '../../../base/config/platform-key.ts'
import { embedded, embeddedDialect } from '../../../base/database/embedded.ts'
import { migrationsFor } from '../../../base/database/migrations.ts'
import { openKysely } from '../../../base/database/open-kysely.ts'
import { storedHash } from '../../../base/database/stored-hash.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import { createSecondStepGate } from '../../../host/second-step/gate.ts'
import type { OpenSignIn } from '../../../host/second-step/open-sign-ins.ts'
import { createSignInPolicies } from '../../../host/second-step/policies.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { temporaryFolder } from '../../support/cli.ts'

const SELECTOR = 's'.repeat(22)
const COOKIE = `${SELECTOR}validator`
const ROW = {
  selector: SELECTOR,
  solution: 'crm',
  source: '',
  validator_hash: storedHash('validator'),
  previous_hash: null,
  rotated_at: 1000,
  uid: 'a-1',
  username: 'anna',
  permissions: '["Users"]',
  last_login_at: 1000,
  created_at: 1000,
  ended_at: null,
  provider_login: null,
}

/** Writes a PLATFORM_HOME of an older version, in which remembered logins have no stored values. */
async function writeOlderPlatform(home: string): Promise<void> {
  const db = openKysely(embeddedDialect(join(home, 'platform.sqlite')))
  const provider = { getMigrations: async () => migrationsFor(embedded) }
  const { error } = await new Migrator({ db, provider }).migrateTo('006-cloud-login-pages')
  expect(error).toBeUndefined()
  await openPlatformKey(db, home, '')
  await db
    .insertInto('remembered')
    .values(ROW as never)
    .execute()
  await db.destroy()
}

/** Uses the older version's remembered login with the current version, then rotates it. @returns both results */
async function useAndRotate(home: string): Promise<unknown[]> {
  const db = await openHostDatabase(home)
  const key = await openPlatformKey(db, home, '')
  const remembered = createRemembered(db, key, createLimits(), () => 2000)
  const before = await remembered.use('crm', COOKIE)
  const user = { username: 'anna', permissions: ['Users'], tenant: ['acme'], locale: 'nl' }
  const after = await remembered.use('crm', (await remembered.rotate(COOKIE, user)) ?? '')
  await db.destroy()
  return [before, after]
}

const USED = [
  { kind: 'current', series: { uid: 'a-1', custom: null, tenant: null, locale: null } },
  { kind: 'current', series: { uid: 'a-1', custom: null, tenant: ['acme'], locale: 'nl' } },
]

test('schema 006: remembered logins of an existing database still work', async () => {
  using folder = temporaryFolder()
  await writeOlderPlatform(folder.path)
  expect(await useAndRotate(folder.path)).toMatchObject(USED)
})

test('schema 006: remembered logins of an existing backup still work', async () => {
  using source = temporaryFolder()
  using target = temporaryFolder()
  await writeOlderPlatform(source.path)
  const file = join(target.path, 'backup.zip')
  const settings = readSettings({ PLATFORM_HOME: source.path })
  const { manifest } = await backUpPlatform({ settings, file, withKey: true, version: '0' })
  expect(manifest.schema).toBe('006-cloud-login-pages')
  const home = join(target.path, 'restored')
  await restorePlatform({ settings: readSettings({ PLATFORM_HOME: home }), file, replace: false, force: false })
  expect(await useAndRotate(home)).toMatchObject(USED)
})

const SESSION = {
  id_hash: storedHash('of 009'),
  public_id: 'p-1',
  solution: 'crm',
  username: 'anna',
  uid: 'u-1',
  permissions: '["Users"]',
  tenant: null,
  locale: 'nl',
  address: '127.0.0.1',
  created_at: 1000,
  last_seen_at: 1000,
  ended_at: null,
  source: 'users',
  selector: null,
  provider_login: null,
}

/** Writes a PLATFORM_HOME of the last version without second factors, with a session and a remembered login. */
async function writePlatformWithoutFactors(home: string): Promise<void> {
  const db = openKysely(embeddedDialect(join(home, 'platform.sqlite')))
  const provider = { getMigrations: async () => migrationsFor(embedded) }
  const { error } = await new Migrator({ db, provider }).migrateTo('009-media-pieces')
  expect(error).toBeUndefined()
  await openPlatformKey(db, home, '')
  const rows = { sessions: SESSION, remembered: { ...ROW, source: 'users', uid: 'u-1' } } as const
  for (const [table, row] of Object.entries(rows)) {
    await db
      .insertInto(table as 'sessions')
      .values(row as never)
      .execute()
  }
  await db.destroy()
}

/**
 * Uses the session and the remembered login with the current version.
 * @returns both, and whether the remembered login may be used
 */
async function useWithoutFactors(home: string): Promise<unknown[]> {
  const db = await openHostDatabase(home)
  const now = () => 2000
  const key = await openPlatformKey(db, home, '')
  const limits = createLimits()
  const session = await createSessions(db, limits, now).find('crm', 'of 009')
  const use = await createRemembered(db, key, limits, now).use('crm', COOKIE)
  const policies = createSignInPolicies(db, now)
  const factors = createFactors(db, limits, now)
  const openSignIns = createOpenSignIns<OpenSignIn>(db, key, limits, now)
  const passkeyRequests = { places: { at: () => null } } as never
  const gate = createSecondStepGate({ factors, openSignIns, policies, passkeyRequests, limits, now })
  const solution = { name: 'crm', manifest: { authenticator: 'DEFAULT', signIn: null } }
  const asking = { solution, serverUrl: 'http://127.0.0.1' } as never
  const login = { username: 'anna', uid: 'u-1', permissions: ['Users'] }
  const isAllowed =
    use.kind === 'current' && (await gate.allowsAgain(asking, use.series, { login, effects: noEffects() }))
  await db.destroy()
  return [session, use, isAllowed]
}

const UNCHANGED = [
  { username: 'anna', uid: 'u-1', methods: [], factorsOf: 'users', confirmedAt: null },
  { kind: 'current', series: { uid: 'u-1', methods: [], factorsOf: 'users' } },
  true,
]

test('schema 009: users without a second factor stay signed in and remembered, in an existing database and in a backup', async () => {
  using source = temporaryFolder()
  using target = temporaryFolder()
  await writePlatformWithoutFactors(source.path)
  const file = join(target.path, 'backup.zip')
  const settings = readSettings({ PLATFORM_HOME: source.path })
  expect((await backUpPlatform({ settings, file, withKey: true, version: '0' })).manifest.schema).toBe(
    '009-media-pieces',
  )
  expect(await useWithoutFactors(source.path)).toMatchObject(UNCHANGED)
  const home = join(target.path, 'restored')
  await restorePlatform({ settings: readSettings({ PLATFORM_HOME: home }), file, replace: false, force: false })
  expect(await useWithoutFactors(home)).toMatchObject(UNCHANGED)
})
