import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createGrants, type Grants } from '../../../host/grants/grants.ts'
import { readGrantedHost } from '../../../host/secrets/granted-host.ts'

let home: string
let db: HostDatabase
let key: PlatformKey
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-grants-'))
  db = await openHostDatabase(home)
  key = await openPlatformKey(db, home, '')
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const CRM = { server: 'alpha', database: 'crm', username: 'crm', password: 'pass-of-crm' } as const
const withDatabase = (crm: Grants['databases'][string]): Grants => ({ databases: { crm }, http: [], users: false })

test('grants: a new solution has none', async () => {
  expect(await createGrants(db, key).get('nobody')).toEqual({ databases: {}, http: [], users: false })
})

test('grants: names from scripts never find inherited properties', async () => {
  const { databases } = await createGrants(db, key).get('nobody')
  expect(databases.constructor).toBeUndefined()
})

test('grants: a stored grant is returned with its password, and shown without it', async () => {
  const grants = createGrants(db, key)
  const wanted: Grants = { databases: { crm: CRM }, http: ['api.example.org:8443'], users: true }
  const shown = { databases: { crm: { server: 'alpha', database: 'crm', username: 'crm', hasPassword: true } } }
  expect(await grants.put('crm', wanted)).toEqual({ ...wanted, ...shown })
  expect(await grants.show('crm')).toEqual({ ...wanted, ...shown })
  expect(await grants.get('crm')).toEqual(wanted)
})

test('grants: the table has no plain-text password', async () => {
  await createGrants(db, key).put('sealed', withDatabase(CRM))
  expect(JSON.stringify(await db.selectFrom('grants').selectAll().execute())).not.toContain('pass-of-crm')
})

test('grants: an omitted password is kept if server and username are unchanged', async () => {
  const grants = createGrants(db, key)
  await grants.put('keeps', withDatabase(CRM))
  const { password, ...without } = CRM
  await grants.put('keeps', withDatabase({ ...without, database: 'other' }))
  expect((await grants.get('keeps')).databases.crm).toEqual({ ...CRM, database: 'other' })
})

test.each([
  ['username', { username: 'somebody' }],
  ['server', { server: 'gamma' }],
] as const)('grants: an omitted password is not kept for a different %s', async (_what, change) => {
  const grants = createGrants(db, key)
  await grants.put('changed', withDatabase(CRM))
  const { password, ...without } = CRM
  await grants.put('changed', withDatabase({ ...without, ...change }))
  expect((await grants.get('changed')).databases.crm).toEqual({ ...without, ...change })
})

test('grants: an empty password removes the old one', async () => {
  const grants = createGrants(db, key)
  await grants.put('emptied', withDatabase(CRM))
  const { databases } = await grants.put('emptied', withDatabase({ ...CRM, password: '' }))
  expect(databases.crm).toMatchObject({ hasPassword: false })
})

test('grants: a password copied to another solution’s row cannot be decrypted there', async () => {
  const grants = createGrants(db, key)
  await grants.put('from', withDatabase(CRM))
  const { value } = await db
    .selectFrom('grants')
    .select('value')
    .where('solution', '=', 'from')
    .executeTakeFirstOrThrow()
  await db.insertInto('grants').values({ solution: 'thief', value }).execute()
  await expect(grants.get('thief')).rejects.toMatchObject({ code: 'ERR_PLATFORM_KEY' })
})

test('grants: a change applies immediately on the host that makes it, and within a second on other hosts', async () => {
  let time = 1_000_000
  const here = createGrants(db, key, () => time)
  const there = createGrants(db, key, () => time)
  const users = async () => (await here.get('hosts')).users
  expect(await users()).toBe(false)
  await here.put('hosts', { databases: {}, http: [], users: true })
  expect(await users()).toBe(true)
  await there.put('hosts', { databases: {}, http: [], users: false })
  time += 999
  expect(await users()).toBe(true)
  time += 1
  expect(await users()).toBe(false)
})

test.each([
  ['API.Example.org', 'api.example.org'],
  ['api.example.org:8443', 'api.example.org:8443'],
  ['10.0.0.7', '10.0.0.7'],
  ['[FD00:0:0::1]:443', '[fd00::1]:443'],
  ['my_service:5000', 'my_service:5000'],
])('granted host: %s is stored as %s', (text, kept) => {
  expect(readGrantedHost(text)).toBe(kept)
})

test.each([
  '',
  '*.example.org',
  'https://example.org',
  'a.org/x',
  'a@b.org',
  'a.org:0',
  'a.org:70000',
  'a b',
  'a.org\r\nX: y',
  '[::1',
])('granted host: %j is invalid', (text) => {
  expect(readGrantedHost(text)).toBeNull()
})
