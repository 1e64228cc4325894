import { CompiledQuery, type RootOperationNode } from 'kysely'
import { expect, test } from 'vitest'
import { createPasswords } from '../../../base/accounts/passwords.ts'
import { newRow } from '../../../base/accounts/user-rows.ts'
import { createUsers } from '../../../base/accounts/users.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { testUsers } from '../../host/users/users-contract.ts'
import { testUsersCsv } from '../../host/users/users-csv-contract.ts'
import { scaled } from '../../support/scale.ts'
import { usePlace } from '../database/contract.ts'

const place = usePlace('embedded', async () => null)
const passwords = await createPasswords()
testUsers(place, passwords)
testUsersCsv(place, passwords)

const MANY = scaled(2000, 100_000)

test(`authenticate: among ${MANY} users the unique index finds the name`, async () => {
  for (let from = 0; from < MANY; from += 1000) {
    const rows = Array.from({ length: 1000 }, (_, at) => {
      const name = `User ${String(from + at).padStart(6, '0')}`
      return newRow(`uid-${from + at}`, { username: name }, null, Date.now())
    })
    await place.db.insertInto('users').values(rows).execute()
  }
  const asked: RootOperationNode[] = []
  const watched = place.db.withPlugin({
    transformQuery({ node }) {
      asked.push(node)
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const nobody = async () => {}
  const ports = { endAccess: nobody, eraseFromAudit: nobody }
  const users = createUsers(watched, await createPasswords(), createLimits(), ports)
  await users.authenticate('USER 001777', 'any password')
  const [node] = asked
  const query = place.db.getExecutor().compileQuery(node as RootOperationNode, { queryId: 'plan' } as never)
  const plan = CompiledQuery.raw(`explain query plan ${query.sql}`, [...query.parameters])
  const { rows } = await place.db.executeQuery<{ detail: string }>(plan)
  expect(rows.map(({ detail }) => detail)).toEqual([
    expect.stringMatching(/^SEARCH users USING INDEX sqlite_autoindex_users_\d \(username_key=\?\)$/),
  ])
})
