import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createApiTokens, Scope } from '../../../host/access/api-tokens.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'

let home: string
let db: HostDatabase
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-api-tokens-'))
  db = await openHostDatabase(home)
})
afterEach(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const CI = { name: 'ci', scopes: ['solutions:crm:write'], expiresAt: null }
const DAY = 86_400_000

test('API token: it has 256 random bits, can be found, and is not stored in any table', async () => {
  const tokens = createApiTokens(db)
  const { token, ...made } = await tokens.create(CI)
  expect(token).toMatch(/^sol_[A-Za-z0-9_-]{43}$/)
  expect(made).toEqual({ id: expect.any(String), ...CI, permissions: [], tenant: null })
  expect(await tokens.find(token)).toEqual(made)
  expect(await tokens.list()).toEqual([made])
  expect(JSON.stringify(await db.selectFrom('api_tokens').selectAll().execute())).not.toContain(token.slice(4))
})

test('API token: a different token, an empty token and the token’s id are not found', async () => {
  const tokens = createApiTokens(db)
  const { token, id } = await tokens.create(CI)
  for (const other of [`${token.slice(0, -2)}xx`, token.slice(0, -1), `${token}x`, `SOL_${token.slice(4)}`, id, '']) {
    expect([other, await tokens.find(other)]).toEqual([other, null])
  }
})

test('API token: it works until the exact millisecond when it expires, and stays listed for another 30 days', async () => {
  let time = 10 * DAY
  const tokens = createApiTokens(db, () => time)
  const { token } = await tokens.create({ ...CI, expiresAt: time + 5 })
  time += 4
  expect(await tokens.find(token)).not.toBeNull()
  time += 1
  expect(await tokens.find(token)).toBeNull()
  time += 30 * DAY
  await tokens.sweep()
  expect(await tokens.list()).toHaveLength(1)
  time += 1
  await tokens.sweep()
  expect(await tokens.list()).toEqual([])
})

test('API token: a removed token stops working immediately, and removing it again does nothing', async () => {
  const tokens = createApiTokens(db)
  const { token, id } = await tokens.create(CI)
  expect(await tokens.remove(id)).toBe(true)
  expect(await tokens.find(token)).toBeNull()
  expect(await tokens.remove(id)).toBe(false)
})

test.each([
  'solutions:crm:write',
  'solutions:*:read',
  'users:read',
  'sessions:write',
  'audit:read',
  'maintenance:write',
])('scope: %s is valid', (scope) => expect(Scope.safeParse(scope).success).toBe(true))

test.each([
  '',
  '*',
  'solutions:write',
  'solutions:Crm:read',
  'solutions:a:b:read',
  'solutions:ab--c:read',
  'tokens:read',
  'users',
  'users:*',
  'users:read\n',
  'audit:delete',
])('scope: %j is invalid', (scope) => expect(Scope.safeParse(scope).success).toBe(false))
