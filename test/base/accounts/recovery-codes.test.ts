import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashRaw } from '@node-rs/argon2'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accountId, factorAccount } from '../../../base/accounts/factor-account.ts'
import { createFactors } from '../../../base/accounts/factors.ts'
import { createRecoveryCodes } from '../../../base/accounts/recovery-codes.ts'
import { type Database, openDatabase } from '../../../base/database/open.ts'
import { createLimits } from '../../../runtime/limits.ts'

let home: string
let db: Database
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-recovery-codes-'))
  db = await openDatabase(home)
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

/** The parameters that the code under test passed for each hash. */
const hashed: unknown[] = []
/** A cheap hash, since these tests compute many. */
const cheap: typeof hashRaw = (code, parameters) => {
  hashed.push(parameters)
  return hashRaw(code, { ...parameters, memoryCost: 8, timeCost: 1 })
}
const passwords = { run: <T>(work: () => Promise<T>) => work() }

const createCodes = () => createRecoveryCodes(db, passwords, Date.now, cheap)

async function withCodes(uid: string) {
  const account = factorAccount('users', '', uid)
  const factors = createFactors(db, createLimits())
  await factors.open(account)
  const recoveryCodes = createCodes()
  return { account, factors, recoveryCodes, otherHost: createCodes(), codes: await recoveryCodes.create(account) }
}

test('recovery codes: a set has 10 different codes of 50 bits, which are not stored in readable form', async () => {
  const { account, codes } = await withCodes('form')
  expect(codes).toHaveLength(10)
  expect(new Set(codes).size).toBe(10)
  // Crockford's base 32 has no i, l, o and u.
  for (const code of codes) expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{5}$/)
  const rows = await db.selectFrom('recovery_codes').selectAll().where('account', '=', accountId(account)).execute()
  expect(rows).toHaveLength(10)
  expect(new Set(rows.map(({ salt }) => salt)).size).toBe(1)
  for (const code of codes) {
    expect(JSON.stringify(rows)).not.toContain(code)
    expect(JSON.stringify(rows)).not.toContain(code.replace('-', ''))
  }
})

test('recovery codes: a hash is Argon2id with 19 MiB, t=2, p=1, and a salt of 16 bytes', async () => {
  await withCodes('argon2')
  const { salt, ...parameters } = hashed.at(-1) as { salt: Uint8Array }
  // The parameters don't name the algorithm, because argon2id is the library's default.
  expect(parameters).toEqual({ memoryCost: 19 * 1024, timeCost: 2, parallelism: 1, outputLen: 32 })
  expect(salt).toHaveLength(16)
})

test('recovery codes: each can be used once, and the number of codes that are left is returned', async () => {
  const { account, factors, recoveryCodes, otherHost, codes } = await withCodes('each')
  for (const [index, code] of codes.entries()) expect(await recoveryCodes.use(account, code)).toBe(9 - index)
  expect((await factors.of(account)).recoveryCodesLeft).toBe(0)
  expect([await recoveryCodes.use(account, codes[0] ?? ''), await otherHost.use(account, codes[9] ?? '')]).toEqual([
    null,
    null,
  ])
})

test('recovery codes: of 50 parallel uses of one code on two hosts, exactly one succeeds', async () => {
  const { account, factors, recoveryCodes, otherHost, codes } = await withCodes('parallel')
  const hosts = [recoveryCodes, otherHost]
  const uses = Array.from({ length: 50 }, (_, index) => hosts[index % 2]?.use(account, codes[3] ?? ''))
  expect((await Promise.all(uses)).filter((left) => left !== null)).toEqual([9])
  expect((await factors.of(account)).recoveryCodesLeft).toBe(9)
})

test('recovery codes: case, spaces and hyphens don’t matter, and letters that look like digits count as digits', async () => {
  const { account, recoveryCodes, codes } = await withCodes('typed')
  let set = codes
  // A set of codes may lack one of these digits, so create new sets until both occur.
  while (!['0', '1'].every((digit) => set.join('').includes(digit))) set = await recoveryCodes.renew(account)
  const withZero = set.find((code) => code.includes('0')) ?? ''
  const withOne = set.find((code) => code !== withZero && code.includes('1')) ?? withZero
  const others = set.filter((code) => code !== withZero && code !== withOne)
  const typed = [
    withZero.replaceAll('0', 'O').toUpperCase(),
    ...(withOne === withZero ? [] : [withOne.replaceAll('1', 'I')]),
    others[0]?.toUpperCase() ?? '',
    ` ${others[1]?.replace('-', ' - ')}\n`,
    others[2]?.replace('-', '') ?? '',
  ]
  for (const [index, code] of typed.entries())
    expect([code, await recoveryCodes.use(account, code)]).toEqual([code, 9 - index])
})

test('recovery codes: a new set invalidates the old one', async () => {
  const { account, factors, recoveryCodes, codes } = await withCodes('renewed')
  expect(await recoveryCodes.use(account, codes[0] ?? '')).toBe(9)
  const renewed = await recoveryCodes.renew(account)
  expect((await factors.of(account)).recoveryCodesLeft).toBe(10)
  expect(await recoveryCodes.use(account, codes[1] ?? '')).toBeNull()
  expect(await recoveryCodes.use(account, renewed[1] ?? '')).toBe(9)
})

test('recovery codes: a code of another account is wrong, and input that can’t be a code is not hashed', async () => {
  const { account, recoveryCodes, codes } = await withCodes('own')
  const other = factorAccount('', 'crm', 'own')
  await createFactors(db, createLimits()).open(other)
  const foreign = await recoveryCodes.renew(other)
  expect(await recoveryCodes.use(account, foreign[0] ?? '')).toBeNull()
  expect(await recoveryCodes.use(factorAccount('users', '', 'nobody'), codes[0] ?? '')).toBeNull()
  const before = hashed.length
  for (const typed of ['', '123456', `${codes[0]}0`, 'uuuuu-uuuuu', 'x'.repeat(100_000)]) {
    expect(await recoveryCodes.use(account, typed)).toBeNull()
  }
  expect(hashed).toHaveLength(before)
})
