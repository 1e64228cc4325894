import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readSettings } from '../../host/config/settings.ts'
import { openHostDatabase } from '../../host/database/open.ts'
import { LEASE_TIME } from '../../host/jobs/job-runs.ts'
import { childrenOf } from '../long/processes.ts'
import { apiOf, codeOf } from '../support/api.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { ADMIN, ADMIN_PASSWORD, sharedProperties } from '../support/host-group.ts'
import { startHostProcess } from '../support/host-process.ts'
import { ask } from '../support/http.ts'
import { mariadbPath, sharedMariadb } from '../support/mariadb-server.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { scaled } from '../support/scale.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf } from '../support/zip.ts'

const NAME = 'lighthouse'
const HOUR = 3_600_000
/** Half an hour from now, so that the job isn't due by the real clock while a test runs. */
const HOURLY = `${(new Date().getUTCMinutes() + 30) % 60} * * * *`
const JOBS = {
  watch: { function: 'watch', attempts: 2 },
  signal: { function: 'signal' },
  hourly: { function: 'signal', schedule: HOURLY, timeZone: 'Etc/UTC' },
}
const SCRIPT = `function watch(job) {
  if (job.attempt === 1) for (;;);
  return { id: job.id, attempt: job.attempt, data: job.data }
}
function add() { return plugins.jobs.enqueue('signal') }
function plain() { return 'plain' }
function signal() {
  for (const end = Date.now() + 1000; Date.now() < end; );
}
function onSolutionOpen() {}`

const ENDPOINTS = {
  'POST /add': { function: 'add', authentication: 'none' },
  'GET /plain': { function: 'plain', authentication: 'none' },
}

/** How long the database is down, in ms. This is longer than 5 s, the interval at which hosts check due times. */
const DOWN = 6000

type Run = { readonly id: string; readonly state: string } & Record<string, unknown>
type RunningHost = Awaited<ReturnType<typeof startHost>>

const stops: (() => Promise<unknown>)[] = []

async function stopAll(): Promise<void> {
  for (const stop of stops.splice(0).reverse()) await stop()
}

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'solhost-jobs-'))
  stops.push(async () => rmSync(home, { recursive: true, force: true }))
  return home
}

/** Starts a host whose clock can be set forward. Its jobs may take longer than a test. */
async function startHost(home: string, properties: Record<string, string>) {
  const settings = { LOG_LEVEL: 'error', PLATFORM_TESTING_MODE: 'true', JOB_TIME: '10m', ...properties }
  const host = await startHostProcess(home, settings)
  stops.push(() => {
    host.child.kill('SIGTERM')
    return host.gone
  })
  const api = apiOf(() => ({ url: host.url, admin: ADMIN }))
  return {
    ...host,
    queue: async (job: string, data: unknown) => {
      const answer = await api.send('POST', `/solutions/${NAME}/jobs/${job}/run`, { data })
      expect(answer.status, answer.text).toBe(202)
      return (answer.json() as Run).id
    },
    runs: (job: string) => api.items(`/solutions/${NAME}/runs?job=${job}`),
    ended: (id: string, state: string) =>
      waitUntil(async () => {
        const run = (await api.get(`/solutions/${NAME}/runs/${id}`)) as Run
        expect(run, JSON.stringify(run)).toMatchObject({ state })
        return run
      }),
    setClock: async (clockOffsetMs: number) => {
      expect((await api.send('POST', '/testing', { clockOffsetMs })).status).toBe(200)
    },
  }
}

async function upload({ url }: RunningHost): Promise<void> {
  const { status, text } = await ask(`${url}/admin/api/solutions/${NAME}`, {
    method: 'PUT',
    headers: { authorization: ADMIN, 'content-type': 'application/zip' },
    body: await bundleOf(
      { name: NAME, authenticator: 'NONE', jobs: JOBS, endpoints: ENDPOINTS },
      { 'globals.js': SCRIPT },
    ),
  })
  expect(status, text).toBe(201)
}

const SERVERS = [
  { product: 'PostgreSQL', kind: 'alpha', path: postgresPath, start: sharedPostgres },
  { product: 'MariaDB', kind: 'gamma', path: mariadbPath, start: sharedMariadb },
] as const

