import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiOf } from '../support/api.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { ADMIN_PASSWORD, startTestHost, type TestHost } from '../support/host.ts'
import { sharedProperties } from '../support/host-group.ts'
import { ask } from '../support/http.ts'
import { mariadbPath, sharedMariadb } from '../support/mariadb-server.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { addUser, visit } from '../support/users.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf } from '../support/zip.ts'

const NAME = 'post-room'
const SCRIPT = `function report(job) { return job.data }
function hang() { for (;;); }
function plain() { return 'plain' }
function addAndFail() {
  plugins.jobs.enqueue('report', { lost: true })
  throw new Error('after enqueue')
}
function hook({ body, headers }) { plugins.jobs.enqueue('report', body, { key: headers['x-github-delivery'] }) }
function onSolutionOpen() {}`
const JOBS = { report: { function: 'report' }, hang: { function: 'hang', attempts: 1 } }
const ENDPOINTS = {
  'POST /plain': { function: 'plain', authentication: 'none' },
  'POST /fail': { function: 'addAndFail', authentication: 'none' },
  'POST /hook': {
    function: 'hook',
    authentication: 'signature',
    signature: { scheme: 'github', secret: 'HOOK' },
  },
}

type Run = { readonly id: string; readonly state: string; readonly result?: unknown }

const DATABASES = [
  { product: 'SQLite', kind: null, path: '', start: null },
  { product: 'PostgreSQL', kind: 'alpha', path: postgresPath, start: sharedPostgres },
  { product: 'MariaDB', kind: 'gamma', path: mariadbPath, start: sharedMariadb },
] as const

describe.each(DATABASES)('jobs and calls on $product', ({ kind, path, start }) => {
  describe.skipIf(path === undefined)('(skipped where it is not installed)', () => {
    let server: TestServer | null = null
    let host: TestHost
    const api = apiOf(() => host)

    const post = (to: string, body: string, headers: Record<string, string> = {}) =>
      ask(`${host.url}/solution/${NAME}/api${to}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      })
    const runs = (query = '') => api.items(`/solutions/${NAME}/runs${query}`) as Promise<Run[]>
    const ended = (id: string) =>
      waitUntil(async () => {
        const run = (await api.get(`/solutions/${NAME}/runs/${id}`)) as Run
        expect(['succeeded', 'failed', 'cancelled']).toContain(run.state)
        return run
      })

    beforeAll(async () => {
      server = start === null ? null : await start()
      const shared = server === null || kind === null ? {} : sharedProperties(kind, server)
      host = await startTestHost({ ...shared, SERVLET_PASSWORD: ADMIN_PASSWORD, JOB_TIME: '500ms' })
      const manifest = { name: NAME, authenticator: 'DEFAULT', jobs: JOBS, endpoints: ENDPOINTS }
      const uploaded = await host.upload(NAME, await bundleOf(manifest, { 'globals.js': SCRIPT }))
      expect(uploaded.status, await uploaded.text()).toBe(201)
      await api.send('PUT', `/solutions/${NAME}/secrets/HOOK`, { value: 'hook secret', hosts: [] })
    }, SERVER_START + 60_000)
    afterAll(async () => {
      await host?.stop()
      await server?.stop()
    })

    test('an endpoint that throws after enqueue responds with 500, and nothing is queued', async () => {
      expect((await post('/fail', '{}')).status).toBe(500)
      expect(await runs()).toEqual([])
    })

    test('a webhook that is sent five times with the same key queues one run', async () => {
      const body = JSON.stringify({ event: 'push' })
      const signature = `sha256=${createHmac('sha256', 'hook secret').update(body).digest('hex')}`
      const headers = { 'x-hub-signature-256': signature, 'x-github-delivery': 'delivery-7' }
      const answers = await Promise.all([1, 2, 3, 4, 5].map(() => post('/hook', body, headers)))
      expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204])
      const found = await runs('?job=report')
      expect(found).toHaveLength(1)
      expect(await ended(found[0]?.id ?? '')).toMatchObject({ state: 'succeeded', result: { event: 'push' } })
      expect((await post('/hook', body, headers)).status).toBe(204)
      expect(await runs('?job=report')).toHaveLength(1)
    })

    test('an endless job ends at JOB_TIME; meanwhile, its solution’s users can sign in, and its endpoints work', async () => {
      await addUser(host, 'hanna')
      const { id } = (await api.send('POST', `/solutions/${NAME}/jobs/hang/run`, {})).json() as Run
      const visitor = await visit(host, NAME)
      expect((await visitor.signIn('hanna')).status).toBe(303)
      expect((await post('/plain', '{}')).status).toBe(200)
      expect(await ended(id)).toMatchObject({ state: 'failed', failure: { code: 'script_timeout' } })
    })
  })
})
