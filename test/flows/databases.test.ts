import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openOnce } from '../support/client-page.ts'
import type { TestServer } from '../support/database-server.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { askAdmin } from '../support/users.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

let server: TestServer | undefined
let host: TestHost
beforeAll(async () => {
  server = postgresPath === undefined ? undefined : await sharedPostgres()
  const {
    host: address = '127.0.0.1',
    port = 1,
    username = 'postgres',
    password = '',
  } = server ? server.address : { host: '127.0.0.1' }
  host = await startTestHost({
    DB_ALPHA_SERVER: address,
    DB_ALPHA_PORT: `${port}`,
    DB_ALPHA_USERNAME: username,
    DB_ALPHA_PASSWORD: password,
  })
})
afterAll(async () => {
  await host.stop()
  await server?.stop()
})

/** Runs the SQL from the URL and writes the result into the solution's log. */
const SCRIPT = `async function onSolutionOpen(arg, q) {
  try {
    const rows = await plugins.database.query(q.name, q.sql, q.value === undefined ? [] : [q.value])
    application.output('rows ' + JSON.stringify(rows))
  } catch (error) {
    application.output('refused ' + error)
  }
}`

async function upload(name: string): Promise<void> {
  const databases = { own: { server: 'embedded' }, crm: { server: 'alpha', database: 'crm' } }
  const bundle = await bundleOf({ name, authenticator: 'NONE', databases }, { 'globals.js': SCRIPT })
  expect((await host.upload(name, bundle)).status).toBe(201)
}

async function query(solution: string, name: string, sql: string, value?: string): Promise<string> {
  const params = new URLSearchParams({ name, sql, ...(value === undefined ? {} : { value }) })
  await openOnce(host.url, solution, createVisitor(host.url), `?${params}`)
  return (await lastLine(solution)) ?? ''
}

async function lastLine(solution: string): Promise<string | undefined> {
  const answer = await ask(`${host.url}/admin/api/solutions/${solution}/log`, {
    headers: { authorization: host.admin },
  })
  return (answer.json() as { items: { message: string }[] }).items.at(-1)?.message
}

function grant(solution: string, databases: object) {
  return ask(`${host.url}/admin/api/solutions/${solution}/grants`, {
    method: 'PUT',
    headers: { authorization: host.admin, 'content-type': 'application/json' },
    body: JSON.stringify({ databases, http: [], users: false }),
  })
}

test('a solution’s embedded database keeps its data across versions, separate from other solutions', async () => {
  await upload('one')
  await upload('two')
  await query('one', 'own', 'CREATE TABLE note (text TEXT)')
  expect(await query('one', 'own', 'INSERT INTO note VALUES (?) RETURNING text', "it's mine")).toBe(
    `rows [{"text":"it's mine"}]`,
  )
  const next = await bundleOf(
    { name: 'one', authenticator: 'NONE', version: '2.0.0', databases: { own: { server: 'embedded' } } },
    { 'globals.js': SCRIPT },
  )
  expect((await host.upload('one', next)).status).toBe(201)
  expect(await query('one', 'own', 'SELECT text FROM note')).toBe(`rows [{"text":"it's mine"}]`)
  expect(await query('two', 'own', 'SELECT text FROM note')).toContain('refused Error: the database reported: no such')
  expect(existsSync(join(host.home, 'databases', 'one.sqlite'))).toBe(true)
})

