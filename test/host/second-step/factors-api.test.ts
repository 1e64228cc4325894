import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accountId, type FactorAccount, factorAccount } from '../../../base/accounts/factor-account.ts'
import { createFactors, type Factors } from '../../../base/accounts/factors.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { type FactorApiParts, factorRoutes } from '../../../host/second-step/factors-api.ts'
import { createLimits } from '../../../runtime/limits.ts'

let home: string
let db: HostDatabase
let factors: Factors
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-factors-api-'))
  db = await openHostDatabase(home)
  factors = createFactors(db, { ...createLimits(), FACTOR_LOCK: 2 })
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

/** Calls a route directly, without the checks that run before it. */
async function call(address: string, params: Record<string, string>, query = {}): Promise<unknown> {
  const [method, path] = address.split(' ')
  const nobody = async () => {}
  const sessions = { endOfAccount: nobody }
  const parts = { factors, sessions, remembered: sessions, openSignIns: sessions } as unknown as FactorApiParts
  const route = factorRoutes(parts).find((one) => one.method === method && one.path === path)
  return route?.handle({ params, query } as never)
}

async function addFactor(account: FactorAccount): Promise<void> {
  const { id } = await factors.open(account)
  const times = { created_at: 1, last_used_at: null, refused_at: null }
  const factor = { id: accountId(account), account: id, kind: 'app', lookup: `app ${id}`, name: 'App', secret: 'x' }
  await db
    .insertInto('factors')
    .values({ ...factor, rp_id: null, counter: 0, ...times })
    .execute()
}

test('factors: unlocking resets the count of wrong codes of that account only', async () => {
  const accounts = [
    factorAccount('users', '', 'u-1'),
    factorAccount('', 'crm', 'u-1'),
    factorAccount('', 'shop', 'u-1'),
  ] as const
  for (const account of accounts) {
    await addFactor(account)
    for (let wrong = 0; wrong < 2; wrong++) await factors.noteWrong(account)
  }
  const locked = async () => Promise.all(accounts.map(async (account) => (await factors.of(account)).isAppLocked))
  expect(await locked()).toEqual([true, true, true])
  await call('POST /users/:uid/unlock-factors', { uid: 'u-1' })
  expect(await locked()).toEqual([false, true, true])
  await call('POST /solutions/:name/unlock-factors', { name: 'crm' }, { uid: 'u-1' })
  expect(await locked()).toEqual([false, false, true])
})

test('factors: if accounts of several sources have the uid, the request must name the source', async () => {
  for (const source of ['', 'provider'] as const) await addFactor(factorAccount(source, 'crm', 'u-2'))
  const get = (query: object) => call('GET /solutions/:name/factors', { name: 'crm' }, query)
  await expect(get({ uid: 'u-2' })).rejects.toThrow(
    'Several sources have an account with this uid. Add the query parameter `source` with one of these values: script, provider.',
  )
  expect(await get({ uid: 'u-2', source: 'provider' })).toMatchObject({
    source: 'provider',
    factors: [{ name: 'App' }],
  })
  await call('DELETE /solutions/:name/factors', { name: 'crm' }, { uid: 'u-2', source: 'script' })
  expect(await get({ uid: 'u-2' })).toMatchObject({ source: 'provider' })
})
