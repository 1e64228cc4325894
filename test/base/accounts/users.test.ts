import { CompiledQuery, type RootOperationNode } from 'kysely'
import { expect, test } from 'vitest'
import { createPasswords } from '../../../base/accounts/passwords.ts'
import { searchUsers } from '../../../base/accounts/search-users.ts'
import { newRow } from '../../../base/accounts/user-rows.ts'
import { createUsers } from '../../../base/accounts/users.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { testLinks } from '../../host/links/links-contract.ts'
import { testUsers } from '../../host/users/users-contract.ts'
import { testUsersCsv } from '../../host/users/users-csv-contract.ts'
import { scaled } from '../../support/scale.ts'
import { usePlace } from '../database/contract.ts'

const place = usePlace('embedded', async () => null)
const passwords = createPasswords()
testUsers(place, passwords)
testUsersCsv(place, passwords)
testLinks(place, passwords)

const MANY = scaled(2000, 100_000)

async function insertMany(): Promise<void> {
  for (let from = 0; from < MANY; from += 1000) {
    const rows = Array.from({ length: 1000 }, (_, at) => {
      const name = `User ${String(from + at).padStart(6, '0')}`
      return newRow(`uid-${from + at}`, { username: name, email: `${from + at}@example.org` }, null, Date.now())
    })
    await place.db.insertInto('users').values(rows).execute()
  }
}

/** @returns the platform's database, and a list of the statements in the order in which they run */
function watchedDatabase() {
  const asked: RootOperationNode[] = []
  const db = place.db.withPlugin({
    transformQuery({ node }) {
      asked.push(node)
      return node
    },
    transformResult: async ({ result }) => result,
  })
  return { db, asked }
}

async function planOf(node: RootOperationNode | undefined): Promise<string[]> {
  const query = place.db.getExecutor().compileQuery(node as RootOperationNode, { queryId: 'plan' } as never)
  const plan = CompiledQuery.raw(`explain query plan ${query.sql}`, [...query.parameters])
  const { rows } = await place.db.executeQuery<{ detail: string }>(plan)
  return rows.map(({ detail }) => detail)
}

test(`authenticate: among ${MANY} users, the unique index finds the name`, async () => {
  await insertMany()
  const { db, asked } = watchedDatabase()
  const nobody = async () => {}
  const users = createUsers(db, passwords, createLimits(), { endAccess: nobody, eraseFromAudit: nobody })
  await users.authenticate('USER 001777', 'any password')
  expect(await planOf(asked[0])).toEqual([
    expect.stringMatching(/^SEARCH users USING INDEX sqlite_autoindex_users_\d \(username_key=\?\)$/),
  ])
})

test(`searchUsers: reads ${MANY} users by the index of names, 1,000 at a time, and stops where the page is full`, async () => {
  await insertMany()
  const { db, asked } = watchedDatabase()
  const last = `${MANY - 1}@EXAMPLE`
  expect((await searchUsers(db, { limit: 50, search: last })).rows.map(({ uid }) => uid)).toEqual([`uid-${MANY - 1}`])
  // The search runs one statement per 1,000 users. One more statement reads the user that was found.
  expect(asked.length).toBe(MANY / 1000 + 1)
  expect(await planOf(asked[1])).toEqual([
    expect.stringMatching(/^SEARCH users USING INDEX sqlite_autoindex_users_\d \(username_key>\?\)$/),
  ])
  asked.length = 0
  const page = await searchUsers(db, { limit: 2, search: '77' })
  expect([page.rows.map(({ uid }) => uid), page.next]).toEqual([['uid-77', 'uid-177'], 'user 000177'])
  expect(asked.length).toBe(2)
})

test('searchUsers: a search that stopped at its maximum number of rows can be continued from there', async () => {
  await insertMany()
  const last = `user ${String(MANY - 1).padStart(6, '0')}`
  const first = await searchUsers(place.db, { limit: 50, search: last }, MANY - 1000)
  expect(first).toEqual({ rows: [], next: `user ${String(MANY - 1001).padStart(6, '0')}` })
  const rest = await searchUsers(place.db, { limit: 50, search: last, after: first.next }, MANY - 1000)
  expect([rest.rows.map(({ uid }) => uid), rest.next]).toEqual([[`uid-${MANY - 1}`], undefined])
})
