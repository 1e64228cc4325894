import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from 'koa'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ActiveSolution } from '../../../base/bundles/active-solution.ts'
import { endpointsOf } from '../../../base/bundles/endpoint-table.ts'
import { openPlatformKey } from '../../../base/config/platform-key.ts'
import { type ApiTokens, createApiTokens } from '../../../host/access/api-tokens.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createCallers, type FindCaller } from '../../../host/endpoints/callers.ts'
import { createSecrets } from '../../../host/secrets/secrets.ts'
import { warnOfEmbedded } from '../../../host/solutions/embedded-warning.ts'
import { manifestOf } from '../../support/solutions.ts'

// Two hosts with one database, each with its own caches.

const NOW = Date.UTC(2026, 0, 1)
const ENDPOINTS = {
  'GET /orders': { function: 'run', authentication: 'token' },
  'POST /hook': { function: 'run', authentication: 'signature', signature: { scheme: 'stripe', secret: 'HOOK' } },
}
const manifest = manifestOf({ name: 'shop', endpoints: ENDPOINTS })
const [hook, orders] = endpointsOf({ manifest, modules: [] })

let home: string
let db: HostDatabase
let time: number
let tokens: ApiTokens
let hosts: readonly FindCaller[]
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-callers-'))
  db = await openHostDatabase(home)
  time = NOW
  tokens = createApiTokens(db, () => time)
  const secrets = createSecrets(db, await openPlatformKey(db, home, ''))
  await secrets.put('shop', 'HOOK', 'a secret', [])
  const parts = {
    db,
    sites: {} as never,
    sessions: { find: async () => null },
    tokens,
    secrets,
    maintenance: { refuseNewWork: async () => {} },
    solutionLog: { write: () => {} },
    now: () => time,
  }
  hosts = [createCallers(parts), createCallers(parts)]
})
afterEach(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

/**
 * Sends the request to the host with this number.
 * @returns how the host authenticated the caller, or the code of the error
 */
async function ask(host: number, endpoint: typeof hook, headers: Record<string, string>, body = ''): Promise<string> {
  const ctx = { get: (name: string) => headers[name.toLowerCase()] ?? '', set: () => {}, req: { headers }, state: {} }
  const raw = async () => ({ kind: 'json' as const, bytes: Buffer.from(body) })
  const find = hosts[host] as FindCaller
  try {
    const { way } = await find(ctx as unknown as Context, { name: 'shop' } as ActiveSolution, endpoint as never, raw)
    return way
  } catch (error) {
    return (error as { code: string }).code
  }
}

test('a token that one host deletes stops working on the other one after a second', async () => {
  const { id, token } = await tokens.create({ name: 'x', scopes: ['solutions:shop:call'], expiresAt: NOW + 60_000 })
  const headers = { authorization: `Bearer ${token}` }
  expect([await ask(0, orders, headers), await ask(1, orders, headers)]).toEqual(['token', 'token'])
  time = NOW + 60_000
  expect(await ask(0, orders, headers)).toBe('ERR_UNAUTHENTICATED')
  time = NOW
  await tokens.remove(id)
  time = NOW + 1001
  expect([await ask(0, orders, headers), await ask(1, orders, headers)]).toEqual(Array(2).fill('ERR_UNAUTHENTICATED'))
})

test('a signature is accepted once on all hosts, however it is encoded; its time stamp limits how long it must be remembered', async () => {
  const seconds = Math.floor(NOW / 1000)
  const signed = (at: number) => createHmac('sha256', 'a secret').update(`${at}.{}`).digest('hex')
  const header = (at: number, mac = signed(at)) => ({ 'stripe-signature': `t=${at},v1=${mac}` })
  expect(await ask(0, hook, header(seconds), '{}')).toBe('signature')
  for (const mac of [signed(seconds), signed(seconds).toUpperCase(), `${'0'.repeat(64)},v1=${signed(seconds)}`]) {
    expect(await ask(1, hook, header(seconds, mac), '{}')).toBe('ERR_UNAUTHENTICATED')
  }
  expect(await ask(1, hook, header(seconds + 1), '{}')).toBe('signature')
  const [{ expires_at }] = (await db.selectFrom('used_tokens').select('expires_at').execute()) as [
    { expires_at: number },
  ]
  expect(expires_at).toBeGreaterThan(NOW + 5 * 60_000)
  for (const at of [seconds - 301, seconds + 301]) {
    expect(await ask(0, hook, header(at), '{}')).toBe('ERR_UNAUTHENTICATED')
  }
})

test('endpoints or jobs with an embedded database cause a warning if there may be several hosts', () => {
  const databases = { orders: { server: 'embedded' }, crm: { server: 'alpha' } }
  const warned = warnOfEmbedded({ manifest: manifestOf({ endpoints: ENDPOINTS, databases }), modules: [] })
  expect(warned).toMatchObject([{ code: 'embedded_per_host', message: expect.stringContaining('"orders"') }])
  const jobs = { nightly: { function: 'run' } }
  expect(warnOfEmbedded({ manifest: manifestOf({ jobs, databases }), modules: [] })).toEqual(warned)
  expect(warnOfEmbedded({ manifest: manifestOf({ databases }), modules: [] })).toEqual([])
  expect(warnOfEmbedded({ manifest: manifestOf({ endpoints: ENDPOINTS }), modules: [] })).toEqual([])
})
