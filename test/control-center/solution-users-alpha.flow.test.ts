import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FIRST_DESIGN } from '../../control-center/login-pages/design.ts'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { sharedProperties } from '../support/host-group.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'

const PASSWORD = 'correct horse battery'

/** On PostgreSQL each request has its own connection, so concurrent requests really run concurrently. */
describe.skipIf(postgresPath === undefined)('users of solutions on PostgreSQL', () => {
  let server: TestServer
  let center: TestCenter
  let place: { readonly organisation: string; readonly solution: string }

  beforeAll(async () => {
    server = await sharedPostgres()
    center = await startTestCenter(sharedProperties('alpha', server))
    place = { organisation: (await center.parts.organisations.find('acme'))?.id ?? '', solution: 'crm' }
  }, SERVER_START)
  afterAll(async () => {
    await center?.stop()
    await server?.stop()
  })

  test('users and roles are stored, found and counted', async () => {
    const { solutionUsers, solutionRoles, knownSolutions } = center.parts
    await solutionRoles.put(place, 'Sales', ['Orders'])
    await solutionRoles.put(place, 'Sales', ['Orders', 'Customers'])
    const wanted = {
      username: 'Änna',
      email: 'Anna@example.org',
      password: PASSWORD,
      roles: ['Sales'],
      tenant: [7, 'x'],
    }
    const { uid } = await solutionUsers.create(place, wanted)
    expect((await solutionUsers.list(place, { limit: 10, search: 'ANNA@' })).items).toMatchObject([
      { uid, tenant: [7, 'x'] },
    ])
    expect(await solutionUsers.findByNameOrMail(place, 'änna')).toHaveLength(1)
    expect(await solutionUsers.authenticate(place, 'änna', PASSWORD)).toMatchObject({
      outcome: 'accepted',
      permissions: ['Customers', 'Orders'],
    })
    expect(await solutionUsers.recheck(place, uid, Date.now() + 60_000)).toMatchObject({ outcome: 'accepted' })
    expect(await solutionRoles.list(place)).toMatchObject([{ name: 'Sales', users: 1 }])
    expect(await knownSolutions.list(place.organisation)).toEqual([{ name: 'crm', users: 1, loginPage: null }])
    expect(await solutionRoles.remove(place, 'Sales')).toBe(true)
    expect((await solutionUsers.need(place, uid)).roles).toEqual([])
  })

  test('if several users are created with the same name at the same time, only one is stored', async () => {
    const { solutionUsers } = center.parts
    const created = await Promise.allSettled(
      ['Bert', 'BERT', 'bert'].map((username) => solutionUsers.create(place, { username })),
    )
    expect(created.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected'])
    const [one, other] = [
      await solutionUsers.create(place, { username: 'one' }),
      await solutionUsers.create(place, { username: 'other' }),
    ]
    const renamed = await Promise.allSettled(
      [one, other].map(({ uid }) => solutionUsers.change(place, uid, { username: 'cora' })),
    )
    expect(renamed.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'ERR_NAME_EXISTS' } })
    expect(renamed.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  test('a link works once, even if several requests use it at the same time', async () => {
    const { solutionUsers, userLinks } = center.parts
    const { uid } = await solutionUsers.create(place, { username: 'dora' })
    const made = await userLinks.create(uid, { kind: 'invitation', proves: null, lifetime: 60_000 })
    const used = await Promise.all(
      ['first', 'second', 'third'].map((which) =>
        userLinks.choosePassword(made?.token ?? '', `${which} good password`),
      ),
    )
    expect(used.toSorted()).toEqual([false, false, true])
  })

  test('designs published at the same time get different numbers, or a conflict', async () => {
    const { loginPages } = center.parts
    const free = await Promise.all(['a', 'b', 'c'].map((by) => loginPages.publish(place, FIRST_DESIGN, by)))
    expect(free.map(({ number }) => number).toSorted()).toEqual([1, 2, 3])
    const based = await Promise.allSettled(['a', 'b'].map((by) => loginPages.publish(place, FIRST_DESIGN, by, 3)))
    expect(based.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })
})
