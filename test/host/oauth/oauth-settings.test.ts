import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createOAuthSettings } from '../../../host/oauth/oauth-settings.ts'

let home: string
let db: HostDatabase
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-oauth-settings-'))
  db = await openHostDatabase(home)
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

test('OAuth settings: stored settings are returned for that solution only, until they are removed', async () => {
  const settings = createOAuthSettings(db)
  expect(await settings.get('crm')).toBeNull()
  await settings.put('crm', { api: 'Google', clientId: 'one' })
  expect(await settings.get('crm')).toEqual({ api: 'Google', clientId: 'one' })
  await settings.put('crm', { clientId: 'two', max_age: 5 })
  expect(await settings.get('crm')).toEqual({ clientId: 'two', max_age: 5 })
  expect(await settings.get('other')).toBeNull()
  expect([await settings.remove('crm'), await settings.remove('crm')]).toEqual([true, false])
  expect(await settings.get('crm')).toBeNull()
})

test('OAuth settings: a change on another host applies within a second', async () => {
  let now = 1_000_000
  const [here, there] = [createOAuthSettings(db, () => now), createOAuthSettings(db, () => now)]
  expect(await here.get('shared')).toBeNull()
  await there.put('shared', { api: 'GitHub' })
  expect(await here.get('shared')).toBeNull()
  now += 1000
  expect(await here.get('shared')).toEqual({ api: 'GitHub' })
})