test('a script that does not wait for a query gets a warning in the log, and the error if the query fails', async () => {
  const query = 'plugins.database.query("own", "INSERT INTO nowhere VALUES (1)")'
  const bundle = await bundleOf(
    {
      name: 'hasty',
      authenticator: 'NONE',
      databases: { own: { server: 'embedded' } },
      endpoints: { 'GET /run': { function: 'run', authentication: 'none' } },
    },
    { 'globals.js': `function run() { ${query}; ${query} }\nfunction onSolutionOpen() { run() }` },
  )
  expect((await host.upload('hasty', bundle)).status).toBe(201)
  const lines = async () => {
    const { items } = await askAdmin(host, 'GET', 'solutions/hasty/log')
    return (items as { level: string; message: string }[]).map(({ level, message }) => `${level} ${message}`)
  }
  const late = [
    expect.stringContaining('warn the call ended before plugins.database responded'),
    'error plugins.database failed after the call had ended: the database reported: no such table: nowhere',
  ]
  expect((await ask(`${host.url}/solution/hasty/api/run`)).status).toBe(204)
  await expect.poll(lines).toEqual(late)
  await openOnce(host.url, 'hasty', createVisitor(host.url), '')
  await expect.poll(lines).toEqual([...late, ...late])
})

test('a database on a server cannot be used without a grant', async () => {
  await upload('closed')
  expect(await query('closed', 'crm', 'SELECT 1')).toBe(
    'refused Error: the operator has not granted the database crm to this solution; ask the operator to grant it',
  )
  const { items } = await askAdmin(host, 'GET', 'audit?limit=1&action=script-request')
  expect(items).toMatchObject([{ actor: 'solution:closed', outcome: 'refused', solution: 'closed' }])
  const log = await askAdmin(host, 'GET', 'solutions/closed/log')
  expect(JSON.stringify(log)).toContain(
    'plugins.database.query was rejected: the operator has not granted the database crm',
  )
})

test.skipIf(postgresPath === undefined)(
  'a granted database can be queried, and its connection is closed when the grant is removed',
  async () => {
    await upload('open')
    expect((await grant('open', { crm: { server: 'alpha', database: 'postgres' } })).status).toBe(200)
    expect(await query('open', 'crm', 'SELECT ?::text AS seen', 'yes')).toBe('rows [{"seen":"yes"}]')
    expect((await grant('open', {})).status).toBe(200)
    expect(await query('open', 'crm', 'SELECT 1')).toContain('has not granted')
  },
)

test.skipIf(postgresPath === undefined)('in main, queries can use the session’s tenant value', async () => {
  const databases = { crm: { server: 'alpha', database: 'postgres' } }
  const bundle = await bundleOf(
    { name: 'tenants', authenticator: 'AUTHENTICATOR', modules: ['auth'], databases },
    {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': `async function onSolutionOpen(arg, q) {
        const [row] = await plugins.database.query('crm', "SELECT current_setting('platform.tenant', true) AS tenant")
        application.output('login ' + JSON.stringify(row))
        security.setTenantValue([q.username, 7])
        security.login(q.username, 'u', ['Users'])
      }`,
      'globals.js': `async function onSolutionOpen() {
        const [row] = await plugins.database.query('crm', "SELECT current_setting('platform.tenant', true) AS tenant")
        application.output('main ' + JSON.stringify(row))
      }`,
    },
  )
  expect((await host.upload('tenants', bundle)).status).toBe(201)
  await grant('tenants', databases)
  const page = '/solution/tenants/index.html'
  for (const username of ['north', 'south']) {
    const visitor = createVisitor(host.url)
    await visitor.get(page)
    expect((await visitor.post(page, { username, password: 'x' })).status).toBe(303)
    expect(await lastLine('tenants')).toBe('login {"tenant":""}')
    await openOnce(host.url, 'tenants', visitor)
    expect(await lastLine('tenants')).toBe(`main ${JSON.stringify({ tenant: JSON.stringify([username, 7]) })}`)
  }
})

test('server errors are in the platform’s log, without the query’s parameters', async () => {
  await upload('wrong')
  await grant('wrong', {
    crm: { server: 'alpha', database: 'postgres', username: 'nobody', password: 'wrong password' },
  })
  expect(await query('wrong', 'crm', 'SELECT ?', 'a secret value')).toContain('is unreachable')
  expect(host.logged()).toContain('cannot be used: the server')
  expect(host.logged()).not.toContain('a secret value')
  expect(host.logged()).not.toContain('wrong password')
})
