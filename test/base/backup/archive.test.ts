import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { FORMAT, kindOfPart } from '../../../base/backup/manifest.ts'
import { openArchive } from '../../../base/backup/read-archive.ts'
import { restorePlatform } from '../../../base/backup/restore.ts'
import { readLines } from '../../../base/backup/row-lines.ts'
import { writeArchive } from '../../../base/backup/write-archive.ts'
import { SCHEMA_VERSIONS } from '../../../base/database/migrations.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { temporaryFolder } from '../../support/cli.ts'
import { zipOf } from '../../support/zip.ts'

const FACTS = { format: FORMAT, solhost: '0', createdAt: '2026-11-22T00:00:00.000Z', keyCheck: null } as const
const INVALID = { code: 'ERR_BACKUP_INVALID' }
const SHA = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

async function* pieces(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text)
}

async function* failingPieces(): AsyncGenerator<Buffer> {
  yield Buffer.from('begun')
  throw new Error('the disk is gone')
}

/** Writes a backup that consists of these parts. */
function write(file: string, parts: Record<string, string>, schema = SCHEMA_VERSIONS.at(-1) as string) {
  return writeArchive(file, async (writer) => {
    for (const [name, text] of Object.entries(parts)) await writer.add(name, pieces(text))
    return { ...FACTS, kind: 'embedded' as const, schema }
  })
}

test('archive: a backup can be read after it was written; an existing file is not overwritten', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'a.zip')
  await write(file, { 'plugins/a/host.ts': 'text', 'platform-key': 'k' })
  const archive = await openArchive(file)
  expect((await buffer(archive.read('plugins/a/host.ts'))).toString()).toBe('text')
  archive.close()
  const before = readFileSync(file)
  await expect(write(file, {})).rejects.toMatchObject({ code: 'ERR_BACKUP_FAILED' })
  expect(readFileSync(file)).toEqual(before)
})

test('archive: an existing file, or one in a missing folder, is rejected with advice', async () => {
  using folder = temporaryFolder({ 'a.zip': '' })
  const [there, nowhere] = [join(folder.path, 'a.zip'), join(folder.path, 'none', 'a.zip')]
  await expect(write(there, {})).rejects.toMatchObject({
    message: `Cannot create ${there}: the file already exists. Choose another name.`,
  })
  await expect(write(nowhere, {})).rejects.toMatchObject({
    message: `Cannot create ${nowhere}: its folder does not exist. Create the folder or choose another one.`,
  })
})

test('archive: a key that is too large to be a key is rejected before it is read', async () => {
  using folder = temporaryFolder()
  const [fits, large] = [join(folder.path, 'a.zip'), join(folder.path, 'b.zip')]
  await write(fits, { 'platform-key': 'k'.repeat(4096) })
  await write(large, { 'platform-key': 'k'.repeat(4097) })
  ;(await openArchive(fits)).close()
  await expect(openArchive(large)).rejects.toMatchObject({
    code: 'ERR_BACKUP_INVALID',
    message: expect.stringContaining('the key is larger than 4096 bytes'),
  })
})

test('archive: if writing fails, no file is left', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'a.zip')
  const failing = writeArchive(file, async (writer) => {
    await writer.add('plugins/a', failingPieces())
    return { ...FACTS, kind: 'embedded' as const, schema: 'x' }
  })
  await expect(failing).rejects.toMatchObject({
    code: 'ERR_BACKUP_FAILED',
    message: expect.stringContaining('disk is gone'),
  })
  expect(existsSync(file)).toBe(false)
})

test('archive: a truncated file, or one with any changed byte in its content, is rejected', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'a.zip')
  const text = 'no byte of this may change'.repeat(20)
  await write(file, { 'plugins/a': text })
  const whole = readFileSync(file)
  const readAll = async (bytes: Buffer) => {
    writeFileSync(file, bytes)
    const archive = await openArchive(file)
    try {
      return (await buffer(archive.read('plugins/a'))).toString()
    } finally {
      archive.close()
    }
  }
  for (let length = 0; length < whole.length; length += 37)
    await expect(readAll(whole.subarray(0, length))).rejects.toMatchObject(INVALID)
  // A change in metadata, such as times, may go undetected. All other changes must be detected.
  for (let at = 0; at < whole.length; at += 7) {
    const changed = Buffer.from(whole)
    changed[at] = (changed[at] as number) ^ 0x41
    const read = await readAll(changed).catch((error: { code?: string }) => error.code)
    expect([text, INVALID.code]).toContain(read)
  }
})

