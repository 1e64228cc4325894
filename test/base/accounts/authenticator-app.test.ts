import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuthenticatorApps } from '../../../base/accounts/authenticator-app.ts'
import { accountId, factorAccount } from '../../../base/accounts/factor-account.ts'
import { createFactors } from '../../../base/accounts/factors.ts'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import { type Database, openDatabase } from '../../../base/database/open.ts'
import { createLimits } from '../../../runtime/limits.ts'

let home: string
let db: Database
let key: PlatformKey
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-authenticator-app-'))
  db = await openDatabase(home)
  key = await openPlatformKey(db, home, '')
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const STEP = 30_000
/** A time in the middle of a time step. */
const NOW = 60_000_000 * STEP + 15_000

function clocked(start = NOW) {
  let time = start
  const now = () => time
  const factors = createFactors(db, createLimits(), now)
  const create = () => createAuthenticatorApps(db, key, factors, now)
  return { factors, apps: create(), otherHost: create(), after: (ms: number) => (time += ms), at: now }
}

const ofUser = (uid: string) => factorAccount('users', 'crm', uid)

function codeAt(secret: string, timestamp: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
}

/** Adds an app with a code from an hour ago, so that none of the current codes has been used. */
async function addApp(uid: string, { apps, after, at }: ReturnType<typeof clocked>): Promise<string> {
  const secret = apps.newSecret()
  after(-3_600_000)
  expect(await apps.add(ofUser(uid), secret, codeAt(secret, at()), 'Phone')).toBe('added')
  after(3_600_000)
  return secret
}

// The SHA-1 test vectors from RFC 6238, appendix B. Their codes have 8 digits; our codes are the last 6 digits.
test.each([
  [59, '94287082'],
  [1_111_111_109, '07081804'],
  [1_111_111_111, '14050471'],
  [1_234_567_890, '89005924'],
  [2_000_000_000, '69279037'],
  [20_000_000_000, '65353130'],
])('authenticator app: the code at the time %s s is the one in RFC 6238', async (seconds, listed) => {
  const { apps } = clocked(seconds * 1000)
  const secret = Secret.fromLatin1('12345678901234567890').base32
  const account = ofUser(`rfc-${seconds}`)
  expect(await apps.add(account, secret, listed, 'Phone')).toBe('wrong')
  expect(await apps.add(account, secret, listed.slice(2), 'Phone')).toBe('added')
})

test('authenticator app: a secret has 160 bits, is not repeated and is stored encrypted', async () => {
  const clock = clocked()
  const secret = await addApp('secret', clock)
  expect(secret).toMatch(/^[A-Z2-7]{32}$/)
  expect(clock.apps.newSecret()).not.toBe(secret)
  const rows = await db
    .selectFrom('factors')
    .selectAll()
    .where('account', '=', accountId(ofUser('secret')))
    .execute()
  expect(rows).toHaveLength(1)
  expect(JSON.stringify(rows)).not.toContain(secret)
})

