import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRemembered } from '../../../base/accounts/remembered.ts'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import { type Database, openDatabase } from '../../../base/database/open.ts'
import { createLimits } from '../../../runtime/limits.ts'

let home: string
let db: Database
let key: PlatformKey
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-remembered-'))
  db = await openDatabase(home)
  key = await openPlatformKey(db, home, '')
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const DAY = 86_400_000
const ANNA = {
  source: 'users',
  uid: 'a-1',
  username: 'anna',
  permissions: ['Users'],
  providerLogin: null,
  custom: { custom_tenant: 'acme' },
  tenant: ['acme', -1],
  locale: 'nl-BE',
  factorsOf: 'users',
  methods: ['password'],
  agent: 'Firefox',
} as const

function clocked() {
  let time = 1_000_000_000
  const remembered = createRemembered(db, key, createLimits(), () => time)
  return { remembered, after: (ms: number) => (time += ms), at: () => time }
}

test('remembered: a cookie is valid only in its own solution, and a lookup changes nothing', async () => {
  const { remembered, at } = clocked()
  const cookie = await remembered.start('crm', ANNA)
  const series = { ...ANNA, selector: cookie.slice(0, 22), solution: 'crm', lastLoginAt: at() }
  expect(await remembered.use('crm', cookie)).toEqual({ kind: 'current', series })
  expect(await remembered.use('crm', cookie)).toEqual({ kind: 'current', series })
  expect(await remembered.use('other', cookie)).toEqual({ kind: 'unknown' })
  expect(await remembered.use('crm', 'x'.repeat(65))).toEqual({ kind: 'unknown' })
  expect(await remembered.use('crm', '')).toEqual({ kind: 'unknown' })
})

test('remembered: custom fields are encrypted, and values copied from another row are ignored', async () => {
  const { remembered } = clocked()
  const [one, other] = [await remembered.start('sealed', ANNA), await remembered.start('sealed', ANNA)]
  const rows = await db.selectFrom('remembered').selectAll().where('solution', '=', 'sealed').execute()
  expect(JSON.stringify(rows)).not.toContain('custom_tenant')
  const { custom } = rows.find(({ selector }) => one.startsWith(selector)) ?? {}
  await db
    .updateTable('remembered')
    .set({ custom: custom ?? '' })
    .where('solution', '=', 'sealed')
    .execute()
  expect(await remembered.use('sealed', one)).toMatchObject({ series: { custom: ANNA.custom } })
  expect(await remembered.use('sealed', other)).toMatchObject({ series: { custom: null } })
})

test('remembered: each use updates username, permissions, tenant and locale, and keeps the custom fields', async () => {
  const { remembered } = clocked()
  const now = { username: 'anne', permissions: ['Editors'], tenant: ['globex'], locale: 'de' }
  const cookie = (await remembered.rotate(await remembered.start('crm', ANNA), now)) ?? ''
  expect(await remembered.use('crm', cookie)).toMatchObject({ kind: 'current', series: { ...ANNA, ...now } })
})

test('remembered: the content of the table is not enough to sign in', async () => {
  const { remembered } = clocked()
  const cookie = await remembered.start('crm', ANNA)
  const rows = JSON.stringify(await db.selectFrom('remembered').selectAll().execute())
  expect(rows).toContain(cookie.slice(0, 22))
  expect(rows).not.toContain(cookie.slice(22))
})

test('remembered: each use issues a new cookie; the previous one works for 10 s but is not renewed', async () => {
  const { remembered, after } = clocked()
  const first = await remembered.start('crm', ANNA)
  const second = (await remembered.rotate(first, ANNA)) ?? ''
  expect(second).toMatch(/^[A-Za-z0-9_-]{65}$/)
  expect(second.slice(0, 22)).toBe(first.slice(0, 22))
  expect(second).not.toBe(first)
  after(9_999)
  expect((await remembered.use('crm', first)).kind).toBe('previous')
  expect(await remembered.rotate(first, ANNA)).toBeNull()
  expect((await remembered.use('crm', second)).kind).toBe('current')
})

test('remembered: if two tabs rotate the cookie at the same time, only one gets the new one', async () => {
  const { remembered } = clocked()
  const cookie = await remembered.start('crm', ANNA)
  const both = await Promise.all([remembered.rotate(cookie, ANNA), remembered.rotate(cookie, ANNA)])
  expect(both.filter((one) => one !== null)).toHaveLength(1)
  expect((await remembered.use('crm', cookie)).kind).toBe('previous')
})

test('remembered: an old cookie that is used after 10 s counts as theft, and ends the series for thief and owner', async () => {
  const { remembered, after } = clocked()
  const first = await remembered.start('crm', ANNA)
  const second = (await remembered.rotate(first, ANNA)) ?? ''
  after(10_000)
  expect((await remembered.use('crm', first)).kind).toBe('stolen')
  expect((await remembered.use('crm', second)).kind).toBe('unknown')
  expect(await remembered.rotate(second, ANNA)).toBeNull()
})

test('remembered: a guessed validator also ends the series', async () => {
  const { remembered } = clocked()
  const cookie = await remembered.start('crm', ANNA)
  expect((await remembered.use('crm', cookie.slice(0, 22) + 'x'.repeat(43))).kind).toBe('stolen')
  expect((await remembered.use('crm', cookie)).kind).toBe('unknown')
})

test('remembered: a series expires after 7 days, however often it is used', async () => {
  const { remembered, after } = clocked()
  let cookie = await remembered.start('crm', ANNA)
  for (let day = 0; day < 6; day++) {
    after(DAY)
    cookie = (await remembered.rotate(cookie, ANNA)) ?? ''
    expect((await remembered.use('crm', cookie)).kind).toBe('current')
  }
  after(DAY)
  expect((await remembered.use('crm', cookie)).kind).toBe('unknown')
})

test('remembered: sign-out, revoked access and removal of the solution end a series; its row is deleted a day later', async () => {
  const { remembered, after } = clocked()
  const out = await remembered.start('ended', ANNA)
  const locked = await remembered.start('ended', { ...ANNA, uid: 'locked' })
  const byScript = await remembered.start('ended', { ...ANNA, uid: 'locked', source: '' })
  const same = await remembered.start('ended', { ...ANNA, uid: 'locked', source: '', factorsOf: '' })
  await remembered.end('other', out)
  expect((await remembered.use('ended', out)).kind).toBe('current')
  await remembered.end('ended', out)
  await remembered.endOfUser('users', 'locked')
  expect((await remembered.use('ended', out)).kind).toBe('unknown')
  for (const one of [locked, byScript]) expect((await remembered.use('ended', one)).kind).toBe('unknown')
  expect((await remembered.use('ended', same)).kind).toBe('current')
  await remembered.endAll('ended')
  expect((await remembered.use('ended', same)).kind).toBe('unknown')
  const count = async () =>
    (await db.selectFrom('remembered').select('uid').where('solution', '=', 'ended').execute()).length
  await remembered.sweep()
  expect(await count()).toBe(4)
  after(DAY + 1)
  await remembered.sweep()
  expect(await count()).toBe(0)
})