test.each([
  ['a file that is not a ZIP file', async () => Buffer.from('text')],
  ['a ZIP file that is not a backup', () => zipOf({ 'solution.json': '{}' })],
  ['an invalid manifest', () => zipOf({ 'manifest.json': '{"format":1}' })],
  ['a newer format', () => zipOf({ 'manifest.json': '{"format":2}' }), /newer version/],
  ['a part that the manifest does not list', () => zipOf({ 'manifest.json': manifest({}), 'plugins/x': 'x' })],
  ['a missing part', () => zipOf({ 'manifest.json': manifest({ 'plugins/x': { bytes: 0, sha256: SHA } }) })],
  [
    'a part whose path leads out of its folder',
    () => zipOf({ 'manifest.json': manifest({ 'plugins/../../x': { bytes: 0, sha256: SHA } }) }),
  ],
  [
    'a part with an unknown name',
    () => zipOf({ 'manifest.json': manifest({ 'admin-password': { bytes: 0, sha256: SHA } }) }),
  ],
  [
    'a part that unpacks to more than its declared size',
    () =>
      zipOf({ 'manifest.json': manifest({ 'plugins/x': { bytes: 1, sha256: SHA } }), 'plugins/x': 'x'.repeat(1e6) }),
  ],
])('archive: %s is rejected', async (_what, make, text = /Cannot use .* as a backup/) => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'a.zip')
  writeFileSync(file, await make())
  await expect(openArchive(file)).rejects.toMatchObject({ ...INVALID, message: expect.stringMatching(text) })
})

function manifest(parts: unknown): string {
  return JSON.stringify({ ...FACTS, kind: 'embedded', schema: SCHEMA_VERSIONS.at(-1), parts })
}

test('restore: a backup with a newer schema or without its tables is rejected before anything is created', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'a.zip')
  const home = join(folder.path, 'home')
  const settings = readSettings({ PLATFORM_HOME: home })
  const restore = () => restorePlatform({ settings, file, replace: false, force: false })
  await write(file, { 'plugins/a': 'x' })
  await expect(restore()).rejects.toMatchObject({
    ...INVALID,
    message: expect.stringContaining('does not contain the part database/platform.jsonl'),
  })
  const newer = join(folder.path, 'newer.zip')
  await write(newer, { 'database/newer_table.jsonl': '', 'plugins/a': 'x' }, '999-newer')
  await expect(restorePlatform({ settings, file: newer, replace: false, force: false })).rejects.toMatchObject({
    code: 'ERR_DATABASE_VERSION',
    message: expect.stringMatching(/newer version of Solhost.*"999-newer".*Start the newer version/s),
  })
  expect(existsSync(home)).toBe(false)
})

test.each([
  ['database/users.jsonl', 'table'],
  ['databases/a-1.sqlite', 'solutionDatabase'],
  ['plugins/a b/.x/ü.js', 'plugin'],
  ['platform-key', 'key'],
  ['database/kysely_migration.jsonl', null],
  ['databases/../platform.sqlite', null],
  ['databases/A.sqlite', null],
  ['plugins/..', null],
  ['plugins/a/../b', null],
  ['plugins/a\\..\\b', null],
  ['plugins//a', null],
  ['/plugins/a', null],
  ['plugins/a\n', null],
  [`plugins${'/a'.repeat(40)}`, null],
  ['__proto__', null],
])('archive: the part %j has the kind %s', (name, kind) => {
  expect(kindOfPart(name)).toBe(kind)
})

test('rows: lines arrive complete, wherever the stream is split; an invalid row is rejected with its number', async () => {
  const table = { key: ['id'], since: '', bytes: ['content'] }
  const read = async (...texts: string[]) => {
    const rows = []
    for await (const row of readLines(pieces(...texts), table)) rows.push(row)
    return rows
  }
  const content = new Uint8Array([1, 2])
  const rows = [
    { id: 1, content },
    { id: 2, content },
  ]
  expect(await read('{"id":1,"con', 'tent":"AQI="}\n{"id":2,"content":"AQI="', '}', '\n')).toEqual(rows)
  await expect(read('{"id":1,"content":"AQI="}\n[]\n')).rejects.toThrow('line 2 is not a JSON object of column values')
  await expect(read('{"id":{},"content":"AQI="}\n')).rejects.toThrow('line 1 is not a JSON object of column values')
  await expect(read('{"id":1}\n')).rejects.toThrow('line 1: the value of the binary column')
  await expect(read('{"id":1,"content":"AQI="}')).rejects.toThrow('the last line is incomplete')
})
