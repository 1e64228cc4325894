import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { expect, test } from 'vitest'
import { createCheckpoints } from '../../../base/database/checkpoints.ts'
import { embeddedDialect } from '../../../base/database/embedded.ts'
import { waitUntil } from '../../support/wait-until.ts'

type Tables = { notes: { id: number; text: string } }

test('a thread copies the log into the database file while the connection keeps writing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-checkpoints-'))
  const file = join(folder, 'notes.sqlite')
  const open = () => new Kysely<Tables>({ dialect: embeddedDialect(file, undefined, createCheckpoints(file, 10)) })
  const sizeOf = (name: string) => statSync(name, { throwIfNoEntry: false })?.size ?? 0
  let db = open()
  await sql`create table notes (id integer primary key, text text not null)`.execute(db)
  let id = 0
  const add = () =>
    db
      .insertInto('notes')
      .values({ id: ++id, text: 'x'.repeat(5000) })
      .execute()
  for (let turn = 0; turn < 30; turn++) await add()
  // The connection's automatic checkpoint runs only when the log has 8,000 pages.
  expect(sizeOf(`${file}-wal`)).toBeLessThan(8000 * 4096)
  await waitUntil(async () => {
    await add()
    expect(sizeOf(file)).toBeGreaterThan(30 * 5000)
  })
  const written = id
  await db.destroy()
  db = open()
  const { count } = await db.selectFrom('notes').select(db.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  expect(count).toBe(written)
  await db.destroy()
  rmSync(folder, { recursive: true })
})
