import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHostCall } from '../../../base/bundles/host-call.ts'
import type { DatabaseGrant } from '../../../host/grants/grants.ts'
import { createSolutionDatabases, type SolutionDatabases } from '../../../host/solution-databases/solution-databases.ts'
import type { Parameter } from '../../../plugins/database/host.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { manifestOf } from '../../support/solutions.ts'
import { waitUntil } from '../../support/wait-until.ts'

const NOWHERE = { host: '127.0.0.1', port: 1, username: 'shared', password: 'a secret', tls: 'off' } as const

let home: string
let databases: SolutionDatabases
let granted: Record<string, DatabaseGrant> = {}
const errors: string[] = []
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'solhost-databases-'))
  databases = createSolutionDatabases({
    grants: { get: async () => ({ databases: granted }) },
    servers: { alpha: NOWHERE, beta: NOWHERE, gamma: NOWHERE },
    platform: { server: 'alpha', database: 'platform', username: 'shared' },
    home,
    timeZone: 'Etc/UTC',
    limits: createLimits(),
    onError: (message, solution) => void errors.push(`${solution}: ${message}`),
    onRefused: () => {},
  })
})
afterAll(async () => {
  await databases.stop()
  rmSync(home, { recursive: true, force: true })
})

const ASKED = {
  own: { server: 'embedded' },
  crm: { server: 'alpha', database: 'crm' },
  shop: { server: 'gamma', database: 'shop' },
  stock: { server: 'beta', database: 'stock' },
}

function callOf(name: string, asked: Record<string, unknown> = ASKED, ofModule: Record<string, unknown> = {}) {
  const manifest = manifestOf({ name, authenticator: 'NONE', databases: asked })
  const modules = [{ name: 'm', manifest: manifestOf({ name: 'm', type: 'module', databases: ofModule }) }]
  return createHostCall({
    kind: 'open',
    solution: { name, version: '1.0.0', sha256: 'x', manifest, modules, texts: {}, forms: [], definitions: new Map() },
    correlationId: '',
    user: null,
    account: null,
    address: '127.0.0.1',
    locale: 'en',
    serverUrl: '',
  })
}

function query(name: string, sql: string, parameters: readonly Parameter[] = [], solution = 'one') {
  return databases.query(callOf(solution), name, sql, parameters)
}

test('for a name that is not in the manifest, the error lists the known names', async () => {
  await expect(query('other', 'SELECT 1')).rejects.toThrow(
    'solution.json does not list the database other: correct the name, or add the database to "databases" (listed: own, crm, shop, stock)',
  )
  for (const name of ['__proto__', 'constructor', 'toString']) {
    await expect(query(name, 'SELECT 1')).rejects.toThrow('solution.json does not list the database')
  }
})

test('databases that a module requests are available too; the main manifest takes precedence', async () => {
  const call = callOf('moduled', { a: { server: 'embedded' } }, { a: { server: 'alpha' }, b: { server: 'embedded' } })
  expect(await databases.query(call, 'a', 'SELECT 1 AS n', [])).toEqual([{ n: 1 }])
  expect(await databases.query(call, 'b', 'SELECT 2 AS n', [])).toEqual([{ n: 2 }])
})

test('a database on a server is not accessible until the operator grants it', async () => {
  granted = {}
  await expect(query('crm', 'SELECT 1')).rejects.toThrow(
    'the operator has not granted the database crm to this solution',
  )
})

test('if a grant is for a different kind of server than the manifest requests, the error says so', async () => {
  granted = { crm: { server: 'gamma', database: 'crm' } }
  await expect(query('crm', 'SELECT 1')).rejects.toThrow('requests the database crm on alpha')
})

test('a grant never gives access to the platform’s own database', async () => {
  granted = { crm: { server: 'alpha', database: 'Platform', username: 'crm' } }
  await expect(query('crm', 'SELECT 1')).rejects.toThrow('has not granted')
})

test.each([undefined, 'shared', 'Shared'])(
  'a stored grant on the platform’s server with its account (%s) gives no access, and the operator sees why',
  async (username) => {
    errors.length = 0
    granted = { crm: { server: 'alpha', database: 'crm', ...(username === undefined ? {} : { username }) } }
    await expect(query('crm', 'SELECT 1')).rejects.toThrow('has not granted')
    expect(errors).toHaveLength(1)
    expect(errors[0]).toContain(
      'one: the grant for the database "crm" is rejected. This grant would use the platform’s own account on',
    )
  },
)

test.each([
  ['crm', 'alpha'],
  ['shop', 'gamma'],
  ['stock', 'beta'],
] as const)(
  'if a server is unreachable, the script gets no address, and the operator sees what is wrong: %s',
  async (name, server) => {
    granted = { [name]: { server, database: name, username: name } }
    errors.length = 0
    await expect(query(name, 'SELECT 1')).rejects.toThrow(`the server with the database ${name} is unreachable`)
    expect(errors).toEqual([
      `one: a solution’s database "${name}" cannot be used: the server cannot be reached; check its address and the network`,
    ])
  },
  15_000,
)

test('the embedded database needs no grant, and each solution has its own', async () => {
  granted = {}
  await query('own', 'CREATE TABLE t (a)')
  await query('own', 'INSERT INTO t VALUES (?)', ['mine'])
  await expect(query('own', 'SELECT * FROM t', [], 'two')).rejects.toThrow('no such table')
  expect(await query('own', 'SELECT a FROM t')).toEqual([{ a: 'mine' }])
  expect(readdirSync(join(home, 'databases')).filter((file) => file.endsWith('.sqlite'))).toEqual(
    expect.arrayContaining(['one.sqlite', 'two.sqlite']),
  )
})

test('each solution has its own process', async () => {
  await query('own', 'SELECT 1', [], 'one')
  await query('own', 'SELECT 1', [], 'two')
  const pids = new Set(databases.processes().map(({ pid }) => pid))
  expect(pids.size).toBe(databases.processes().length)
  expect(databases.processes().map(({ solution }) => solution)).toEqual(expect.arrayContaining(['one', 'two']))
})

test('when a solution’s version is retired, the process ends after its query, and the data stays', async () => {
  const running = query('own', 'SELECT count(*) AS n FROM t')
  databases.retire('one')
  expect(await running).toEqual([{ n: 1 }])
  await waitUntil(() => expect(databases.processes().map(({ solution }) => solution)).not.toContain('one'))
  expect(await query('own', 'SELECT count(*) AS n FROM t')).toEqual([{ n: 1 }])
})

test('erasing a solution deletes its data, and the name can be used again', async () => {
  await databases.erase('one')
  expect(existsSync(join(home, 'databases', 'one.sqlite'))).toBe(false)
  await expect(query('own', 'SELECT * FROM t')).rejects.toThrow('no such table')
})

test('erasing a solution that never had a database is not an error', async () => {
  await databases.erase('never')
})
