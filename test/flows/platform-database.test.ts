import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { PASSWORD, SERVER_START, type TestServer } from '../support/database-server.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { startHostProcess } from '../support/host-process.ts'
import { ask, createVisitor } from '../support/http.ts'
import { mariadbPath, sharedMariadb } from '../support/mariadb-server.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'

const PAGE = '/solution/tenant-login/index.html'
const SESSION = '/solution/tenant-login/session'
const ANNA = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }

/** Tests complete hosts that store the platform's data on a database server. */
function testFlows(kind: 'alpha' | 'gamma', startServer: () => Promise<TestServer>): void {
  let server: TestServer
  let nodes: TestHost[]

  const propertiesOf = ({ address, database }: TestServer) => ({
    PLATFORM_DATABASE: kind,
    PLATFORM_DATABASE_NAME: database,
    [`DB_${kind.toUpperCase()}_SERVER`]: address.host,
    [`DB_${kind.toUpperCase()}_PORT`]: String(address.port),
    [`DB_${kind.toUpperCase()}_PASSWORD`]: address.password,
    PLATFORM_KEY: 'the same key on all nodes of this test',
  })

  beforeAll(async () => {
    server = await startServer()
    nodes = await Promise.all([1, 2].map(() => startTestHost(propertiesOf(server))))
    const [first] = nodes
    const uploaded = await first?.upload('tenant-login', await packFolder(exampleFolder('tenant-login')))
    expect(uploaded?.status).toBe(201)
  }, SERVER_START)
  afterAll(async () => {
    for (const node of nodes ?? []) await node.stop()
    await server?.stop()
  })

  test(`${kind}: two nodes start at the same time; both serve a solution uploaded to one of them, and a session works on both`, async () => {
    const [first, second] = nodes as [TestHost, TestHost]
    const visitor = createVisitor(first.url)
    await visitor.get(PAGE)
    expect((await visitor.post(PAGE, ANNA)).status).toBe(303)
    const { headers } = await visitor.get(SESSION)
    expect(headers['content-type']).toContain('json')
    await expect.poll(async () => (await createVisitor(second.url).get(PAGE)).status).toBe(200)
    const cookie = [...visitor.cookies].map(([name, { value }]) => `${name}=${value}`).join('; ')
    const elsewhere = await ask(`${second.url}${SESSION}`, { headers: { cookie } })
    expect([elsewhere.status, elsewhere.json()]).toEqual([200, expect.objectContaining({ username: 'anna' })])
  })

  test(`${kind}: while the server is down, users get an error page and programs an error code; no session ends, and the host recovers`, async () => {
    const [node] = nodes as [TestHost]
    const visitor = createVisitor(node.url)
    await visitor.get(PAGE)
    await visitor.post(PAGE, ANNA)
    await server.kill()
    const away = await createVisitor(node.url).get('/', { 'accept-language': 'nl' })
    expect([away.status, away.headers['retry-after']]).toEqual([503, '5'])
    expect(away.text).toContain('De dienst is nu niet beschikbaar')
    const headers = { authorization: node.admin }
    const program = await ask(`${node.url}/admin/api/solutions`, { headers })
    expect([program.status, program.headers['retry-after']]).toEqual([503, '5'])
    expect(program.json()).toMatchObject({ status: 503, code: 'ERR_DATABASE_UNREACHABLE' })
    expect(program.text).not.toContain(String(server.address.port))
    expect((await ask(`${node.url}/health/live`)).status).toBe(200)
    await server.restart()
    await expect.poll(async () => (await visitor.get(SESSION)).status).toBe(200)
    const next = createVisitor(node.url)
    await expect.poll(async () => (await next.get(PAGE)).status).toBe(200)
    expect((await next.post(PAGE, ANNA)).status).toBe(303)
    expect(node.logged()).toContain('ERR_DATABASE_UNREACHABLE')
    expect(node.logged()).not.toContain(PASSWORD.slice(0, 10))
  })

  test(`${kind}: a host that starts without the server exits with an error message of one sentence`, async () => {
    const home = mkdtempSync(join(tmpdir(), 'solhost-start-'))
    const away = { ...server, address: { ...server.address, port: 1 } }
    const start = startHostProcess(home, propertiesOf(away))
    await expect(start).rejects.toThrow(
      new RegExp(
        `the host did not start: The database server ${kind} \\(.*\\) at 127.0.0.1:1 does not respond \\(ECONNREFUSED\\)`,
      ),
    )
    rmSync(home, { recursive: true })
  })
}

describe.skipIf(postgresPath === undefined)('PostgreSQL (skipped where it is not installed)', () =>
  testFlows('alpha', sharedPostgres),
)
describe.skipIf(mariadbPath === undefined)('MariaDB (skipped where it is not installed)', () =>
  testFlows('gamma', sharedMariadb),
)
