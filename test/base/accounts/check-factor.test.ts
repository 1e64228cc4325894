import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashRaw } from '@node-rs/argon2'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuthenticatorApps } from '../../../base/accounts/authenticator-app.ts'
import { checkFactor, type Entered } from '../../../base/accounts/check-factor.ts'
import { factorAccount } from '../../../base/accounts/factor-account.ts'
import { createFactors } from '../../../base/accounts/factors.ts'
import { createRecoveryCodes } from '../../../base/accounts/recovery-codes.ts'
import { createFactorThrottle } from '../../../base/accounts/throttle.ts'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createLimits } from '../../../runtime/limits.ts'

let home: string
let db: HostDatabase
let key: PlatformKey
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-check-factor-'))
  db = await openHostDatabase(home)
  key = await openPlatformKey(db, home, '')
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

/** Creates a user with an app and recovery codes. @returns methods that enter a code on one of two hosts */
async function userOf(uid: string, overrides: Parameters<typeof createLimits>[0]) {
  const account = factorAccount('users', '', uid)
  const limits = createLimits(overrides)
  const [start, step] = [Date.now(), 30_000]
  let time = start
  const factors = createFactors(db, limits, () => time)
  const apps = createAuthenticatorApps(db, key, factors, () => time)
  const cheap: typeof hashRaw = (code, parameters) => hashRaw(code, { ...parameters, memoryCost: 8, timeCost: 1 })
  const recoveryCodes = createRecoveryCodes(db, { run: (work) => work() }, () => time, cheap)
  const hosts = [1, 2].map(() => ({
    factors,
    apps,
    recoveryCodes,
    factorThrottle: createFactorThrottle(db, limits, true),
  }))
  const secret = apps.newSecret()
  const codeAt = (timestamp: number) => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
  await apps.add(account, secret, codeAt(time), 'Phone')
  const codes = await recoveryCodes.renew(account)
  const enter = (entered: Entered, host = 0) => checkFactor(account, entered, hosts[host] as (typeof hosts)[0])
  return {
    codes,
    factors: () => factors.of(account),
    right() {
      time += step
      return enter({ kind: 'totp', code: codeAt(time) })
    },
    wrong: (host = 0) => enter({ kind: 'totp', code: 'wrong!' }, host),
    recover: (code: string) => enter({ kind: 'recovery-code', code }),
  }
}

test('check factor: after THROTTLE_FACTOR wrong codes on all hosts together, every code is refused, even a correct one', async () => {
  const user = await userOf('throttled', { THROTTLE_FACTOR: 3 })
  const kinds = [await user.wrong(0), await user.wrong(1), await user.recover('00000-00000')].map(({ kind }) => kind)
  expect(kinds).toEqual(['wrong', 'wrong', 'wrongrecovery'])
  for (const answer of [
    await user.wrong(0),
    await user.wrong(1),
    await user.right(),
    await user.recover(user.codes[0] ?? ''),
  ]) {
    expect(answer).toEqual({ kind: 'throttled', seconds: expect.any(Number) })
    expect(answer.kind === 'throttled' && answer.seconds > 890 && answer.seconds <= 900).toBe(true)
  }
  // The recovery code was not used up.
  expect((await user.factors()).recoveryCodesLeft).toBe(10)
})

test('check factor: of 20 parallel wrong codes, only THROTTLE_FACTOR are checked', async () => {
  const user = await userOf('parallel', { THROTTLE_FACTOR: 3 })
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => user.wrong(index % 2)))
  expect(answers.filter(({ kind }) => kind === 'wrong')).toHaveLength(3)
})

test('check factor: a correct code is not counted, and wrong codes before it don’t lock the app', async () => {
  const user = await userOf('right', { THROTTLE_FACTOR: 3, FACTOR_LOCK: 2 })
  for (let round = 0; round < 2; round++) {
    expect(await user.wrong()).toEqual({ kind: 'wrong' })
    for (let count = 0; count < 3; count++) {
      expect(await user.right()).toEqual({ kind: 'right', method: 'totp', recoveryCodesLeft: null })
    }
  }
  expect((await user.factors()).isAppLocked).toBe(false)
  expect([await user.wrong(), await user.wrong()]).toMatchObject([{ kind: 'wrong' }, { kind: 'throttled' }])
})

test('check factor: FACTOR_LOCK wrong codes in a row lock the app, and a recovery code unlocks it', async () => {
  const user = await userOf('locked', { THROTTLE_FACTOR: 100, FACTOR_LOCK: 3 })
  for (let count = 0; count < 3; count++) expect(await user.wrong()).toEqual({ kind: 'wrong' })
  expect([await user.wrong(), await user.right()]).toEqual([{ kind: 'locked' }, { kind: 'locked' }])
  const recovered = { kind: 'right', method: 'recovery-code', recoveryCodesLeft: 9 }
  expect(await user.recover(user.codes[4] ?? '')).toEqual(recovered)
  expect((await user.right()).kind).toBe('right')
})
