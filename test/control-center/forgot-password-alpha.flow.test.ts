import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { sharedProperties } from '../support/host-group.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'

/** On PostgreSQL each request has its own connection, so concurrent requests really run concurrently. */
describe.skipIf(postgresPath === undefined)('links for a new password on PostgreSQL', () => {
  let server: TestServer
  let center: TestCenter

  beforeAll(async () => {
    server = await sharedPostgres()
    center = await startTestCenter(sharedProperties('alpha', server))
  }, SERVER_START)
  afterAll(async () => {
    await center?.stop()
    await server?.stop()
  })

  test('if several requests use a link at the same time, only one of them sets the password', async () => {
    const { passwordLinks, users } = center.parts
    const username = 'race@example.org'
    const uid = await center.account(username)
    const token = (await passwordLinks.create(uid)) ?? ''
    const wanted = ['quiet rivers run at night', 'seven green bottles stand', 'many small boats go by']
    const ends = await Promise.all(wanted.map((password) => passwordLinks.choosePassword(token, password)))
    expect(ends.toSorted()).toEqual([null, 'over', 'over'].toSorted())
    const chosen = wanted[ends.indexOf(null)] ?? ''
    expect(await users.authenticate(username, chosen)).toMatchObject({ uid })
    expect(await passwordLinks.find(token)).toBeNull()
  })

  test('a rejected password does not use up the link; the fourth link in an hour is rejected', async () => {
    const { passwordLinks } = center.parts
    const uid = await center.account('again@example.org')
    const token = (await passwordLinks.create(uid)) ?? ''
    expect(await passwordLinks.choosePassword(token, 'short')).toMatchObject({ key: 'platform.password.short' })
    expect(await passwordLinks.find(token)).toEqual({ username: 'again@example.org' })
    const more = [await passwordLinks.create(uid), await passwordLinks.create(uid), await passwordLinks.create(uid)]
    expect(more.map((one) => one === null)).toEqual([false, false, true])
  })
})
