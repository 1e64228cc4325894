import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createPasswords } from '../../base/accounts/passwords.ts'
import { createUsers } from '../../base/accounts/users.ts'
import { createApiTokens } from '../../control-center/access/api-tokens.ts'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'
import { createOrganisations } from '../../control-center/organisations/organisations.ts'

const home = mkdtempSync(join(tmpdir(), 'api-tokens-test-'))
const settings = readCenterSettings({ PLATFORM_HOME: home })
const db = await openCenterDatabase(settings)
const users = createUsers(db, createPasswords(), settings.limits, {
  endAccess: async () => {},
  eraseFromAudit: async () => {},
})
const owner = await users.create({ username: 'owner', password: 'a long test password', mustChangePassword: false })
const organisations = createOrganisations(db)
const { id: acme } = await organisations.create({ name: 'acme', title: 'Acme' }, owner.uid)
const { id: other } = await organisations.create({ name: 'other', title: 'Other' }, owner.uid)
let time = 1_000_000
const tokens = createApiTokens(db, () => time)

afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

test('API tokens: they work until the exact millisecond of their expiry, with their organisation and role', async () => {
  const { token, ...made } = await tokens.create(acme, { name: 'build', role: 'viewer', expiresAt: time + 1000 })
  expect(made).toMatchObject({ organisation: acme, role: 'viewer', name: 'build', expiresAt: 1_001_000 })
  expect(await tokens.list(acme)).toEqual([made])
  expect(await tokens.list(other)).toEqual([])
  time += 999
  expect(await tokens.find(token)).toEqual(made)
  time += 1
  expect(await tokens.find(token)).toBeNull()
})

test('API tokens: another organisation cannot revoke them', async () => {
  const { token, id } = await tokens.create(acme, { name: 'build', role: 'owner', expiresAt: time + 1000 })
  expect(await tokens.remove(other, id)).toBe(false)
  expect(await tokens.find(token)).not.toBeNull()
  expect(await tokens.remove(acme, id)).toBe(true)
  expect(await tokens.find(token)).toBeNull()
})
