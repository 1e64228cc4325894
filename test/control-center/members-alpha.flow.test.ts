import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { sharedProperties } from '../support/host-group.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'

/** On PostgreSQL each request has its own connection, so concurrent requests really run concurrently. */
describe.skipIf(postgresPath === undefined)('members, environments and credentials on PostgreSQL', () => {
  let server: TestServer
  let center: TestCenter
  let acme: string

  beforeAll(async () => {
    server = await sharedPostgres()
    center = await startTestCenter(sharedProperties('alpha', server))
    acme = (await center.parts.organisations.find('acme'))?.id ?? ''
  }, SERVER_START)
  afterAll(async () => {
    await center?.stop()
    await server?.stop()
  })

  const invite = (email: string, role: 'owner' | 'viewer', organisation = acme) =>
    center.parts.invitations.create(organisation, { email, role, invitedBy: 'test' })

  test('if the last two owners remove each other at the same time, one remains an owner', async () => {
    const { organisations, invitations } = center.parts
    const [first, second] = [await center.account('first@example.org'), await center.account('second@example.org')]
    for (let round = 0; round < 20; round++) {
      const { id } = await organisations.create({ name: `race-${round}`, title: 'Race' }, first)
      await invitations.accept((await invite('second@example.org', 'owner', id)).token, second)
      const outcomes = await Promise.allSettled([
        organisations.removeMember(id, first),
        organisations.setRole(id, second, 'viewer'),
      ])
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      const owners = (await organisations.members(id)).filter(({ role }) => role === 'owner')
      expect(owners).toHaveLength(1)
    }
  })

  test('if several people accept an invitation at the same time, only one joins', async () => {
    const { organisations, invitations } = center.parts
    const names = ['one', 'two', 'three', 'four'].map((name) => `${name}@example.org`)
    const uids = await Promise.all(names.map(center.account))
    const { token } = await invite('race@example.org', 'viewer')
    const accepted = await Promise.all(uids.map((uid) => invitations.accept(token, uid)))
    expect(accepted.filter((one) => one !== null)).toHaveLength(1)
    const members = (await organisations.members(acme)).filter(({ uid }) => uids.includes(uid))
    expect(members).toHaveLength(1)
  })

  test('environments with tokens and solutions, and registries, can be created, changed and deleted', async () => {
    const path = 'organisations/acme/environments/plant'
    await center.environment('plant')
    expect((await center.api('PUT', `${path}/solutions/shop`)).status).toBe(204)
    const token = (await center.api('POST', `${path}/tokens`, { name: 'Utrecht' })).body
    expect((await center.api('GET', path)).body).toMatchObject({ state: null, solutions: ['shop'] })
    expect(await center.parts.environmentTokens.find(token.token)).toMatchObject({ id: token.id })
    expect((await center.api('DELETE', `${path}?confirm=plant`)).status).toBe(204)
    expect(await center.parts.environmentTokens.find(token.token)).toBeNull()

    const keys = { username: 'somebody', password: 'a-secret-of-the-registry' }
    const wanted = { name: 'Images', host: 'registry.example.org', namespace: 'acme', ...keys }
    const { body } = await center.api('POST', 'organisations/acme/registries', wanted)
    expect((await center.api('POST', 'organisations/acme/registries', wanted)).status).toBe(409)
    await center.api('POST', 'organisations/acme/registries', { ...wanted, name: 'Other' })
    const at = `organisations/acme/registries/${body.id}`
    expect((await center.api('PUT', at, { ...wanted, name: 'Other' })).status).toBe(409)
    expect((await center.api('PUT', at, { ...wanted, namespace: 'other' })).body.namespace).toBe('other')
    expect(await center.parts.registries.secret(acme, body.id)).toEqual(keys)
    expect((await center.api('DELETE', at)).status).toBe(204)
  })

  test('activity can be read in pages and filtered', async () => {
    const { body } = await center.api('GET', 'organisations/acme/activity?limit=1&action=registry-create')
    expect(body).toMatchObject({ items: [{ action: 'registry-create', subject: 'Other' }], next: expect.any(String) })
  })
})
