import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { embeddedDialect } from '../../../base/database/embedded.ts'
import { createFileSync } from '../../../base/database/file-sync.ts'
import { createGroupedInsert } from '../../../base/database/grouped-insert.ts'
import type { Database } from '../../../base/database/open.ts'
import { openKysely } from '../../../base/database/open-kysely.ts'
import { prepareQuery } from '../../../base/database/prepared-query.ts'
import { temporaryFolder } from '../../support/cli.ts'

/** Opens a database that counts its syncs and commits. */
async function openCounted(folder: string) {
  const file = join(folder, 'rows.sqlite')
  const real = createFileSync(`${file}-wal`)
  const counts = { syncs: 0, fails: false }
  const sync = async () => {
    counts.syncs++
    await real.sync()
    if (counts.fails) throw new Error('disk failed')
  }
  const db = openKysely(embeddedDialect(file, { sync, close: real.close }))
  await db.schema
    .createTable('platform')
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute()
  counts.syncs = 0
  return { db, counts, insert: createGroupedInsert(db, 'platform', ['key', 'value']) }
}

const keysIn = async (db: Database) =>
  (await db.selectFrom('platform').select('key').orderBy('key').execute()).map(({ key }) => key)

test('rows that arrive in the same turn or during a sync share a transaction, and each waits until it is on disk', async () => {
  using folder = temporaryFolder()
  const { db, counts, insert } = await openCounted(folder.path)
  const first = ['00', '01'].map((key) => insert({ key, value: 'x' }))
  while (counts.syncs === 0) await setImmediate()
  const others = Array.from({ length: 40 }, (_, n) => insert({ key: String(n + 10), value: 'x' }))
  const syncsWhenWritten = await Promise.all([...first, ...others].map((one) => one.then(() => counts.syncs)))
  expect(syncsWhenWritten).toEqual([1, 1, ...others.map(() => 2)])
  expect(await keysIn(db)).toHaveLength(42)
  await db.destroy()
})

test('a row that cannot be inserted does not affect the others of its transaction', async () => {
  using folder = temporaryFolder()
  const { db, insert } = await openCounted(folder.path)
  const given = ['a', 'b', 'a', 'c'].map((key) => insert({ key, value: 'x' }))
  const results = await Promise.allSettled(given)
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  expect(results[2]).toMatchObject({ reason: { code: 'ERR_SQLITE_ERROR' } })
  await insert({ key: 'd', value: 'x' })
  expect(await keysIn(db)).toEqual(['a', 'b', 'c', 'd'])
  await db.destroy()
})

test('no row is confirmed if the sync of its transaction fails', async () => {
  using folder = temporaryFolder()
  const { db, counts, insert } = await openCounted(folder.path)
  counts.fails = true
  const results = await Promise.allSettled(['a', 'b', 'c'].map((key) => insert({ key, value: 'x' })))
  for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: { message: 'disk failed' } })
  counts.fails = false
  await insert({ key: 'd', value: 'x' })
  await db.destroy()
})

test('a prepared query uses the values of each run, even if a value occurs twice in the query', async () => {
  using folder = temporaryFolder()
  const { db, insert } = await openCounted(folder.path)
  for (const key of ['a', 'b', 'c']) await insert({ key, value: key === 'c' ? 'a' : key })
  const query = prepareQuery(['given'], ({ given }) =>
    db
      .selectFrom('platform')
      .select('key')
      .where((row) => row.or([row('key', '=', given), row('value', '=', given), row('key', '=', 'none')]))
      .orderBy('key'),
  )
  const keysFor = async (given: string) => (await query.run(db, { given })).rows.map(({ key }) => key)
  expect(await keysFor('a')).toEqual(['a', 'c'])
  expect(await keysFor('b')).toEqual(['b'])
  await db.destroy()
})
