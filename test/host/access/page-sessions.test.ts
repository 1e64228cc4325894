import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import type { AdminAccount } from '../../../host/access/account.ts'
import { createApiTokens } from '../../../host/access/api-tokens.ts'
import { createPageSessions } from '../../../host/access/page-sessions.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createLimits } from '../../../runtime/limits.ts'

const MINUTE = 60_000
const limits = createLimits({ SESSION_IDLE: 30 * MINUTE, SESSION_LIFETIME: 120 * MINUTE })

let home: string
let db: HostDatabase
let key: PlatformKey
let time: number
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-page-sessions-'))
  db = await openHostDatabase(home)
  key = await openPlatformKey(db, home, 'k'.repeat(32))
  time = 1_000_000_000_000
})
afterEach(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const accountWith = (fingerprint: string): AdminAccount => ({
  name: 'admin',
  checkPassword: async () => false,
  fingerprint,
})
const pageSessions = (fingerprint = 'first password') =>
  createPageSessions(
    db,
    key,
    { account: accountWith(fingerprint), tokens: createApiTokens(db, () => time) },
    limits,
    () => time,
  )
const rows = () => db.selectFrom('admin_sessions').selectAll().execute()

test('page session: the cookie has 256 random bits, works on every host, and is not stored in any table', async () => {
  const cookie = await pageSessions().start('192.0.2.7')
  expect(cookie).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(await pageSessions().find(cookie)).toEqual({
    name: 'admin',
    scopes: null,
    csrfToken: expect.any(String),
    isConfirmed: true,
  })
  expect(JSON.stringify(await rows())).not.toContain(cookie)
})

test('page session: a different cookie, no cookie and an ended session are not found', async () => {
  const sessions = pageSessions()
  const cookie = await sessions.start('192.0.2.7')
  expect(await sessions.find(`${cookie.slice(0, -1)}${cookie.endsWith('A') ? 'B' : 'A'}`)).toBeNull()
  expect(await sessions.find('')).toBeNull()
  await sessions.end(cookie)
  expect(await sessions.find(cookie)).toBeNull()
})

test('page session: it ends after being idle for SESSION_IDLE, to the millisecond', async () => {
  const sessions = pageSessions()
  const cookie = await sessions.start('192.0.2.7')
  time += 30 * MINUTE - 1
  expect(await sessions.find(cookie)).not.toBeNull()
  time += 30 * MINUTE
  expect(await sessions.find(cookie)).toBeNull()
})

test('page session: automatic requests of a page don’t count as use', async () => {
  const sessions = pageSessions()
  const cookie = await sessions.start('192.0.2.7')
  for (let minutes = 0; minutes < 29; minutes++) {
    time += MINUTE
    expect(await sessions.find(cookie, { isUse: false })).not.toBeNull()
  }
  time += MINUTE
  expect(await sessions.find(cookie, { isUse: false })).toBeNull()
})

test('page session: it ends after SESSION_LIFETIME, even if it is used', async () => {
  const sessions = pageSessions()
  const cookie = await sessions.start('192.0.2.7')
  for (let minutes = 0; minutes < 119; minutes++) {
    time += MINUTE
    expect(await sessions.find(cookie)).not.toBeNull()
  }
  time += MINUTE
  expect(await sessions.find(cookie)).toBeNull()
})

test('page session: it ends when the account’s name or password changes', async () => {
  const cookie = await pageSessions('first password').start('192.0.2.7')
  expect(await pageSessions('second password').find(cookie)).toBeNull()
  expect(await pageSessions('first password').find(cookie)).not.toBeNull()
})

test('page session: its token is valid only with its cookie', async () => {
  const sessions = pageSessions()
  const [one, other] = [await sessions.start('192.0.2.7'), await sessions.start('192.0.2.7')]
  const token = (await sessions.find(one))?.csrfToken ?? ''
  expect([one, other].map((cookie) => sessions.isCsrfToken(cookie, token))).toEqual([true, false])
  expect(['', one, `${token}x`].map((wrong) => sessions.isCsrfToken(one, wrong))).toEqual([false, false, false])
})

test('page session: the periodic cleanup removes ended sessions and no others', async () => {
  const sessions = pageSessions()
  await sessions.start('192.0.2.1')
  time += 20 * MINUTE
  const cookie = await sessions.start('192.0.2.2')
  time += 10 * MINUTE
  await sessions.sweep()
  expect((await rows()).map(({ address }) => address)).toEqual(['192.0.2.2'])
  expect(await sessions.find(cookie)).not.toBeNull()
})

test('page session of an API token: it has the token’s scopes, needs no confirmation, and survives a change of the admin password', async () => {
  const tokens = createApiTokens(db, () => time)
  const { id } = await tokens.create({ name: 'shop', scopes: ['solutions:shop:write'], expiresAt: null })
  const cookie = await pageSessions().start('192.0.2.7', id)
  time += 20 * MINUTE
  const found = {
    name: `token:${id}`,
    scopes: ['solutions:shop:write'],
    csrfToken: expect.any(String),
    isConfirmed: true,
  }
  expect(await pageSessions().find(cookie)).toEqual(found)
  expect(await pageSessions('second password').find(cookie)).toEqual(found)
})

test('page session of an API token: it ends when the token is deleted or expires', async () => {
  const tokens = createApiTokens(db, () => time)
  const deleted = await tokens.create({ name: 'deleted', scopes: ['solutions:shop:read'], expiresAt: null })
  const expiring = await tokens.create({ name: 'expiring', scopes: ['solutions:shop:read'], expiresAt: time + MINUTE })
  const sessions = pageSessions()
  const [first, second] = [
    await sessions.start('192.0.2.7', deleted.id),
    await sessions.start('192.0.2.7', expiring.id),
  ]
  await tokens.remove(deleted.id)
  expect(await sessions.find(first)).toBeNull()
  time += MINUTE - 1
  expect(await sessions.find(second)).not.toBeNull()
  time += 1
  expect(await sessions.find(second)).toBeNull()
})
