import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSessions } from '../../../base/accounts/sessions.ts'
import { type Database, openDatabase } from '../../../base/database/open.ts'
import { createLimits } from '../../../runtime/limits.ts'

let home: string
let db: Database
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-sessions-'))
  db = await openDatabase(home)
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const MINUTE = 60_000
const ANNA = {
  realm: 'crm',
  username: 'anna',
  uid: 'a-1',
  permissions: ['Users'],
  tenant: ['acme', -1],
  locale: 'nl-BE',
  address: '127.0.0.1',
  source: 'users' as const,
  selector: null,
  providerLogin: null,
  factorsOf: 'users' as const,
  methods: ['password'] as const,
  agent: 'Firefox',
  isConfirmed: true,
}

function clocked() {
  let time = 1_000_000_000
  const make = (database = db) => createSessions(database, createLimits(), () => time)
  return { sessions: make(), otherHost: make(), make, after: (ms: number) => (time += ms), at: () => time }
}

test('sessions: a cookie is valid only in its own realm', async () => {
  const { sessions, at } = clocked()
  const { cookie } = await sessions.start(ANNA)
  const { address, agent, isConfirmed, ...kept } = ANNA
  expect(await sessions.find('crm', cookie)).toEqual({
    ...kept,
    publicId: expect.any(String),
    loggedInAt: at(),
    confirmedAt: at(),
  })
  expect(await sessions.find('other', cookie)).toBeNull()
  expect(await sessions.find('crm', `${cookie}x`)).toBeNull()
})

test('sessions: a session expires after 30 minutes without a request; requests keep it alive', async () => {
  const { sessions, after } = clocked()
  const { cookie } = await sessions.start(ANNA)
  for (let request = 0; request < 5; request++) {
    after(29 * MINUTE)
    expect(await sessions.find('crm', cookie)).not.toBeNull()
  }
  after(30 * MINUTE)
  expect(await sessions.find('crm', cookie)).toBeNull()
})

test('sessions: a session expires after 12 hours, even if it is used', async () => {
  const { sessions, after } = clocked()
  const { cookie } = await sessions.start(ANNA)
  for (let time = 0; time < 12 * 60 - 20; time += 20) {
    after(20 * MINUTE)
    expect(await sessions.find('crm', cookie)).not.toBeNull()
  }
  after(20 * MINUTE)
  expect(await sessions.find('crm', cookie)).toBeNull()
})

test('sessions: an ended session is invalid immediately; its row is deleted a day later', async () => {
  const { sessions, after } = clocked()
  const { cookie } = await sessions.start({ ...ANNA, realm: 'gone' })
  await sessions.end('other', cookie)
  expect(await sessions.find('gone', cookie)).not.toBeNull()
  await sessions.end('gone', cookie)
  expect(await sessions.find('gone', cookie)).toBeNull()
  const rows = async () =>
    (await db.selectFrom('sessions').select('uid').where('solution', '=', 'gone').execute()).length
  await sessions.sweep()
  expect(await rows()).toBe(1)
  after(24 * 60 * MINUTE + 1)
  await sessions.sweep()
  expect(await rows()).toBe(0)
})

test('sessions: `living` returns the sessions that have not ended or expired, in their own realm', async () => {
  const { sessions, after } = clocked()
  const start = async () => (await sessions.start(ANNA)).cookie
  const old = await start()
  for (let time = 0; time < 11 * 60 + 40; time += 20) {
    after(20 * MINUTE)
    await sessions.find('crm', old)
  }
  const idle = await start()
  after(25 * MINUTE)
  const [ended, mine, second] = [await start(), await start(), await start()]
  await sessions.end('crm', ended)
  const asked = [old, idle, ended, mine, second, 'nobody’s'].map((cookie) => ({ realm: 'crm', cookie }))
  expect(await sessions.living(asked)).toEqual(new Set([idle, mine, second]))
  after(5 * MINUTE)
  expect(await sessions.living(asked)).toEqual(new Set([mine, second]))
  expect(await sessions.living([{ realm: 'other', cookie: mine }])).toEqual(new Set())
  expect(await sessions.living([])).toEqual(new Set())
})

test('sessions: checking whether a session is alive does not extend it', async () => {
  const { sessions, after } = clocked()
  const { cookie } = await sessions.start(ANNA)
  const isLiving = async () => (await sessions.living([{ realm: 'crm', cookie }])).has(cookie)
  after(29 * MINUTE)
  expect(await isLiving()).toBe(true)
  after(MINUTE)
  expect(await isLiving()).toBe(false)
})

