import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { threadDialect } from '../../control-center/telemetry/database/thread-dialect.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'thread-test-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a failed transaction is rolled back, and the connection keeps working', async () => {
  const db = new Kysely<{ one: { id: number } }>({
    dialect: threadDialect({ file: join(folder, 'one.sqlite'), readOnly: false }),
  })
  await sql`create table one (id integer primary key)`.execute(db)
  const failing = db.transaction().execute(async (transaction) => {
    await transaction.insertInto('one').values({ id: 1 }).execute()
    await transaction.insertInto('one').values({ id: 1 }).execute()
  })
  await expect(failing).rejects.toMatchObject({ code: 'ERR_SQLITE_ERROR', errcode: 1555 })
  await db.insertInto('one').values({ id: 2 }).execute()
  expect(await db.selectFrom('one').selectAll().execute()).toEqual([{ id: 2 }])
  await db.destroy()
})

test('if the thread has ended, the next query starts a new one', async () => {
  const file = join(folder, 'later.sqlite')
  const db = new Kysely<{ one: { id: number } }>({ dialect: threadDialect({ file, readOnly: true }) })
  await expect(sql`select 1`.execute(db)).rejects.toThrow(/unable to open/)
  const made = new DatabaseSync(file)
  made.exec('create table one (id integer)')
  made.close()
  expect(await db.selectFrom('one').selectAll().execute()).toEqual([])
  await db.destroy()
})
