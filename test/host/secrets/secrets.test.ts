import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPlatformKey } from '../../../base/config/platform-key.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createSecrets, type Secrets } from '../../../host/secrets/secrets.ts'

let home: string
let db: HostDatabase
let secrets: Secrets
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-secrets-'))
  db = await openHostDatabase(home)
  secrets = createSecrets(db, await openPlatformKey(db, home, ''))
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

test('secrets: a value is sent only to its hosts and only for its solution', async () => {
  await secrets.put('crm', 'IDP_SECRET', 'the value', ['idp.example.org', '127.0.0.1:9000'])
  const to = (host: string, solution = 'crm', name = 'IDP_SECRET') => secrets.forHost(solution, name, host)
  expect(await to('idp.example.org')).toBe('the value')
  expect(await to('IDP.example.org:443')).toBe('the value')
  expect(await to('127.0.0.1:9000')).toBe('the value')
  expect(await to('idp.example.org:8443')).toBeNull()
  expect(await to('127.0.0.1:9001')).toBeNull()
  expect(await to('evil.idp.example.org')).toBeNull()
  expect(await to('idp.example.org', 'other')).toBeNull()
  expect(await to('idp.example.org', 'crm', 'OTHER')).toBeNull()
  expect(await to('evil.org/idp.example.org')).toBeNull()
})

test('secrets: the list has names and hosts, and the table has no plain-text value', async () => {
  await secrets.put('lists', 'B', 'value-of-b', ['b.org'])
  await secrets.put('lists', 'A', 'value-of-a', ['a.org'])
  expect(await secrets.list('lists')).toEqual([
    { name: 'A', hosts: ['a.org'] },
    { name: 'B', hosts: ['b.org'] },
  ])
  expect(JSON.stringify(await db.selectFrom('secrets').selectAll().execute())).not.toContain('value-of')
})

test('secrets: a new value replaces the old one', async () => {
  await secrets.put('again', 'A', 'one', ['a.org'])
  await secrets.put('again', 'A', 'two', ['b.org'])
  expect([await secrets.forHost('again', 'A', 'a.org'), await secrets.forHost('again', 'A', 'b.org')]).toEqual([
    null,
    'two',
  ])
})

test('secrets: a solution can have at most 100, and existing ones can still be changed at the limit', async () => {
  for (let n = 0; n < 100; n++) await secrets.put('many', `A${n}`, 'one', ['a.org'])
  await expect(secrets.put('many', 'B', 'one', ['a.org'])).rejects.toMatchObject({ code: 'ERR_REQUEST_INVALID' })
  await secrets.put('many', 'A0', 'two', ['a.org'])
  expect(await secrets.forHost('many', 'A0', 'a.org')).toBe('two')
})

test('secrets: removing a secret again does nothing', async () => {
  await secrets.put('removes', 'A', 'one', ['a.org'])
  expect(await secrets.remove('removes', 'A')).toBe(true)
  expect(await secrets.remove('removes', 'A')).toBe(false)
  expect(await secrets.forHost('removes', 'A', 'a.org')).toBeNull()
})

test('secrets: a row copied under another name cannot be decrypted', async () => {
  await secrets.put('copies', 'A', 'one', ['a.org'])
  const row = await db.selectFrom('secrets').selectAll().where('solution', '=', 'copies').executeTakeFirstOrThrow()
  await db
    .insertInto('secrets')
    .values({ ...row, name: 'B' })
    .execute()
  expect(await secrets.forHost('copies', 'B', 'a.org')).toBeNull()
})
