import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkCounted, createThrottle } from '../../../base/accounts/throttle.ts'
import { type Database, openDatabase } from '../../../base/database/open.ts'
import { PlatformError } from '../../../runtime/errors.ts'
import { createLimits } from '../../../runtime/limits.ts'

let home: string
let db: Database
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-throttle-'))
  db = await openDatabase(home)
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

let names = 0
/** @returns a different account for each call */
const someone = (address = '192.0.2.1') => ({ source: 'users', username: `user-${names++}`, address })

describe.each([
  ['in memory', false],
  ['in the database, shared by several hosts', true],
])('throttle %s', (_where, isShared) => {
  const make = (overrides = {}) =>
    createThrottle(db, createLimits({ THROTTLE_NETWORK: 100_000, ...overrides }), isShared)

  test('five attempts per account and network are allowed; the sixth must wait at most 15 minutes', async () => {
    const throttle = make()
    const attempt = someone()
    for (let count = 0; count < 5; count++) expect(await throttle.count(attempt, false)).toBeNull()
    const wait = (await throttle.count(attempt, false)) ?? 0
    expect(wait).toBeGreaterThan(890)
    expect(wait).toBeLessThanOrEqual(900)
    expect(await throttle.count(someone(), false)).toBeNull()
  })

  test('only five of 50 simultaneous guesses are allowed', async () => {
    const throttle = make()
    const attempt = someone()
    const waits = await Promise.all(Array.from({ length: 50 }, () => throttle.count(attempt, false)))
    expect(waits.filter((wait) => wait === null)).toHaveLength(5)
  })

  test('attempts whose password was not checked count for the network but not for the account', async () => {
    const throttle = make({ THROTTLE_NETWORK: 8 })
    const attempt = someone('203.0.113.77')
    for (let count = 0; count < 8; count++) {
      expect(await throttle.count(attempt, false)).toBeNull()
      const error = new PlatformError(count % 2 === 0 ? 'ERR_PASSWORDS_BUSY' : 'ERR_DIRECTORY_UNREACHABLE', 'away')
      await expect(checkCounted(throttle, attempt, false, () => Promise.reject(error))).rejects.toBe(error)
    }
    expect(await throttle.count(attempt, false)).not.toBeNull()
    const elsewhere = { ...attempt, address: '203.0.114.1' }
    for (let count = 0; count < 5; count++) expect(await throttle.count(elsewhere, false)).toBeNull()
    expect(await throttle.count(elsewhere, false)).not.toBeNull()
  })

  test('an attempt whose check failed for another reason counts', async () => {
    const throttle = make()
    const attempt = someone()
    for (let count = 0; count < 5; count++) {
      expect(await throttle.count(attempt, false)).toBeNull()
      await expect(checkCounted(throttle, attempt, false, () => Promise.reject(new Error('x')))).rejects.toThrow('x')
    }
    expect(await throttle.count(attempt, false)).not.toBeNull()
  })

  test('an account allows twenty attempts, from any number of networks', async () => {
    const throttle = make()
    const { username } = someone()
    const waits: (number | null)[] = []
    for (let host = 0; host < 25; host++)
      waits.push(await throttle.count({ ...someone(`198.51.100.${host}`), username }, false))
    expect(waits.filter((wait) => wait === null)).toHaveLength(20)
  })

  test('names that differ only in case, width or spaces are one account; each source has separate accounts', async () => {
    const throttle = make()
    const { username, ...rest } = someone()
    for (const name of [username, username.toUpperCase(), ` ${username} `, `ｕ${username.slice(1)}`, username]) {
      expect(await throttle.count({ ...rest, username: name }, false)).toBeNull()
    }
    expect(await throttle.count({ ...rest, username }, false)).not.toBeNull()
    expect(await throttle.count({ ...rest, username, source: 'solution crm' }, false)).toBeNull()
  })

  test('names that are equal in the users table are one account, even if their characters are composed differently', async () => {
    const throttle = make()
    const composed = `\u1e96${names++}`
    const guesses = [composed, composed.normalize('NFD').toUpperCase(), composed, composed.toUpperCase(), composed]
    for (const username of guesses) expect(await throttle.count({ ...someone(), username }, false)).toBeNull()
    const sixth = { ...someone(), username: composed.normalize('NFD').toUpperCase() }
    expect(await throttle.count(sixth, false)).not.toBeNull()
  })

  test('names that a directory treats as equal are one account', async () => {
    const throttle = make()
    const name = `Anna Groß Müller ${names++}`
    const ones = [
      name,
      name.replace(' ', '  '),
      name.replaceAll(' ', '\u00a0\u2003'),
      name.replace('Anna', 'A\u200dn\u034fna\ufe0f'),
      name.replace('Groß', 'GROSS').replace('ü', 'u'),
    ]
    for (const username of ones) expect(await throttle.count({ ...someone(), username }, false)).toBeNull()
    expect(await throttle.count({ ...someone(), username: name.replace('A', 'Á') }, false)).not.toBeNull()
    expect(await throttle.count({ ...someone(), username: name.replaceAll(' ', '') }, false)).toBeNull()
  })

  test('a single network cannot block an account for others, even with many attempts', async () => {
    const throttle = make()
    const { username } = someone()
    for (let count = 0; count < 50; count++) await throttle.count({ ...someone(), username }, false)
    expect(await throttle.count({ ...someone('198.51.100.1'), username }, false)).toBeNull()
  })

  test('attempts from a network that is over its limit don’t count against any account and create no rows', async () => {
    const throttle = make({ THROTTLE_NETWORK: 3 })
    const address = `203.0.113.${isShared ? 1 : 2}`
    const { username } = someone()
    for (let count = 0; count < 3; count++) await throttle.count(someone(address), false)
    for (let count = 0; count < 30; count++) {
      expect(await throttle.count({ ...someone(address), username }, false)).not.toBeNull()
    }
    const rows = await db.selectFrom('throttle').select('key').execute()
    expect(rows.filter(({ key }) => key.endsWith(` ${address}`)).length).toBe(isShared ? 3 : 0)
    expect(await throttle.count({ ...someone(`203.0.113.${isShared ? 3 : 4}`), username }, false)).toBeNull()
  })

  test('an IPv6 network is a /64', async () => {
    const throttle = make({ THROTTLE_NETWORK: 3 })
    const network = `2001:db8:${(names++).toString(16)}:${isShared ? 1 : 2}`
    for (const host of ['1', 'aaaa', 'ffff:1']) {
      expect(await throttle.count(someone(`${network}::${host}`), true)).toBeNull()
    }
    expect(await throttle.count(someone(`${network}::9`), true)).not.toBeNull()
  })

  test('a browser that signed in before is limited only by the counter of the network', async () => {
    const throttle = make()
    const attempt = someone()
    for (let count = 0; count < 30; count++) await throttle.count(attempt, false)
    expect(await throttle.count(attempt, true)).toBeNull()
  })

  test('attempts without a known account count only towards the network’s limit, across solutions; successful ones don’t count', async () => {
    const throttle = make({ THROTTLE_NETWORK: 30 })
    const address = `203.0.113.${isShared ? 5 : 6}`
    const attempt = { source: 'solution crm', username: '', address }
    for (let count = 0; count < 60; count++) {
      expect(await throttle.count(attempt, true)).toBeNull()
      await throttle.succeeded(attempt, true)
    }
    for (let count = 0; count < 30; count++) expect(await throttle.count(attempt, true)).toBeNull()
    expect(await throttle.count({ ...attempt, source: 'solution shop' }, true)).not.toBeNull()
    expect(await throttle.count({ ...attempt, address: `203.0.113.${isShared ? 7 : 8}` }, true)).toBeNull()
  })

  test('a successful sign-in does not count; failed attempts still count after it', async () => {
    const throttle = make()
    const attempt = someone()
    for (let round = 0; round < 30; round++) {
      expect(await throttle.count(attempt, false)).toBeNull()
      await throttle.succeeded(attempt, false)
    }
    for (let count = 0; count < 4; count++) expect(await throttle.count(attempt, false)).toBeNull()
    // Another account with this name: the attacker's own, in another tenant.
    expect(await throttle.count(attempt, false)).toBeNull()
    await throttle.succeeded(attempt, false)
    expect(await throttle.count(attempt, false)).toBeNull()
    expect(await throttle.count(attempt, false)).not.toBeNull()
  })
})

