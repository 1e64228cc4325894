import { describe, expect, test } from 'vitest'
import { createRemembered } from '../../../base/accounts/remembered.ts'
import { openPlatformKey } from '../../../base/config/platform-key.ts'
import type { OAuthConfiguration } from '../../../host/oauth/configuration.ts'
import type { Claims, Provider } from '../../../host/oauth/provider.ts'
import { createProviderLogins, type ProviderLoginContent } from '../../../host/oauth/provider-logins.ts'
import { createRefresh } from '../../../host/oauth/refresh.ts'
import type { TokenRequests } from '../../../host/oauth/token-requests.ts'
import { createTransactions } from '../../../host/oauth/transactions.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { type TestPlace, usePlace } from '../../base/database/contract.ts'
import { mariadbPath, sharedMariadb } from '../../support/mariadb-server.ts'
import { postgresPath, sharedPostgres } from '../../support/postgres-server.ts'

const provider = { title: 'Test', tokenEndpoint: 'https://id.example/token', hasIdToken: true } as Provider
const configuration = { api: 'Custom', clientId: 'crm', parameters: {} } as unknown as OAuthConfiguration

function claimsOf(sub: string, sid?: string): Claims {
  return { iss: 'https://id.example', sub, ...(sid === undefined ? {} : { sid }) }
}

function contentOf(claims: Claims): ProviderLoginContent {
  const page = '/solution/crm/index.html?x=1'
  return { configuration, provider, page, claims, nonce: 'n', idToken: 'i'.repeat(20_000), refreshToken: 'first' }
}

