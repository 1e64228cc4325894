import { join } from 'node:path'
import { Migrator } from 'kysely/migration'
import { describe, expect, test } from 'vitest'
import { backUpPlatform } from '../../../base/backup/backup.ts'
import { restorePlatform } from '../../../base/backup/restore.ts'
import { openPlatformKey } from '../../../base/config/platform-key.ts'
import { embedded, embeddedDialect } from '../../../base/database/embedded.ts'
import { migrationsFor } from '../../../base/database/migrations.ts'
import { openKysely } from '../../../base/database/open-kysely.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import { createDraftStore } from '../../../host/drafts/draft-store.ts'
import { contentEtag } from '../../../host/solutions/content-etag.ts'
import { eraseSolutionData } from '../../../host/solutions/erase-solution.ts'
import { createSolutionStore } from '../../../host/solutions/solution-store.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { type TestPlace, usePlace } from '../../base/database/contract.ts'
import { temporaryFolder } from '../../support/cli.ts'
import { mariadbPath, sharedMariadb } from '../../support/mariadb-server.ts'
import { postgresPath, sharedPostgres } from '../../support/postgres-server.ts'

const BYTES = new Uint8Array(Array.from({ length: 256 }, (_, n) => n))
const text = (content: string) => new Uint8Array(Buffer.from(content))
const OWN = { base: null, owner: 'admin' } as const
const DAY = 86_400_000

/** Drafts must be stored in the same way on every kind of database. */
function testDraftStore(place: TestPlace): void {
  const storeOf = (now?: () => number, limits = {}) => createDraftStore(place.db, createLimits(limits), now)

  test(`${place.kind}, drafts: contents and deletions are stored unchanged, and each change raises the revision`, async () => {
    const store = storeOf()
    const long = `media/${'d'.repeat(230)}.a`
    const created = await store.create(
      { solution: 'kept', base: 'b'.repeat(64), owner: 'token:1' },
      new Map([
        ['globals.js', text('var é = "€"\n')],
        [long, BYTES],
        ['gone.js', null],
      ]),
    )
    expect(created).toMatchObject({ solution: 'kept', base: 'b'.repeat(64), owner: 'token:1', revision: 1 })
    expect(await store.need('kept', created.id)).toEqual(created)
    expect(await store.content(created.id, long)).toEqual(BYTES)
    expect([...(await store.entries(created.id))].sort()).toEqual([
      ['globals.js', { etag: contentEtag(text('var é = "€"\n')), bytes: 15 }],
      ['gone.js', { etag: null, bytes: 0 }],
      [long, { etag: contentEtag(BYTES), bytes: 256 }],
    ])
    const put = new Map([['globals.js', text('')]])
    const changed = await store.change('kept', created.id, () => ({ base: null, put, drop: ['gone.js'] }))
    expect(changed).toMatchObject({ base: null, revision: 2 })
    expect(await store.need('kept', created.id)).toEqual(changed)
    expect([...(await store.contents(created.id))].sort()).toEqual([
      ['globals.js', text('')],
      [long, BYTES],
    ])
    expect((await store.list('kept')).map(({ id, changedFiles }) => [id, changedFiles])).toEqual([[created.id, 2]])
    expect(await store.change('kept', created.id, () => null)).toEqual(changed)
  })

  test(`${place.kind}, drafts: none of ten simultaneous changes on two hosts is lost`, async () => {
    const stores = [storeOf(), storeOf()]
    const { id } = await storeOf().create({ solution: 'busy', ...OWN }, new Map([['count', text('0')]]))
    await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        stores[n % 2]?.change('busy', id, async () => {
          const before = Number(Buffer.from((await storeOf().content(id, 'count')) ?? []).toString())
          return { put: new Map([['count', text(String(before + 1))]]) }
        }),
      ),
    )
    expect(Buffer.from((await storeOf().content(id, 'count')) ?? []).toString()).toBe('10')
    expect((await storeOf().need('busy', id)).revision).toBe(11)
  })

  test(`${place.kind}, drafts: a solution has at most DRAFTS of them, also if they are created together`, async () => {
    const store = storeOf(undefined, { DRAFTS: 3 })
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => store.create({ solution: 'many', ...OWN }, new Map([['a.txt', BYTES]]))),
    )
    const refused = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason.code)
    expect([...new Set(refused)]).toEqual(['ERR_TOO_MANY_DRAFTS'])
    expect((await store.list('many')).length).toBeLessThanOrEqual(3)
    for (const { id } of await store.list('many')) await store.remove('many', id)
    for (let count = 0; count < 3; count++) await store.create({ solution: 'many', ...OWN }, new Map())
    await expect(store.create({ solution: 'many', ...OWN }, new Map())).rejects.toMatchObject({
      code: 'ERR_TOO_MANY_DRAFTS',
    })
    await store.create({ solution: 'other', ...OWN }, new Map())
  })

  test(`${place.kind}, drafts: a draft that nobody has changed for DRAFT_KEPT is not found, and its files are deleted`, async () => {
    let time = Date.now()
    const store = storeOf(() => time, { DRAFT_KEPT: DAY, DRAFTS: 2 })
    const [old, used] = [
      await store.create({ solution: 'aged', ...OWN }, new Map([['a', BYTES]])),
      await store.create({ solution: 'aged', ...OWN }, new Map([['a', BYTES]])),
    ]
    time += DAY - 1
    expect((await store.change('aged', used.id, () => ({ drop: [] }))).expiresAt).toBe(time + DAY)
    time += 1
    await expect(store.need('aged', old.id)).rejects.toMatchObject({ code: 'ERR_DRAFT_NOT_FOUND' })
    expect((await store.list('aged')).map(({ id }) => id)).toEqual([used.id])
    await store.create({ solution: 'aged', ...OWN }, new Map())
    await store.sweep()
    expect(await store.content(old.id, 'a')).toBeNull()
    expect(await store.content(used.id, 'a')).toEqual(BYTES)
  })

  test(`${place.kind}, drafts: a draft belongs to one solution and is erased with it`, async () => {
    const store = storeOf()
    const [mine, other] = [
      await store.create({ solution: 'mine', ...OWN }, new Map([['a', BYTES]])),
      await store.create({ solution: 'theirs', ...OWN }, new Map([['a', BYTES]])),
    ]
    const missing = { code: 'ERR_DRAFT_NOT_FOUND' }
    await expect(store.need('theirs', mine.id)).rejects.toMatchObject(missing)
    await expect(store.change('theirs', mine.id, () => ({}))).rejects.toMatchObject(missing)
    await expect(store.remove('theirs', mine.id)).rejects.toMatchObject(missing)
    await eraseSolutionData(place.db, 'mine')
    await expect(store.need('mine', mine.id)).rejects.toMatchObject(missing)
    expect(await store.content(mine.id, 'a')).toBeNull()
    expect(await store.content(other.id, 'a')).toEqual(BYTES)
  })

  test(`${place.kind}, drafts: a version that is the base of a draft can't be erased`, async () => {
    const [store, solutions] = [storeOf(), createSolutionStore(place.db, createLimits())]
    const version = { version: '1.0.0', title: '', type: 'solution', authenticator: 'NONE', listed: 0, prepared: '{}' }
    await place.db
      .insertInto('solutions')
      .values({ name: 'based', active_sha256: 'x', created_at: 0, deleted_at: null })
      .execute()
    await place.db
      .insertInto('solution_versions')
      .values({ solution: 'based', sha256: 'old', ...version, bundle: BYTES, bytes: 256, uploaded_at: 0 })
      .execute()
    const { id } = await store.create({ solution: 'based', base: 'old', owner: 'admin' }, new Map())
    expect([await solutions.removeVersion('based', 'old'), await solutions.draftsOf('based', 'old')]).toEqual([
      false,
      1,
    ])
    await store.remove('based', id)
    expect([await solutions.removeVersion('based', 'old'), await solutions.draftsOf('based', 'old')]).toEqual([true, 0])
  })
}

