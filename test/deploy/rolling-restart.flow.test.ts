import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { askProxied, haproxyPath } from '../support/haproxy.ts'
import { createVisitor } from '../support/http.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { addLoadSolution, startLoad } from '../support/proxied-load.ts'
import { type ProxiedNodes, startProxiedNodes } from '../support/proxied-nodes.ts'
import { askAdmin } from '../support/users.ts'

const PAGE = '/solution/counter/index.html'
const LOAD = { logins: 5, sessions: 10, clients: 4 }

// `npm run long -- two-nodes` is the longer version of this test, which uses network namespaces and more load, and also
// kills nodes.
describe.skipIf(postgresPath === undefined || haproxyPath === undefined)(
  'two nodes behind the proxy in deploy/',
  () => {
    let server: TestServer
    let proxied: ProxiedNodes

    beforeAll(async () => {
      server = await sharedPostgres()
      proxied = await startProxiedNodes(server, false, { DRAIN_TIME: '4s' })
      await addLoadSolution(proxied)
    }, SERVER_START)
    afterAll(async () => {
      await proxied?.stop()
      await server?.stop()
    })

    test.each([
      '/admin/',
      '/ADMIN/api/solutions',
      '/admin/api/solutions',
      '//admin/api/solutions',
      '/%61dmin/api/solutions',
      '/metrics',
    ])('the proxy: %s is not reachable from outside', async (path) => {
      const { status, text } = await askProxied(proxied.origin, { path, headers: { authorization: proxied.admin } })
      expect([404, 421]).toContain(status)
      expect(text).not.toContain('counter')
    })

    test('the proxy: ignores the address, protocol and host name that a browser claims, and cookies are set as for TLS', async () => {
      const forged = {
        'x-forwarded-for': '203.0.113.9',
        'x-forwarded-host': 'other.example',
        'x-forwarded-proto': 'http',
        forwarded: 'for=203.0.113.9',
      }
      const visitor = createVisitor(proxied.origin, forged, askProxied)
      const page = await visitor.get(PAGE)
      expect([page.status, page.headers['strict-transport-security']]).toEqual([200, 'max-age=31536000'])
      expect((await visitor.post(PAGE, { username: 'forger', password: 'x' })).status).toBe(303)
      expect([...visitor.cookies.keys()]).toEqual(expect.arrayContaining(['__Host-node', '__Secure-session-counter']))
      const one = { url: proxied.nodes[0]?.url ?? '', admin: proxied.admin }
      const signIns = async () =>
        (await askAdmin(one, 'GET', 'audit?limit=100')).items as { actor: string; address: string }[]
      await expect
        .poll(async () => (await signIns()).find(({ actor }) => actor.includes('forger'))?.address)
        .toBe('127.0.0.1')
    })

    test('restarting a node does not interrupt sign-ins or requests, or sign users out; clients continue on the other node', async () => {
      const load = startLoad(proxied.origin, LOAD)
      const untilAnswered = async () => {
        const before = load.clients.map(({ answered }) => answered)
        const isSo = () => load.clients.every(({ answered }, index) => answered > (before[index] ?? 0) + 1)
        await expect.poll(isSo).toBe(true)
      }
      await expect.poll(() => load.clients.length).toBe(LOAD.clients)
      await untilAnswered()

      const [node] = proxied.nodes
      await node?.end('SIGTERM')
      await untilAnswered()
      await node?.start()
      await untilAnswered()

      expect(await load.stop()).toEqual([])
      expect(load.failures).toEqual([])
      expect(load.signedIn()).toBe(load.begun())
      expect(load.clients.map(({ closed, lost }) => ({ closed, lost }))).toEqual(
        Array(LOAD.clients).fill({ closed: null, lost: 0 }),
      )
      // Some clients were open on the restarted node. Each was moved exactly once.
      const moved = load.clients.map(({ reopened }) => reopened)
      expect(Math.min(...moved)).toBeLessThan(Math.max(...moved))
      expect(Math.max(...moved)).toBe(1)
    })
  },
)
