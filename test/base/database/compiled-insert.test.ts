import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createCompiledInsert } from '../../../base/database/compiled-insert.ts'
import { embeddedDialect } from '../../../base/database/embedded.ts'
import { openKysely } from '../../../base/database/open-kysely.ts'
import { temporaryFolder } from '../../support/cli.ts'

test('each number of rows is compiled once, and the parameters are in the order of the columns', async () => {
  using folder = temporaryFolder()
  const db = openKysely(embeddedDialect(join(folder.path, 'rows.sqlite')))
  const queryOf = createCompiledInsert<{ key: string; value: string }>(db, 'platform', ['key', 'value'])
  const one = queryOf([{ value: 'b', key: 'a' }])
  expect(one.parameters).toEqual(['a', 'b'])
  expect(one.sql).toBe('insert or rollback into "platform" ("key", "value") values (?, ?)')
  const two = ['c', 'e'].map((key) => ({ key, value: `${key}!` }))
  expect(queryOf(two).parameters).toEqual(['c', 'c!', 'e', 'e!'])
  expect(queryOf(two).query).toBe(queryOf(two.toReversed()).query)
  await db.destroy()
})

test('a failed insert rolls back its transaction, and the connection stays usable', async () => {
  using folder = temporaryFolder()
  const db = openKysely(embeddedDialect(join(folder.path, 'rows.sqlite')))
  const keyed = db.schema.createTable('platform').addColumn('key', 'text', (column) => column.primaryKey())
  await keyed.addColumn('value', 'text').execute()
  const queryOf = createCompiledInsert<{ key: string; value: string }>(db, 'platform', ['key', 'value'])
  const rows = (...keys: string[]) => queryOf(keys.map((key) => ({ key, value: '' })))
  const failed = db.transaction().execute(async (transaction) => {
    await transaction.executeQuery(rows('a', 'b'))
    await transaction.executeQuery(rows('c', 'a'))
  })
  await expect(failed).rejects.toThrow('UNIQUE constraint failed')
  await db.transaction().execute((transaction) => transaction.executeQuery(rows('d')))
  expect(await db.selectFrom('platform').select('key').execute()).toEqual([{ key: 'd' }])
  await db.destroy()
})