describe('embedded', () => testDraftStore(usePlace('embedded', async () => null)))
describe.skipIf(postgresPath === undefined)('alpha on PostgreSQL (skipped where it is not installed)', () => {
  testDraftStore(usePlace('alpha', sharedPostgres))
})
describe.skipIf(mariadbPath === undefined)('gamma on MariaDB (skipped where it is not installed)', () => {
  testDraftStore(usePlace('gamma', sharedMariadb))
})

test('schema 021: after an upgrade, drafts can be created; a backup and a restore keep them', async () => {
  using source = temporaryFolder()
  using target = temporaryFolder()
  const older = openKysely(embeddedDialect(join(source.path, 'platform.sqlite')))
  const provider = { getMigrations: async () => migrationsFor(embedded) }
  const { error } = await new Migrator({ db: older, provider }).migrateTo('021-smaller-provider-index')
  expect(error).toBeUndefined()
  await openPlatformKey(older, source.path, '')
  await older.destroy()

  const db = await openHostDatabase(source.path)
  const files = new Map([
    ['media/a.bin', BYTES],
    ['gone.js', null],
  ])
  const draft = await createDraftStore(db, createLimits()).create({ solution: 'crm', ...OWN }, files)
  await db.destroy()
  const file = join(target.path, 'backup.zip')
  const settings = readSettings({ PLATFORM_HOME: source.path })
  await backUpPlatform({ settings, file, withKey: true, version: '0' })
  const home = join(target.path, 'restored')
  await restorePlatform({ settings: readSettings({ PLATFORM_HOME: home }), file, replace: false, force: false })
  const restored = await openHostDatabase(home)
  const store = createDraftStore(restored, createLimits())
  expect(await store.need('crm', draft.id)).toEqual(draft)
  expect(await store.contents(draft.id)).toEqual(files)
  await restored.destroy()
})