/** @param properties the database settings, or null if the second host opens the killed host's embedded database */
async function killRunningHost(properties: Record<string, string> | null): Promise<void> {
  const home = newHome()
  const first = await startHost(home, properties ?? { SERVLET_PASSWORD: ADMIN_PASSWORD })
  await upload(first)
  const id = await first.queue('watch', { ships: 3 })
  await first.ended(id, 'running')
  const other = properties === null ? null : await startHost(newHome(), properties)
  const sandboxes = childrenOf(first.child.pid ?? 0)
  first.child.kill('SIGKILL')
  await first.gone
  // Kill the sandbox processes too. A process that runs an endless script can't notice that the host is gone. It would
  // use a CPU core until JOB_TIME has passed.
  spawnSync('kill', ['-KILL', ...sandboxes.map(String)])
  const second = other ?? (await startHost(home, { SERVLET_PASSWORD: ADMIN_PASSWORD }))
  await second.setClock(LEASE_TIME)
  const run = await second.ended(id, 'succeeded')
  expect(run).toMatchObject({ id, attempt: 2, failure: null, result: { id, attempt: 2, data: { ships: 3 } } })
  expect(await second.runs('watch')).toHaveLength(1)
}

describe('kill -9 of the host that runs a job', () => {
  afterEach(stopAll)

  test('SQLite: when the lease expires, the restarted host runs attempt 2 of the same run', () => killRunningHost(null))

  for (const { product, kind, path, start } of SERVERS) {
    test.skipIf(path === undefined)(
      `${product}: when the lease expires, another host runs attempt 2 of the same run`,
      async () => killRunningHost(sharedProperties(kind, await start())),
      SERVER_START + 120_000,
    )
  }
})

/** These tests wait for the real clock, so those with MariaDB run only in `npm run long -- full-scale`. */
const KILLED = SERVERS.slice(0, scaled(1, SERVERS.length))

describe.each(KILLED)('kill -9 of $product while a host runs jobs', ({ kind, path, start }) => {
  describe.skipIf(path === undefined)(`(needs ${kind})`, () => {
    let server: TestServer
    let host: RunningHost

    beforeAll(async () => {
      server = await start()
      host = await startHost(newHome(), sharedProperties(kind, server))
      await upload(host)
    }, SERVER_START + 60_000)
    afterAll(stopAll)

    test('a run that ends while the database is down is recorded afterwards, as the first attempt', async () => {
      const id = await host.queue('signal', null)
      await host.ended(id, 'running')
      await server.kill()
      await waitUntil(() =>
        expect(host.output()).toContain('jobs could not be processed because of an error; the host will try again'),
      )
      // Wait until the call has finished, which takes 1 s.
      await wait(1500)
      await server.restart()
      expect(await host.ended(id, 'succeeded')).toMatchObject({ attempt: 1, failure: null })
    })

    test('while the database is down, a call that queues a run gets 503 and nothing is queued; other calls work', async () => {
      const call = (method: string, path: string) => ask(`${host.url}/solution/${NAME}/api${path}`, { method })
      expect((await call('GET', '/plain')).status).toBe(200)
      const before = (await host.runs('signal')).length
      await server.kill()
      const [refused, plain] = [await call('POST', '/add'), await call('GET', '/plain')]
      await server.restart()
      expect([codeOf(refused), plain.status]).toEqual([[503, 'ERR_DATABASE_UNREACHABLE'], 200])
      const added = await waitUntil(async () => {
        const answer = await call('POST', '/add')
        expect(answer.status).toBe(200)
        return answer.json() as string
      })
      await host.ended(added, 'succeeded')
      expect(await host.runs('signal')).toHaveLength(before + 1)
    })

    test('due times that pass while the database is down cause one run, which counts the others; schedules continue', async () => {
      await untilScheduled()
      await host.setClock(5 * HOUR)
      await server.kill()
      await wait(DOWN)
      expect((await ask(`${host.url}/health/live`)).status).toBe(200)
      await server.restart()
      expect(await finishedRuns(1)).toEqual([{ state: 'succeeded', missed: 4, attempt: 1 }])
      await host.setClock(6 * HOUR)
      expect(await finishedRuns(2)).toEqual([
        { state: 'succeeded', missed: 0, attempt: 1 },
        { state: 'succeeded', missed: 4, attempt: 1 },
      ])
      expect(host.child.exitCode).toBeNull()
    })

    /** Waits until the host has stored the schedule. Due times before that are ignored. */
    async function untilScheduled(): Promise<void> {
      const db = await openHostDatabase(readSettings(sharedProperties(kind, server)))
      try {
        await waitUntil(async () =>
          expect(await db.selectFrom('job_schedules').select('job').execute()).toEqual([{ job: 'hourly' }]),
        )
      } finally {
        await db.destroy()
      }
    }

    /** The runs of the job with a schedule, newest first. */
    function finishedRuns(count: number) {
      return waitUntil(async () => {
        const runs = (await host.runs('hourly')).map(({ state, missed, attempt }) => ({ state, missed, attempt }))
        expect(runs).toHaveLength(count)
        expect(runs.map(({ state }) => state)).not.toContain('waiting')
        expect(runs.map(({ state }) => state)).not.toContain('running')
        return runs
      })
    }
  })
})
