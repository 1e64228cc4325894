import { afterAll, beforeAll, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import type { HealthReport } from '../../host/health/health-report.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { createSupervisor } from '../../runtime/supervisor.ts'
import { apiOf, codeOf } from '../support/api.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'

let host: TestHost
const { send, get } = apiOf(() => host)
const PAGE = '/solution/tenant-login/index.html'
const ANNA = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }

beforeAll(async () => {
  // Uses the real supervisor, which keeps a spare process. The first measurement must include that process.
  host = await startTestHost({}, { createSupervisor })
  await host.upload('tenant-login', await packFolder(exampleFolder('tenant-login')))
  const visitor = createVisitor(host.url)
  await visitor.get(PAGE)
  expect((await visitor.post(PAGE, { ...ANNA, password: 'wrong' })).status).toBe(401)
  expect((await visitor.post(PAGE, ANNA)).status).toBe(303)
})
afterAll(() => host.stop())

const health = async (query = '') => (await get(`/health${query}`)) as unknown as HealthReport

test('health: the host reports its version, its database and its memory', async () => {
  const { now, startedAt, uptime, version, node, database, memory, quarantined } = await health()
  expect([version, node, quarantined]).toEqual(['test', process.version, []])
  expect(now - startedAt - uptime).toBeLessThan(1000)
  expect(database).toEqual({ kind: 'embedded', ok: true, latency: expect.any(Number) })
  // Don't compare `host`, because the machine's cgroup may have a lower limit.
  expect(memory).toMatchObject({ host: expect.any(Number), configured: 3 * 1024 ** 3, used: expect.any(Number) })
  expect(memory.processes).toBeGreaterThan(10 * 1024 ** 2)
})

test('health: the solution’s process is listed, with what it runs', async () => {
  const { processes } = await health()
  const ours = processes.filter(({ solution }) => solution === 'tenant-login')
  expect(ours).toEqual([
    { pid: expect.any(Number), solution: 'tenant-login', calls: 0, clients: null, memory: expect.any(Number) },
  ])
  expect(ours[0]?.memory).toBeGreaterThan(5 * 1024 ** 2)
})

test('health: two sign-ins count as two authenticator calls, in the time series and in the list of functions', async () => {
  const { series, entries } = await health()
  expect([series.range, series.step, series.points.length]).toEqual(['recent', 10_000, 720])
  expect(series.points.reduce((sum, { calls }) => sum + calls.count, 0)).toBe(2)
  expect(series.points.findLast(({ gauges }) => gauges !== null)?.gauges?.processes).toBeGreaterThan(0)
  expect(entries).toEqual([
    {
      solution: 'tenant-login',
      entry: 'onSolutionOpen',
      count: 2,
      failed: 0,
      p50: expect.any(Number),
      p95: expect.any(Number),
      largest: expect.any(Number),
    },
  ])
})

test('health: sign-ins are counted by outcome, in the intervals of the time series', async () => {
  const { signIns, series } = await health('?range=day')
  expect([series.step, series.points.length]).toEqual([60_000, 1440])
  const counts = Object.groupBy(signIns ?? [], ({ outcome }) => outcome)
  const sum = (outcome: string) => counts[outcome]?.reduce((all, { count }) => all + count, 0)
  expect([sum('ok'), sum('refused'), Object.keys(counts).length]).toEqual([1, 1, 2])
  expect(series.points.map(({ at }) => at)).toContain(signIns?.[0]?.at)
})

test.each(['?range=year', '?hours=0', '?hours=25', '?color=red'])('health: %s is rejected', async (query) => {
  expect(codeOf(await send('GET', `/health${query}`))).toEqual([422, 'ERR_REQUEST_INVALID'])
})
