import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../../host/database/open.ts'
import { createSessions } from '../../../host/sessions/sessions.ts'
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
  solution: 'crm',
  username: 'anna',
  uid: 'a-1',
  permissions: ['Users'],
  tenant: ['acme', -1],
  locale: 'nl-BE',
  address: '127.0.0.1',
  source: 'users' as const,
  selector: null,
  providerLogin: null,
}

function clocked() {
  let time = 1_000_000_000
  const sessions = createSessions(db, createLimits(), () => time)
  return { sessions, after: (ms: number) => (time += ms), at: () => time }
}

test('sessions: a cookie finds its session, in its solution only', async () => {
  const { sessions, at } = clocked()
  const { cookie } = await sessions.start(ANNA)
  const { address, ...kept } = ANNA
  expect(await sessions.find('crm', cookie)).toEqual({ ...kept, publicId: expect.any(String), loggedInAt: at() })
  expect(await sessions.find('other', cookie)).toBeNull()
  expect(await sessions.find('crm', `${cookie}x`)).toBeNull()
})

test('sessions: 30 minutes without a request end it, and requests keep it alive', async () => {
  const { sessions, after } = clocked()
  const { cookie } = await sessions.start(ANNA)
  for (let request = 0; request < 5; request++) {
    after(29 * MINUTE)
    expect(await sessions.find('crm', cookie)).not.toBeNull()
  }
  after(30 * MINUTE)
  expect(await sessions.find('crm', cookie)).toBeNull()
})

test('sessions: 12 hours end it, whatever happens', async () => {
  const { sessions, after } = clocked()
  const { cookie } = await sessions.start(ANNA)
  for (let time = 0; time < 12 * 60 - 20; time += 20) {
    after(20 * MINUTE)
    expect(await sessions.find('crm', cookie)).not.toBeNull()
  }
  after(20 * MINUTE)
  expect(await sessions.find('crm', cookie)).toBeNull()
})

test('sessions: an ended one is gone at once, and its row a day later', async () => {
  const { sessions, after } = clocked()
  const { cookie } = await sessions.start({ ...ANNA, solution: 'gone' })
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
