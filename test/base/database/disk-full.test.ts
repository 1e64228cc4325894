import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { holdHome } from '../../../base/backup/home-lock.ts'
import { isDiskFull } from '../../../base/database/disk-full.ts'
import { KINDS } from '../../../base/database/kinds.ts'
import { openDatabase } from '../../../base/database/open.ts'
import { insertOnce } from '../../../base/database/portable.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'solhost-full-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

test('if an embedded database’s disk is full, writes fail with an error that says so, and reads keep working', async () => {
  const db = await openDatabase(join(folder, 'full'))
  await sql`pragma max_page_count = 1`.execute(db)
  const write = insertOnce(db, 'platform', { key: 'large', value: 'x'.repeat(1_000_000) })
  const error = await write.catch((reason: unknown) => reason)
  expect(isDiskFull(error)).toBe(true)
  expect(isDiskFull(new Error('outer', { cause: error }))).toBe(true)
  const change = db
    .transaction()
    .execute((transaction) => insertOnce(transaction, 'platform', { key: 'large', value: 'x'.repeat(1_000_000) }))
  expect(isDiskFull(await change.catch((reason: unknown) => reason))).toBe(true)
  expect(await db.selectFrom('platform').selectAll().execute()).toEqual([])
  await db.destroy()
})

test('a full disk is recognized by the error codes of the operating system and of each database server', () => {
  const error = (facts: object) => Object.assign(new Error('x'), facts)
  expect(isDiskFull(error({ code: 'ENOSPC' }))).toBe(true)
  expect(isDiskFull(error({ code: 'EDQUOT' }))).toBe(true)
  expect(KINDS.alpha.isFull(error({ code: '53100' }))).toBe(true)
  expect(KINDS.beta.isFull(error({ number: 1105 }))).toBe(true)
  expect(KINDS.gamma.isFull(error({ errno: 1021 }))).toBe(true)
  for (const other of [{}, { code: 'EACCES' }, { code: 'ERR_SQLITE_ERROR', errcode: 5 }, { errno: 1062 }])
    expect(isDiskFull(error(other))).toBe(false)
  expect(isDiskFull(undefined)).toBe(false)
})

test('if platform.sqlite is a folder or not a database, the error says so', async () => {
  const home = join(folder, 'no-database')
  mkdirSync(home)
  writeFileSync(join(home, 'platform.sqlite'), 'x'.repeat(20_000))
  await expect(openDatabase(home)).rejects.toMatchObject({
    code: 'ERR_DATABASE_FILE',
    message: expect.stringMatching(
      /platform\.sqlite is not a database\. Restore a backup\. To start without the data, move the file/,
    ),
  })
  const other = join(folder, 'folder')
  mkdirSync(join(other, 'platform.sqlite'), { recursive: true })
  await expect(openDatabase(other)).rejects.toMatchObject({
    code: 'ERR_DATABASE_FILE',
    message: expect.stringContaining('platform.sqlite is a folder.'),
  })
})

test('if PLATFORM_HOME is a file, is below a file or cannot exist, a single sentence says so', async () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  for (const home of [file, join(file, 'x'), join(folder, 'x'.repeat(300)), '/proc/solhost-none/x']) {
    const refused = {
      code: 'ERR_SETTINGS_INVALID',
      message: expect.stringContaining(`Cannot create the PLATFORM_HOME folder ${home}: `),
    }
    await expect(openDatabase(home)).rejects.toMatchObject(refused)
    expect(() => holdHome(home)).toThrow(expect.objectContaining(refused))
  }
})
