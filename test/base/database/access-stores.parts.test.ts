import { describe, expect, test } from 'vitest'
import { openPlatformKey } from '../../../base/config/platform-key.ts'
import { createApiTokens } from '../../../host/access/api-tokens.ts'
import { createGrants } from '../../../host/grants/grants.ts'
import { createLoginTokens } from '../../../host/login/login-token.ts'
import { createMaintenance } from '../../../host/maintenance/maintenance.ts'
import { createSecrets } from '../../../host/secrets/secrets.ts'
import { eraseSolutionData } from '../../../host/solutions/erase-solution.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { mariadbPath, sharedMariadb } from '../../support/mariadb-server.ts'
import { postgresPath, sharedPostgres } from '../../support/postgres-server.ts'
import { type TestPlace, usePlace } from './contract.ts'

/** Data that operators manage must be stored the same way on every kind of database. */
function testAccessStores(place: TestPlace): void {
  const keyOf = () => openPlatformKey(place.db, place.settings.home, '')

  test(`${place.kind}, grants and secrets: the largest values are stored unchanged, and are erased with the solution`, async () => {
    const grants = createGrants(place.db, await keyOf())
    const secrets = createSecrets(place.db, await keyOf())
    const one = {
      server: 'beta',
      database: 'd'.repeat(128),
      username: 'u'.repeat(200),
      password: 'é'.repeat(1000),
    } as const
    const wanted = {
      databases: Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`db${n}`, one])),
      http: Array.from({ length: 1000 }, (_, n) => `${'h'.repeat(60)}.${'i'.repeat(60)}.${n}.org:8443`),
      users: true,
    }
    await grants.put('crm', { databases: {}, http: [], users: false })
    await grants.put('crm', wanted)
    expect(await grants.get('crm')).toEqual(wanted)
    const value = '€'.repeat(16_384)
    for (const each of ['first', value]) await secrets.put('crm', 'A', each, ['a.org'])
    expect(await secrets.forHost('crm', 'A', 'a.org')).toBe(value)
    await eraseSolutionData(place.db, 'crm')
    expect(await createGrants(place.db, await keyOf()).show('crm')).toEqual({ databases: {}, http: [], users: false })
    expect(await secrets.list('crm')).toEqual([])
  })

  test(`${place.kind}, API tokens: they can be created, found, listed and removed; expired ones are deleted`, async () => {
    let time = Date.now()
    const tokens = createApiTokens(place.db, () => time)
    const lasting = await tokens.create({ name: 'ci', scopes: ['users:read'], expiresAt: null })
    const short = await tokens.create({ name: 'once', scopes: ['audit:read'], expiresAt: time + 1000 })
    expect((await tokens.list()).map(({ name, expiresAt }) => [name, expiresAt])).toContainEqual(['once', time + 1000])
    expect((await tokens.find(short.token))?.scopes).toEqual(['audit:read'])
    time += 31 * 86_400_000
    await tokens.sweep()
    expect((await tokens.list()).map(({ id }) => id)).toEqual([lasting.id])
    expect(await tokens.remove(lasting.id)).toBe(true)
    expect(await tokens.find(lasting.token)).toBeNull()
  })

  test(`${place.kind}, login tokens: one of twenty simultaneous uses signs in, and used tokens are deleted later`, async () => {
    let time = Date.now()
    const tokens = createLoginTokens(place.db, await keyOf(), createLimits(), () => time)
    const { token } = tokens.issue('crm', { username: 'a', uid: 'a', permissions: ['Users'] })
    const logins = await Promise.all(Array.from({ length: 20 }, () => tokens.consume('crm', token)))
    expect(logins.filter((login) => login !== null)).toHaveLength(1)
    time += 86_400_000
    await tokens.sweep()
    expect(await place.db.selectFrom('used_tokens').selectAll().execute()).toEqual([])
  })

  test(`${place.kind}, maintenance: it can be turned on and off`, async () => {
    const maintenance = createMaintenance(place.db)
    for (const on of [false, true, true, false]) {
      await maintenance.set(on)
      expect(await maintenance.isOn()).toBe(on)
    }
  })
}

describe('embedded', () => testAccessStores(usePlace('embedded', async () => null)))
describe.skipIf(postgresPath === undefined)('alpha on PostgreSQL (skipped where it is not installed)', () => {
  testAccessStores(usePlace('alpha', sharedPostgres))
})
describe.skipIf(mariadbPath === undefined)('gamma on MariaDB (skipped where it is not installed)', () => {
  testAccessStores(usePlace('gamma', sharedMariadb))
})