test('throttle: counters of two hosts that share a database add up, and no username is stored', async () => {
  const limits = createLimits({ THROTTLE_NETWORK: 100_000 })
  const hosts = [createThrottle(db, limits, true), createThrottle(db, limits, true)]
  const attempt = { source: 'users', username: 'a name that is secret', address: '203.0.113.9' }
  const waits = await Promise.all(Array.from({ length: 10 }, (_, at) => hosts[at % 2]?.count(attempt, false)))
  expect(waits.filter((wait) => wait === null)).toHaveLength(5)
  expect(JSON.stringify(await db.selectFrom('throttle').selectAll().execute())).not.toContain('secret')
})

test('throttle: when its window ends, a counter starts again, and its row is deleted', async () => {
  const throttle = createThrottle(db, createLimits({ THROTTLE_WINDOW: 1000 }), true)
  const attempt = someone()
  for (let count = 0; count < 6; count++) await throttle.count(attempt, false)
  await db
    .updateTable('throttle')
    .set({ expires_at: Date.now() - 1 })
    .execute()
  expect(await throttle.count(attempt, false)).toBeNull()
  await db
    .updateTable('throttle')
    .set({ expires_at: Date.now() - 1 })
    .execute()
  await throttle.sweep()
  expect(await db.selectFrom('throttle').selectAll().execute()).toEqual([])
})
