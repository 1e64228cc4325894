import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accountId, factorAccount } from '../../../base/accounts/factor-account.ts'
import { createFactors } from '../../../base/accounts/factors.ts'
import { type Database, openDatabase } from '../../../base/database/open.ts'
import { createLimits } from '../../../runtime/limits.ts'

let home: string
let db: Database
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-factors-'))
  db = await openDatabase(home)
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const LIMITS = { ...createLimits(), FACTOR_LOCK: 3 }
const ofUser = (uid: string) => factorAccount('users', 'crm', uid)

function clocked() {
  let time = 1_000_000_000
  return { factors: createFactors(db, LIMITS, () => time), after: (ms: number) => (time += ms), at: () => time }
}

/** Adds factors and recovery codes without their secrets, which these tests don't use. */
async function addRows(account: ReturnType<typeof ofUser>, ids: readonly string[]) {
  const { id } = await clocked().factors.open(account)
  for (const [index, factor] of ids.entries()) {
    const row = { id: factor, account: id, kind: 'passkey', lookup: `passkey ${factor}`, name: factor, secret: '' }
    const times = { created_at: index, last_used_at: null, refused_at: null }
    await db
      .insertInto('factors')
      .values({ ...row, rp_id: 'crm.example', counter: 0, ...times })
      .execute()
  }
  const codes = ['one', 'two', 'three'].map((hash) => ({
    account: id,
    hash,
    salt: '',
    used_at: hash === 'one' ? 1 : null,
  }))
  await db.insertInto('recovery_codes').values(codes).execute()
}

test('factors: an account without factors has no row, and looking it up creates none', async () => {
  const { factors } = clocked()
  const nothing = { factors: [], isAppLocked: false, recoveryCodesLeft: 0, firstAskedAt: null }
  expect(await factors.of(ofUser('nobody'))).toEqual(nothing)
  const rows = await db.selectFrom('factor_accounts').selectAll().where('uid', '=', 'nobody').execute()
  expect(rows).toEqual([])
})

test('factors: an account has one random id for passkeys, even if 20 requests create it at the same time', async () => {
  const { factors } = clocked()
  const opened = await Promise.all(Array.from({ length: 20 }, () => clocked().factors.open(ofUser('new'))))
  expect(new Set(opened.map(({ userHandle }) => userHandle)).size).toBe(1)
  expect(Buffer.from(opened[0]?.userHandle ?? '', 'base64url')).toHaveLength(32)
  expect((await factors.open(ofUser('another'))).userHandle).not.toBe(opened[0]?.userHandle)
})

test('factors: an account of the users table is the same in all solutions; other sources have separate accounts in each solution', async () => {
  const { factors } = clocked()
  await addRows(factorAccount('users', 'crm', 'u-1'), ['of the users table'])
  const namesOf = async (...account: Parameters<typeof factorAccount>) =>
    (await factors.of(factorAccount(...account))).factors.map(({ name }) => name)
  expect(await namesOf('users', 'shop', 'u-1')).toEqual(['of the users table'])
  expect([await namesOf('', 'crm', 'u-1'), await namesOf('provider', 'crm', 'u-1')]).toEqual([[], []])
  await addRows(factorAccount('', 'crm', 'u-1'), ['of a script'])
  expect([await namesOf('', 'crm', 'u-1'), await namesOf('', 'shop', 'u-1')]).toEqual([['of a script'], []])
  // Moving text from the solution's name to the uid must change the account's id.
  expect(accountId({ source: '', solution: 'a', uid: '","b' })).not.toBe(
    accountId({ source: '', solution: 'a","', uid: 'b' }),
  )
})

test('factors: FACTOR_LOCK wrong codes in a row lock the authenticator app, until the account is unlocked', async () => {
  const { factors } = clocked()
  const anna = ofUser('anna')
  await factors.open(anna)
  const isLocked = async () => (await factors.of(anna)).isAppLocked
  await factors.noteWrong(anna)
  await factors.noteWrong(anna)
  expect(await isLocked()).toBe(false)
  // A correct code resets the count of wrong codes.
  await factors.unlock(anna)
  await factors.noteWrong(anna)
  await factors.noteWrong(anna)
  expect(await isLocked()).toBe(false)
  await factors.noteWrong(anna)
  expect(await isLocked()).toBe(true)
  await factors.noteWrong(anna)
  expect(await isLocked()).toBe(true)
  expect((await factors.of(ofUser('bob'))).isAppLocked).toBe(false)
  await factors.unlock(anna)
  expect(await isLocked()).toBe(false)
})

test('factors: parallel wrong codes all count', async () => {
  const bob = ofUser('bob')
  await clocked().factors.open(bob)
  await Promise.all(Array.from({ length: 3 }, () => clocked().factors.noteWrong(bob)))
  expect((await clocked().factors.of(bob)).isAppLocked).toBe(true)
})

test('factors: the recovery codes are removed with the last factor, not before', async () => {
  const { factors } = clocked()
  const carl = ofUser('carl')
  await addRows(carl, ['first', 'second'])
  expect(await factors.of(carl)).toMatchObject({ factors: [{ id: 'first' }, { id: 'second' }], recoveryCodesLeft: 2 })
  expect(await factors.remove(carl, 'none')).toBe(false)
  expect([await factors.remove(carl, 'first'), await factors.remove(carl, 'first')]).toEqual([true, false])
  expect(await factors.of(carl)).toMatchObject({ factors: [{ id: 'second' }], recoveryCodesLeft: 2 })
  expect(await factors.remove(carl, 'second')).toBe(true)
  expect(await factors.of(carl)).toMatchObject({ factors: [], recoveryCodesLeft: 0 })
})

test('factors: nobody can remove another account’s factor by its id', async () => {
  const { factors } = clocked()
  await addRows(ofUser('dora'), ['of dora'])
  expect(await factors.remove(ofUser('mallory'), 'of dora')).toBe(false)
  expect((await factors.of(ofUser('dora'))).factors).toHaveLength(1)
})

test('factors: the time when the user was first asked to set up a factor is stored once, however often the page is opened', async () => {
  const { factors, after, at } = clocked()
  const first = at()
  expect(await factors.noteAsked(ofUser('eva'))).toBe(first)
  after(86_400_000)
  expect(await factors.noteAsked(ofUser('eva'))).toBe(first)
  expect((await factors.of(ofUser('eva'))).firstAskedAt).toBe(first)
})

test('factors: a reset removes factors, recovery codes, the lock and the start of the grace period', async () => {
  const { factors, after, at } = clocked()
  const fred = ofUser('fred')
  await addRows(fred, ['of fred'])
  await factors.noteAsked(fred)
  for (let count = 0; count < LIMITS.FACTOR_LOCK; count++) await factors.noteWrong(fred)
  expect((await factors.of(fred)).isAppLocked).toBe(true)
  await factors.reset(fred)
  expect(await factors.of(fred)).toEqual({ factors: [], isAppLocked: false, recoveryCodesLeft: 0, firstAskedAt: null })
  const left = (table: 'factors' | 'recovery_codes') =>
    db.selectFrom(table).selectAll().where('account', '=', accountId(fred)).execute()
  expect([await left('factors'), await left('recovery_codes')]).toEqual([[], []])
  after(1000)
  expect(await factors.noteAsked(fred)).toBe(at())
})