test('authenticator app: the address has the issuer, the username and the secret, and apps read the same codes', () => {
  const { apps } = clocked()
  const address = new URL(apps.addressOf('GEZDGNBVGY3TQOJQ', { issuer: 'My CRM', username: 'anna@example.org' }))
  expect(address.href).toMatch(/^otpauth:\/\/totp\/My%20CRM:anna%40example.org\?/)
  const { issuer, secret, algorithm, digits, period } = Object.fromEntries(address.searchParams)
  expect({ issuer, secret, algorithm, digits, period }).toEqual({
    issuer: 'My CRM',
    secret: 'GEZDGNBVGY3TQOJQ',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})

test.each([
  [-2, false],
  [-1, true],
  [0, true],
  [1, true],
  [2, false],
])('authenticator app: a code that is off by %s time steps is accepted: %s', async (steps, isAccepted) => {
  const clock = clocked()
  const uid = `off-${steps}`
  const secret = await addApp(uid, clock)
  const code = codeAt(secret, clock.at() + steps * STEP)
  expect(await clock.apps.use(ofUser(uid), code)).toBe(isAccepted)
})

test('authenticator app: the code of a time step can be used once, and codes of earlier steps can’t be used after it', async () => {
  const clock = clocked()
  const { apps, otherHost, after, at } = clock
  const secret = await addApp('once', clock)
  const anna = ofUser('once')
  const [before, current, next] = [at() - STEP, at(), at() + STEP].map((time) => codeAt(secret, time)) as [
    string,
    string,
    string,
  ]
  expect(await apps.use(anna, current)).toBe(true)
  expect([await apps.use(anna, current), await otherHost.use(anna, current), await apps.use(anna, before)]).toEqual([
    false,
    false,
    false,
  ])
  expect(await otherHost.use(anna, next)).toBe(true)
  after(STEP)
  expect(await apps.use(anna, next)).toBe(false)
  after(STEP)
  expect(await apps.use(anna, codeAt(secret, at()))).toBe(true)
})

test('authenticator app: the code that was entered during set-up can’t be used to sign in', async () => {
  const { apps, at } = clocked()
  const secret = apps.newSecret()
  const code = codeAt(secret, at())
  expect(await apps.add(ofUser('set-up'), secret, code, 'Phone')).toBe('added')
  expect(await apps.use(ofUser('set-up'), code)).toBe(false)
  expect(await apps.use(ofUser('set-up'), codeAt(secret, at() + STEP))).toBe(true)
})

test('authenticator app: of 50 parallel uses of one code on two hosts, exactly one succeeds', async () => {
  const clock = clocked()
  const secret = await addApp('parallel', clock)
  const code = codeAt(secret, clock.at())
  const hosts = [clock.apps, clock.otherHost]
  const uses = Array.from({ length: 50 }, (_, index) => hosts[index % 2]?.use(ofUser('parallel'), code))
  expect((await Promise.all(uses)).filter((isAccepted) => isAccepted)).toHaveLength(1)
})

test('authenticator app: spaces in a code are ignored; a code with any other character that is not a digit is wrong', async () => {
  const clock = clocked()
  const secret = await addApp('spaces', clock)
  const code = codeAt(secret, clock.at())
  const anna = ofUser('spaces')
  const wide = [...code].map((digit) => String.fromCodePoint(0xff10 + Number(digit))).join('')
  for (const typed of ['', ' ', code.slice(1), `0${code}`, `${code.slice(0, 5)}x`, `-${code.slice(1)}`, wide]) {
    expect([typed, await clock.apps.use(anna, typed)]).toEqual([typed, false])
  }
  expect(await clock.apps.use(anna, ` ${code.slice(0, 3)} ${code.slice(3)}\t`)).toBe(true)
})

test('authenticator app: a code of another secret or another account is wrong', async () => {
  const clock = clocked()
  const { apps, at } = clock
  const [secret, others] = [await addApp('own', clock), await addApp('other', clock)]
  const right = [-1, 0, 1].map((steps) => codeAt(secret, at() + steps * STEP))
  // Two secrets can have the same code by chance, so skip such codes.
  const foreign = [-1, 0, 1].map((steps) => codeAt(others, at() + steps * STEP)).filter((code) => !right.includes(code))
  for (const code of foreign) expect(await apps.use(ofUser('own'), code)).toBe(false)
  expect(await apps.use(ofUser('nobody'), codeAt(secret, at()))).toBe(false)
  // The same uid, but chosen by a script in another solution.
  expect(await apps.use(factorAccount('', 'crm', 'own'), codeAt(secret, at()))).toBe(false)
  expect(await apps.use(ofUser('own'), codeAt(secret, at()))).toBe(true)
})

test('authenticator app: an account has at most one app, even if two are added at the same time', async () => {
  const { apps, otherHost, factors, at } = clocked()
  const [one, other] = [apps.newSecret(), apps.newSecret()]
  const answers = await Promise.all([
    apps.add(ofUser('two'), one, codeAt(one, at()), 'Phone'),
    otherHost.add(ofUser('two'), other, codeAt(other, at()), 'Tablet'),
  ])
  expect(answers.sort()).toEqual(['added', 'taken'])
  expect((await factors.of(ofUser('two'))).factors).toHaveLength(1)
})

test('authenticator app: a secret that was copied to another account’s row is not accepted', async () => {
  const clock = clocked()
  const { apps, at } = clock
  const secret = await addApp('mallory', clock)
  await addApp('victim', clock)
  const row = db
    .selectFrom('factors')
    .select('secret')
    .where('account', '=', accountId(ofUser('mallory')))
  const copied = await row.executeTakeFirstOrThrow()
  await db
    .updateTable('factors')
    .set(copied)
    .where('account', '=', accountId(ofUser('victim')))
    .execute()
  expect(await apps.use(ofUser('victim'), codeAt(secret, at()))).toBe(false)
})