/** Data for provider sign-ins must be stored in the same way on every kind of database. */
function testOAuthStores(place: TestPlace): void {
  const keyOf = () => openPlatformKey(place.db, place.settings.home, '')
  const limits = createLimits()
  const client = { issuer: 'https://id.example', clientId: 'crm' }

  async function transactions(now?: () => number) {
    return createTransactions(place.db, await keyOf(), createLimits({ OAUTH_OPEN_NETWORK: 3 }), now)
  }
  const begun = (network: string) => ({
    solution: 'crm',
    network,
    returnTo: '/solution/crm/index.html?x=é',
    content: { configuration, provider, redirectUri: 'https://crm.example/', nonce: 'n', verifier: 'v' },
  })

  test(`${place.kind}, transactions: one of ten simultaneous callbacks succeeds and gets everything that was stored`, async () => {
    const [one, two] = [await transactions(), await transactions()]
    const { id, cookie } = await one.start(begun('10.0.0.1'))
    const taken = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? one : two).take('crm', id, cookie)),
    )
    expect(taken.filter(({ kind }) => kind === 'used')).toHaveLength(9)
    expect(taken.find(({ kind }) => kind === 'taken')).toMatchObject({
      transaction: { id, returnTo: '/solution/crm/index.html?x=é', content: begun('').content },
    })
  })

  test(`${place.kind}, transactions: a callback with a wrong cookie or solution, or a late one, is rejected and changes nothing`, async () => {
    let time = Date.now()
    const store = await transactions(() => time)
    const { id, cookie } = await store.start(begun('10.0.0.2'))
    expect(await store.take('crm', id, undefined)).toEqual({ kind: 'unknown' })
    expect(await store.take('crm', id, `${cookie}x`)).toEqual({ kind: 'unknown' })
    expect(await store.take('other', id, cookie)).toEqual({ kind: 'unknown' })
    time += limits.OAUTH_TRANSACTION - 1
    expect((await store.take('crm', id, cookie)).kind).toBe('taken')
    const late = await store.start(begun('10.0.0.2'))
    time += limits.OAUTH_TRANSACTION
    expect(await store.take('crm', late.id, late.cookie)).toEqual({ kind: 'unknown' })
    time += 1
    await store.sweep()
    expect(await place.db.selectFrom('oauth_transactions').select('id').where('id', '=', late.id).execute()).toEqual([])
  })

  test(`${place.kind}, transactions: if a network exceeds OAUTH_OPEN_NETWORK, its oldest transaction is removed`, async () => {
    let time = Date.now()
    const store = await transactions(() => time++)
    const others = await store.start(begun('10.0.0.4'))
    const ids = []
    for (let n = 0; n < 5; n++) ids.push(await store.start(begun('10.0.0.3')))
    const kinds = []
    for (const { id, cookie } of [...ids, others]) kinds.push((await store.take('crm', id, cookie)).kind)
    expect(kinds).toEqual(['unknown', 'unknown', 'taken', 'taken', 'taken', 'taken'])
  })

  test(`${place.kind}, provider logins: they are found until they end; then their content is deleted`, async () => {
    const logins = createProviderLogins(place.db, await keyOf(), limits)
    const content = contentOf(claimsOf('anna', 's-1'))
    const id = (await logins.start('crm', content, Date.now())) ?? ''
    expect((await logins.find(id))?.content).toEqual(content)
    expect((await logins.findOfClient('crm', client))?.id).toBe(id)
    expect(await logins.findOfClient('other', client)).toBeNull()
    expect(await logins.findOfClient('crm', { ...client, clientId: 'hrm' })).toBeNull()
    await logins.end(id)
    expect([await logins.find(id), await logins.isAlive(id)]).toEqual([null, false])
    const row = await place.db.selectFrom('provider_logins').select('content').where('id', '=', id).executeTakeFirst()
    expect(row?.content).toBe('')
  })

  test(`${place.kind}, provider logins: a logout ends the logins of one session, or all logins of a user`, async () => {
    const logins = createProviderLogins(place.db, await keyOf(), limits)
    const start = async (sub: string, sid?: string) =>
      (await logins.start('hrm', contentOf(claimsOf(sub, sid)), Date.now())) ?? ''
    const [one, two, bram] = [await start('anna', 's-1'), await start('anna', 's-2'), await start('bram', 's-3')]
    const at = Date.now() - 60_000
    expect(await logins.endSignedOut('hrm', { client, subject: null, sid: 's-1' }, at)).toEqual([one])
    expect(await logins.endSignedOut('hrm', { client, subject: 'bram', sid: 's-2' }, at)).toEqual([])
    expect(await logins.endSignedOut('other', { client, subject: 'anna', sid: null }, at)).toEqual([])
    expect(await logins.endSignedOut('hrm', { client, subject: 'anna', sid: null }, at)).toEqual([two])
    expect(await logins.isAlive(bram)).toBe(true)
  })

  test(`${place.kind}, provider logins: a sign-in that started before its user was signed out is rejected`, async () => {
    const logins = createProviderLogins(place.db, await keyOf(), limits)
    const at = Date.now()
    await logins.endSignedOut('erp', { client, subject: 'anna', sid: null }, at)
    expect(await logins.start('erp', contentOf(claimsOf('anna')), at - 1000)).toBeNull()
    expect(await logins.start('erp', contentOf(claimsOf('anna')), at + 1000)).not.toBeNull()
    expect(await logins.start('erp', contentOf(claimsOf('bram')), at - 1000)).not.toBeNull()
  })

  test(`${place.kind}, provider logins: within the second of a sign-out, a later sign-in succeeds and an earlier one is rejected`, async () => {
    let time = 1_700_000_000_500
    const logins = createProviderLogins(place.db, await keyOf(), limits, () => time)
    const second = 1_700_000_000_000
    await logins.endSignedOut('same-second', { client, subject: 'anna', sid: null }, second)
    time += 100
    const start = (startedAt?: number) => logins.start('same-second', contentOf(claimsOf('anna')), second, startedAt)
    expect(await start(time)).not.toBeNull()
    expect(await start()).not.toBeNull()
    expect(await start(second + 400)).toBeNull()
    expect(await logins.start('same-second', contentOf(claimsOf('anna')), second - 1000, time)).toBeNull()
  })

  test(`${place.kind}, provider logins: unused ones are removed periodically, unless a remembered login needs them`, async () => {
    let time = Date.now()
    const key = await keyOf()
    const remembered = createRemembered(place.db, key, limits, () => time)
    const logins = createProviderLogins(place.db, key, limits, () => time)
    const start = async (sub: string) => (await logins.start('swept', contentOf(claimsOf(sub)), time)) ?? ''
    const [alone, kept] = [await start('anna'), await start('bram')]
    const who = { source: 'provider', uid: 'b', username: 'bram', permissions: [], providerLogin: kept } as const
    await remembered.start('swept', {
      ...who,
      custom: {},
      tenant: null,
      locale: 'en',
      factorsOf: 'provider',
      methods: ['provider'],
      agent: null,
    })
    time += limits.SESSION_LIFETIME + limits.SESSION_ENDED_KEPT + 1
    await logins.sweep()
    expect([await logins.isAlive(alone), await logins.isAlive(kept)]).toEqual([false, true])
    time += limits.REMEMBER_LIFETIME
    await logins.sweep()
    expect(await logins.isAlive(kept)).toBe(false)
  })

  test(`${place.kind}, refresh: ten simultaneous tabs cause one request and get the same claims`, async () => {
    const key = await keyOf()
    const later = Date.now() + limits.REMEMBER_GRACE + 60_000
    const logins = createProviderLogins(place.db, key, limits)
    const id = (await logins.start('crm', contentOf(claimsOf('anna')), Date.now())) ?? ''
    const used: string[] = []
    const tokenRequests = {
      refresh: async (_registration, refreshToken) => {
        used.push(refreshToken)
        return { accessToken: 'a', idToken: 'b', refreshToken: `after ${refreshToken}` }
      },
    } as Pick<TokenRequests, 'refresh'> as TokenRequests
    const changed = { ...claimsOf('anna'), email: 'new@example.org' }
    const refreshAt = (now: number) =>
      createRefresh(
        {
          logins: createProviderLogins(place.db, key, limits, () => now),
          clientSecrets: { secretFor: async () => null },
          tokenRequests,
          claims: { ofTokens: async () => ({ claims: changed, issuedAt: now }), ofIdToken: () => Promise.reject() },
          limits,
        },
        () => now,
      )
    const asked = await Promise.all(Array.from({ length: 10 }, () => refreshAt(later)(id)))
    expect(asked.map((claims) => claims?.email)).toEqual(Array(10).fill('new@example.org'))
    expect(used).toEqual(['first'])
    await refreshAt(later + limits.REMEMBER_GRACE)(id)
    expect(used).toEqual(['first', 'after first'])
  })

  test(`${place.kind}, refresh: a failure changes nothing; if the provider rejects the token, the login ends`, async () => {
    const key = await keyOf()
    const now = Date.now() + limits.REMEMBER_GRACE + 60_000
    const logins = createProviderLogins(place.db, key, limits, () => now)
    const id = (await createProviderLogins(place.db, key, limits).start('crm', contentOf(claimsOf('c')), 0)) ?? ''
    const answers: (Error | null)[] = [new Error('away'), null]
    const tokenRequests = {
      refresh: async () => {
        const answer = answers.shift()
        if (answer) throw answer
        return null
      },
    } as unknown as TokenRequests
    const claims = { ofTokens: () => Promise.reject(), ofIdToken: () => Promise.reject() }
    const clientSecrets = { secretFor: async () => null }
    const refresh = createRefresh({ logins, clientSecrets, tokenRequests, claims, limits }, () => now)
    await expect(refresh(id)).rejects.toThrow('away')
    expect((await logins.find(id))?.content.refreshToken).toBe('first')
    expect(await refresh(id)).toBeNull()
    expect(await logins.isAlive(id)).toBe(false)
  })
}

describe('OAuth stores, embedded', () => testOAuthStores(usePlace('embedded', async () => null)))
describe.skipIf(postgresPath === undefined)(
  'OAuth stores, alpha on PostgreSQL (skipped where it is not installed)',
  () => {
    testOAuthStores(usePlace('alpha', sharedPostgres))
  },
)
describe.skipIf(mariadbPath === undefined)('OAuth stores, gamma on MariaDB (skipped where it is not installed)', () => {
  testOAuthStores(usePlace('gamma', sharedMariadb))
})
