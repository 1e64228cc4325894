import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createSignOutTargets } from '../../../host/login/sign-out-target.ts'

let home: string
let db: HostDatabase
let key: PlatformKey
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-sign-out-target-'))
  db = await openHostDatabase(home)
  key = await openPlatformKey(db, home, '')
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const ADDRESS = { address: 'https://example.org/bye' }

function clocked() {
  let time = 1_700_000_000_000
  return { targets: createSignOutTargets(key, () => time), after: (ms: number) => (time += ms) }
}

test.each([
  ADDRESS,
  { address: `/${'\u{20ac}'.repeat(2047)}` },
  { solution: 'other', argument: null },
  { solution: 'other', argument: '\u0001'.repeat(2048) },
])('sign-out target: it is returned unchanged, up to the maximum length for scripts', (target) => {
  const { targets } = clocked()
  expect(targets.read('crm', 's-1', targets.issue('crm', 's-1', target))).toEqual(target)
})

test('sign-out target: it is valid for one session in one solution', () => {
  const { targets } = clocked()
  const token = targets.issue('crm', 's-1', ADDRESS)
  expect(targets.read('other', 's-1', token)).toBeNull()
  expect(targets.read('crm', 's-2', token)).toBeNull()
})

test('sign-out target: it expires after a minute, to the millisecond', () => {
  const { targets, after } = clocked()
  const token = targets.issue('crm', 's-1', ADDRESS)
  after(60_000 - 1)
  expect(targets.read('crm', 's-1', token)).toEqual(ADDRESS)
  after(1)
  expect(targets.read('crm', 's-1', token)).toBeNull()
})

test('sign-out target: a changed or foreign target is ignored', () => {
  const { targets } = clocked()
  const [text = '', signature = ''] = targets.issue('crm', 's-1', ADDRESS).split('.')
  const other = Buffer.from(text, 'base64url').toString().replace('example.org', 'example.net')
  const forms = [
    `${Buffer.from(other).toString('base64url')}.${signature}`,
    `${text}.${key.sign('client-sign-in', text)}`,
    text,
    '',
    'x'.repeat(100_000),
  ]
  for (const form of forms) expect([form, targets.read('crm', 's-1', form)]).toEqual([form, null])
})
