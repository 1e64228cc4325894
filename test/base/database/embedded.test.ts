import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { embeddedDialect } from '../../../base/database/embedded.ts'
import { createFileSync } from '../../../base/database/file-sync.ts'
import { testDatabase, usePlace } from './contract.ts'
import { testStores } from './stores.ts'

type Tables = { notes: { id: number; text: string } }

let folder: string
let db: Kysely<Tables>
let syncs: { started: number; ended: number; fails: boolean }
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'solhost-sqlite-'))
  const file = join(folder, 'notes.sqlite')
  const real = createFileSync(`${file}-wal`)
  syncs = { started: 0, ended: 0, fails: false }
  const counted = {
    async sync() {
      syncs.started++
      await real.sync()
      if (syncs.fails) throw new Error('disk failed')
      syncs.ended++
    },
    close: real.close,
  }
  db = new Kysely<Tables>({ dialect: embeddedDialect(file, counted) })
  await sql`create table notes (id integer primary key, text text not null)`.execute(db)
  syncs.started = syncs.ended = 0
})
afterEach(async () => {
  await db.destroy()
  rmSync(folder, { recursive: true })
})

const add = (id: number) =>
  db
    .insertInto('notes')
    .values({ id, text: `note ${id}` })
    .execute()
const count = async () =>
  (
    await db
      .selectFrom('notes')
      .select(({ fn }) => fn.countAll().as('n'))
      .executeTakeFirst()
  )?.n

test('a write is on disk before it is confirmed; a read does not wait for the disk', async () => {
  await add(1)
  expect(syncs).toMatchObject({ started: 1, ended: 1 })
  expect(await count()).toBe(1)
  expect(syncs.started).toBe(1)
  await db.insertInto('notes').values({ id: 2, text: 'x' }).returning('id').execute()
  expect(syncs.ended).toBe(2)
})

test('a write whose sync fails is not confirmed', async () => {
  syncs.fails = true
  await expect(add(1)).rejects.toThrow('disk failed')
})

test('concurrent statements do not run inside another caller’s transaction', async () => {
  const transaction = db.transaction().execute(async (one) => {
    await one.insertInto('notes').values({ id: 1, text: 'inside' }).execute()
    await new Promise((resolve) => setImmediate(resolve))
    throw new Error('undo')
  })
  const beside = add(2)
  await expect(transaction).rejects.toThrow('undo')
  await beside
  expect(await db.selectFrom('notes').select('id').execute()).toEqual([{ id: 2 }])
})

test('writes that are waiting at the same time share a sync', async () => {
  const file = join(folder, 'notes.sqlite-wal')
  const shared = createFileSync(file)
  await add(1)
  const waits = Array.from({ length: 50 }, () => shared.sync())
  await Promise.all(waits)
  expect(new Set(waits).size).toBeLessThanOrEqual(2)
  const later = shared.sync()
  expect(waits).not.toContain(later)
  await later
  await shared.close()
})

test('more statements than fit into the cache still work', async () => {
  for (let n = 0; n < 450; n++) await sql.raw(`select ${n}`).execute(db)
  await add(1)
  expect(await count()).toBe(1)
})

describe('embedded', () => {
  const place = usePlace('embedded', async () => null)
  testDatabase('embedded', place)
  testStores(place)
})