test('sessions: checking which sessions are alive finds those ended by another host immediately and drops them from the cache', async () => {
  const { sessions, otherHost } = clocked()
  const { cookie } = await sessions.start(ANNA)
  await sessions.find('crm', cookie)
  await otherHost.end('crm', cookie)
  expect(await sessions.find('crm', cookie)).not.toBeNull()
  expect(await sessions.living([{ realm: 'crm', cookie }])).toEqual(new Set())
  expect(await sessions.find('crm', cookie)).toBeNull()
})

test('sessions: 450 sessions are checked in three queries', async () => {
  const { sessions, make } = clocked()
  let queries = 0
  const counted = db.withPlugin({
    transformQuery({ node }) {
      queries++
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const cookies = await Promise.all(Array.from({ length: 450 }, async () => (await sessions.start(ANNA)).cookie))
  const ended = cookies.filter((_, n) => n % 7 === 0)
  for (const cookie of ended) await sessions.end('crm', cookie)
  const living = await make(counted).living(cookies.map((cookie) => ({ realm: 'crm', cookie })))
  expect(living).toEqual(new Set(cookies.filter((_, n) => n % 7 !== 0)))
  expect(queries).toBe(3)
})

test('sessions: a script’s change is visible immediately on this host, and within a second on others', async () => {
  const { sessions, otherHost, after } = clocked()
  const { cookie } = await sessions.start(ANNA)
  await sessions.find('crm', cookie)
  await otherHost.find('crm', cookie)
  await sessions.change('crm', cookie, { tenant: ['north', 7] })
  expect(await sessions.find('crm', cookie)).toMatchObject({ tenant: ['north', 7], locale: 'nl-BE', uid: 'a-1' })
  await sessions.change('crm', cookie, { tenant: null, locale: 'de' })
  await sessions.change('crm', cookie, {})
  const changed = { tenant: null, locale: 'de', username: 'anna' }
  expect(await sessions.find('crm', cookie)).toMatchObject(changed)
  after(1000)
  expect(await otherHost.find('crm', cookie)).toMatchObject(changed)
  expect(await sessions.find('crm', cookie)).toMatchObject(changed)
})

test('sessions: a change affects neither sessions in another realm nor ended ones', async () => {
  const { sessions, after } = clocked()
  const { cookie } = await sessions.start(ANNA)
  await sessions.find('crm', cookie)
  await sessions.change('other', cookie, { locale: 'de' })
  expect(await sessions.find('crm', cookie)).toMatchObject({ locale: 'nl-BE' })
  after(1000)
  expect(await sessions.find('crm', cookie)).toMatchObject({ locale: 'nl-BE' })
  await sessions.end('crm', cookie)
  await sessions.change('crm', cookie, { locale: 'de' })
  expect(await sessions.find('crm', cookie)).toBeNull()
  const row = db.selectFrom('sessions').select('locale').where('solution', '=', 'crm').where('ended_at', 'is not', null)
  expect((await row.execute()).map(({ locale }) => locale)).not.toContain('de')
})

test('sessions: a change made while a use is being recorded is not lost', async () => {
  const { sessions: first, make, after } = clocked()
  const { cookie } = await first.start(ANNA)
  after(MINUTE)
  let answers = 0
  const watched = db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      // Changes the session after its row was read and its last use was stored, but before anything is cached.
      if (++answers === 2) await sessions.change('crm', cookie, { locale: 'de' })
      return result
    },
  })
  const sessions = make(watched)
  expect(await sessions.find('crm', cookie)).toMatchObject({ locale: 'nl-BE' })
  expect(await sessions.find('crm', cookie)).toMatchObject({ locale: 'de' })
  expect(answers).toBe(3)
})

test('sessions: they are listed in the order in which they were started', async () => {
  const { sessions, after } = clocked()
  const started: string[] = []
  for (let n = 0; n < 5; n++, after(1000)) started.push((await sessions.start({ ...ANNA, uid: 'ordered' })).publicId)
  const { items } = await sessions.list({ limit: 10, uid: 'ordered' })
  expect(items.map(({ id }) => id)).toEqual(started)
  expect(started[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('sessions: a partial index finds the sessions of users who signed in with a provider', async () => {
  const plan = await sql<{ detail: string }>`explain query plan
    update sessions set ended_at = 1 where ended_at is null and provider_login = ${'p-1'}`.execute(db)
  expect(plan.rows.map(({ detail }) => detail)).toEqual([
    'SEARCH sessions USING INDEX sessions_of_provider_login (provider_login=?)',
  ])
  const index = await sql<{ sql: string }>`select sql from sqlite_master
    where name = 'sessions_of_provider_login'`.execute(db)
  expect(index.rows[0]?.sql).toContain('is not null')
})
