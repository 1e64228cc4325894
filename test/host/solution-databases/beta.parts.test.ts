import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createServerDatabase, type ServerDatabase } from '../../../host/solution-databases/server-database.ts'
import { checkSql, readSql, writeSql } from '../../../host/solution-databases/sql-text.ts'
import type { Parameter } from '../../../plugins/database/host.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { startTdsServer, type TdsAnswer, type TdsServer } from '../../support/tds-server.ts'

// These tests use a simulated server, because Microsoft SQL Server is not available here. They show only that our code
// calls the driver correctly.

let server: TdsServer
let database: ServerDatabase
let answer: (statement: string) => TdsAnswer = () => ({})
const errors: string[] = []

beforeAll(async () => {
  server = await startTdsServer((statement) => answer(statement))
  database = await createServerDatabase({
    name: 'stock',
    kind: 'beta',
    target: { ...server.address, database: 'stock' },
    limits: createLimits({ QUERY_ROWS: 3 }),
    onError: (message) => errors.push(message),
  })
})
afterAll(async () => {
  await database.close()
  await server.stop()
})
afterEach(() => {
  answer = () => ({})
})

function query(sql: string, parameters: readonly Parameter[] = [], tenant: string | null = null) {
  const text = readSql('beta', sql)
  checkSql('beta', text, parameters.length)
  return database.query({ sql: writeSql('beta', text), parameters, tenant })
}

test('the tenant value is sent first, then the statement with its parameters, and rows are returned as plain JSON', async () => {
  answer = (statement) =>
    statement.startsWith('SELECT')
      ? { rows: [{ name: 'Anna', id: 9007199254740993n, raw: new Uint8Array([0, 255]) }] }
      : {}
  const before = server.statements.length
  const [row] = await query("SELECT name FROM [a?b] WHERE id = ? AND note <> '?'", [7], '["north"]')
  expect({ ...row }).toEqual({ name: 'Anna', id: '9007199254740993', raw: 'AP8=' })
  expect(server.statements.slice(before)).toEqual([
    "EXEC sp_set_session_context @key = N'platform.tenant', @value = @tenant, @read_only = 1",
    "SELECT name FROM [a?b] WHERE id = @p1  AND note <> '?'",
  ])
})

test('a connection is reused after a reset', async () => {
  for (let n = 0; n < 5; n++) await query('SELECT 1')
  // Two connections may be open, because the next statement is sent while the previous connection is still being reset.
  expect(server.open()).toBeLessThanOrEqual(2)
})

test('the server’s message is returned, and the connection stays usable', async () => {
  answer = (statement) =>
    statement.startsWith('SELECT') ? { error: { number: 208, message: "Invalid object name 'nowhere'." } } : {}
  await expect(query('SELECT * FROM nowhere')).rejects.toThrow("the database reported: Invalid object name 'nowhere'.")
  answer = () => ({})
  expect(await query('SELECT 1')).toEqual([])
})

test('a query with more rows than QUERY_ROWS is ended', async () => {
  answer = (statement) =>
    statement.startsWith('SELECT') ? { rows: Array.from({ length: 5 }, () => ({ name: 'x' })) } : {}
  for (let n = 0; n < 5; n++) await expect(query('SELECT name FROM t')).rejects.toThrow('(limit QUERY_ROWS: 3)')
})

test('if the server rejects the login, the error for the script does not reveal the account', async () => {
  const refusing = await startTdsServer(() => ({}), { number: 18456, message: "Login failed for user 'sa'." })
  const target = { ...refusing.address, database: 'stock' }
  const onError = (message: string) => void errors.push(message)
  const limits = createLimits()
  const other = await createServerDatabase({ name: 'stock', kind: 'beta', target, limits, onError })
  await expect(other.query({ sql: 'SELECT 1', parameters: [], tenant: null })).rejects.toThrow('or rejects the login')
  expect(errors.at(-1)).toBe(
    'a solution’s database "stock" cannot be used: the server rejects the account; check its name and password',
  )
  await other.close()
  await refusing.stop()
})
