import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Figures } from '../../control-center/telemetry/analysis.ts'
import { quantileOf } from '../../control-center/telemetry/quantiles.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { sharedProperties } from '../support/host-group.ts'
import { SimulatedHost } from '../support/otlp.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { openTestTelemetry, type TestTelemetry } from '../support/telemetry.ts'

const LOGIN = { solution: 'shop', mode: 'default', result: 'ok' }

function testMetrics(open: () => Promise<TestTelemetry>): void {
  let telemetry: TestTelemetry
  let number = 0

  beforeAll(async () => {
    telemetry = await open()
  })
  afterAll(() => telemetry?.stop())

  const fresh = () => `environment-${++number}`
  const figures = (environment: string, range: Figures['range'] = '1h', solution?: string) =>
    telemetry.analysis.figures({ environments: [environment], range, solution })
  const valuesOf = ({ charts }: Figures, key: string, name: string) =>
    charts.find((chart) => chart.key === key)?.lines.find((line) => line.name === name)?.values ?? []
  const total = (found: Figures, key: string, name: string) =>
    valuesOf(found, key, name).reduce<number>((sum, value) => sum + (value ?? 0), 0)

  test('a counter’s value is the sum of its increments', async () => {
    const environment = fresh()
    const host = new SimulatedHost(telemetry.time - 60_000)
    for (const count of [3, 0, 4]) {
      host.add('solhost_logins_total', LOGIN, count)
      telemetry.time += 10_000
      await telemetry.tell(environment, 'metrics', host.metrics(telemetry.time))
    }
    expect(total(await figures(environment), 'logins', 'ok')).toBe(7)
    expect(total(await figures(environment, '15m'), 'logins', 'ok')).toBe(7)
    expect(total(await figures(environment, '30d'), 'logins', 'ok')).toBe(7)
  })

  test('a restarted process’s counter starts at zero again', async () => {
    const environment = fresh()
    for (const count of [5, 2]) {
      const host = new SimulatedHost(telemetry.time)
      host.add('solhost_logins_total', LOGIN, count)
      telemetry.time += 10_000
      await telemetry.tell(environment, 'metrics', host.metrics(telemetry.time))
    }
    expect(total(await figures(environment), 'logins', 'ok')).toBe(7)
  })

  test('counts from before a process’s first report are not attributed to the present', async () => {
    const environment = fresh()
    const host = new SimulatedHost(telemetry.time - 86_400_000)
    host.add('solhost_logins_total', LOGIN, 1000)
    await telemetry.tell(environment, 'metrics', host.metrics(telemetry.time))
    host.add('solhost_logins_total', LOGIN, 2)
    telemetry.time += 10_000
    await telemetry.tell(environment, 'metrics', host.metrics(telemetry.time))
    expect(total(await figures(environment), 'logins', 'ok')).toBe(2)
  })

  test('duplicate or late data points change nothing', async () => {
    const environment = fresh()
    const host = new SimulatedHost(telemetry.time)
    host.add('solhost_logins_total', LOGIN, 2)
    const first = host.metrics(telemetry.time + 10_000)
    host.add('solhost_logins_total', LOGIN, 3)
    telemetry.time += 20_000
    const second = host.metrics(telemetry.time)
    for (const request of [first, second, first, second]) await telemetry.tell(environment, 'metrics', request)
    expect(total(await figures(environment), 'logins', 'ok')).toBe(5)
  })

  test('for a gauge, the maximum and the last value over time are returned, summed over processes', async () => {
    const environment = fresh()
    telemetry.time = Math.ceil(telemetry.time / 60_000) * 60_000
    const [one, other] = [new SimulatedHost(telemetry.time), new SimulatedHost(telemetry.time)]
    for (const bytes of [100, 300, 200]) {
      one.set('solhost_memory_bytes', { part: 'host' }, bytes)
      await telemetry.tell(environment, 'metrics', one.metrics(telemetry.time))
      telemetry.time += 10_000
    }
    const { charts } = await figures(environment)
    const memory = charts.find(({ key }) => key === 'memory')?.lines
    expect(memory?.map(({ name, values, last }) => [name, values.at(-1), last])).toEqual([['host', 300, 200]])
    telemetry.time += 60_000
    for (const host of [one, other, one, other]) {
      host.set('solhost_memory_bytes', { part: 'host' }, 500)
      await telemetry.tell(environment, 'metrics', host.metrics(telemetry.time))
      telemetry.time += 5000
    }
    telemetry.time += 15_000
    expect(valuesOf(await figures(environment, '15m'), 'memory', 'host').findLast((value) => value !== null)).toBe(1000)
  })

  /**
   * Creates environments that report 100, 200, 400, … bytes. Each environment reports according to its plan, whose
   * times are in seconds.
   */
  async function reportMemory(plans: readonly { every: number; from: number; until: number }[]): Promise<string[]> {
    telemetry.time = Math.ceil(telemetry.time / 60_000) * 60_000
    const begin = telemetry.time
    const all = plans.map((plan) => ({ ...plan, environment: fresh(), host: new SimulatedHost(begin) }))
    const end = Math.max(...plans.map(({ until }) => until))
    for (let second = 0; second <= end; second += 10) {
      telemetry.time = begin + second * 1000
      for (const [index, { every, from, until, environment, host }] of all.entries()) {
        if (second < from || second > until || (second - from) % every !== 0) continue
        host.set('solhost_memory_bytes', { part: 'host' }, 100 * 2 ** index)
        await telemetry.tell(environment, 'metrics', host.metrics(telemetry.time))
      }
    }
    return all.map(({ environment }) => environment)
  }
  const memoryOf = async (environments: readonly string[], range: Figures['range'] = '15m') => {
    const { charts } = await telemetry.analysis.figures({ environments, range })
    return charts.find(({ key }) => key === 'memory')?.lines[0]
  }

  test('if environments report at different times and intervals, the sum of their gauges does not fluctuate', async () => {
    const environments = await reportMemory([
      { every: 60, from: 0, until: 900 },
      { every: 60, from: 30, until: 900 },
      { every: 10, from: 0, until: 900 },
      { every: 240, from: 50, until: 900 },
    ])
    const line = await memoryOf(environments)
    const values = line?.values ?? []
    expect(values.slice(0, 5)).toEqual([500, 500, 700, 700, 1500])
    expect(new Set(values.slice(4))).toEqual(new Set([1500]))
    expect(line?.last).toBe(1500)
    const hour = (await memoryOf(environments, '1h'))?.values.slice(-15)
    expect(new Set(hour)).toEqual(new Set([1500]))
  })

  test('an environment that stops reporting is left out after three of its intervals, at least two minutes', async () => {
    const environments = await reportMemory([
      { every: 60, from: 0, until: 300 },
      { every: 10, from: 0, until: 300 },
      { every: 10, from: 0, until: 900 },
    ])
    const line = await memoryOf(environments)
    // The first slot begins 10 s after the start.
    const at = (second: number) => line?.values[second / 10 - 1]
    expect([at(300), at(420), at(430), at(480), at(490), at(900)]).toEqual([700, 700, 500, 500, 400, 400])
    expect(line?.last).toBe(400)
  })

  test('a value reported before the displayed period counts until the next report is overdue', async () => {
    const [environment = ''] = await reportMemory([{ every: 1200, from: 0, until: 3600 }])
    telemetry.time += 1_100_000
    expect(new Set((await memoryOf([environment]))?.values)).toEqual(new Set([100]))
    telemetry.time += 3_600_000
    expect(await memoryOf([environment])).toBeUndefined()
  })

  test('script durations: quantiles combine all processes and outcomes, and slow scripts are marked', async () => {
    const environment = fresh()
    for (const outcome of ['returned', 'script_error']) {
      const host = new SimulatedHost(telemetry.time)
      for (let call = 0; call < 50; call++) {
        host.record('solhost_script_duration_seconds', 0.02, { entry: 'onSolutionOpen', outcome })
        host.record('solhost_script_duration_seconds', call < 40 ? 0.3 : 0.8, { entry: 'forms', outcome })
      }
      await telemetry.tell(environment, 'metrics', host.metrics(telemetry.time))
    }
    const { entries } = await figures(environment)
    expect(entries.map(({ entry, count, isSlow }) => [entry, count, isSlow]).sort()).toEqual([
      ['forms', 100, true],
      ['onSolutionOpen', 100, false],
    ])
    const forms = entries.find(({ entry }) => entry === 'forms')
    expect(forms?.p50).toBeGreaterThan(250)
    expect(forms?.p50).toBeLessThan(500)
    expect(forms?.p95).toBeGreaterThan(500)
  })

  test('a solution’s metrics include only its own sign-ins and script durations', async () => {
    const environment = fresh()
    const host = new SimulatedHost(telemetry.time)
    host.add('solhost_logins_total', LOGIN, 2)
    host.add('solhost_logins_total', { ...LOGIN, solution: 'desk' }, 5)
    const call = { entry: 'forms', outcome: 'returned' }
    host.record('solhost_script_duration_seconds', 0.02, { ...call, solution: 'shop' })
    for (let one = 0; one < 3; one++) {
      host.record('solhost_script_duration_seconds', 0.8, { ...call, solution: 'desk' })
    }
    await telemetry.tell(environment, 'metrics', host.metrics(telemetry.time))
    const desk = await figures(environment, '1h', 'desk')
    expect(total(desk, 'logins', 'ok')).toBe(5)
    expect(desk.entries).toMatchObject([{ entry: 'forms', count: 3, isSlow: true }])
    expect((await figures(environment, '1h', 'shop')).entries).toMatchObject([{ count: 1, isSlow: false }])
    expect((await figures(environment)).entries).toMatchObject([{ entry: 'forms', count: 4 }])
    expect((await figures(environment, '1h', 'none')).entries).toEqual([])
    expect(await telemetry.analysis.solutions([environment])).toEqual(['desk', 'shop'])
  })

  test('metrics do not include other environments', async () => {
    const [own, other] = [fresh(), fresh()]
    const host = new SimulatedHost(telemetry.time)
    host.add('solhost_logins_total', LOGIN, 2)
    await telemetry.tell(own, 'metrics', host.metrics(telemetry.time))
    expect(total(await figures(other), 'logins', 'ok')).toBe(0)
    expect(await telemetry.analysis.solutions([other])).toEqual([])
  })

  test('an environment has a limited number of series; more are rejected', async () => {
    const environment = fresh()
    const host = new SimulatedHost(telemetry.time)
    for (let one = 0; one < 60; one++) host.add('solhost_logins_total', { ...LOGIN, solution: `s${one}` })
    const { rejected, why } = await telemetry.tell(environment, 'metrics', host.metrics(telemetry.time))
    expect([rejected, why]).toEqual([
      10,
      'the environment has reached its limit of 50 time series; ask the operator of the control center to raise TELEMETRY_SERIES',
    ])
  })

  test('values too large for a sum are rejected, and later values are accepted', async () => {
    const environment = fresh()
    const host = new SimulatedHost(telemetry.time)
    host.set('solhost_memory_bytes', { part: 'host' }, 1e308)
    host.add('solhost_logins_total', LOGIN, 2)
    telemetry.time += 10_000
    expect((await telemetry.tell(environment, 'metrics', host.metrics(telemetry.time))).rejected).toBe(1)
    expect(total(await figures(environment), 'logins', 'ok')).toBe(2)
  })

  test('expired values are removed; those in coarser steps remain', async () => {
    const environment = fresh()
    const host = new SimulatedHost(telemetry.time)
    host.add('solhost_logins_total', LOGIN, 2)
    await telemetry.tell(environment, 'metrics', host.metrics(telemetry.time))
    telemetry.time += 20 * 86_400_000
    await telemetry.sweep()
    expect(total(await figures(environment, '30d'), 'logins', 'ok')).toBe(2)
    telemetry.time -= 20 * 86_400_000
    expect(total(await figures(environment), 'logins', 'ok')).toBe(0)
  })

  test('when an environment is deleted, all of its data is removed', async () => {
    const environment = fresh()
    const host = new SimulatedHost(telemetry.time)
    host.add('solhost_logins_total', LOGIN, 2)
    await telemetry.tell(environment, 'metrics', host.metrics(telemetry.time))
    await telemetry.tell(environment, 'logs', host.logs([{ message: 'gone', time: telemetry.time }]))
    telemetry.environments.splice(telemetry.environments.indexOf(environment), 1)
    await telemetry.sweep()
    expect(total(await figures(environment), 'logins', 'ok')).toBe(0)
    expect(await telemetry.logs.read({ environments: [environment] }, { limit: 10 })).toEqual([])
  })
}

const SERIES = { TELEMETRY_SERIES: '50' }

describe('metrics in the embedded database', () => testMetrics(() => openTestTelemetry(SERIES)))

describe.skipIf(postgresPath === undefined)('metrics in PostgreSQL', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await sharedPostgres()
  }, SERVER_START)
  afterAll(() => server?.stop())
  testMetrics(() => openTestTelemetry({ ...SERIES, ...sharedProperties('alpha', server) }))
})

describe('quantiles', () => {
  const edges = [0.1, 0.5, 1]

  test('without values, there are no quantiles', () => {
    expect(quantileOf(0.5, new Map(), edges)).toBeNull()
  })
  test('values are assumed to be spread evenly within a bucket', () => {
    expect(quantileOf(0.5, new Map([[0.5, 10]]), edges)).toBeCloseTo(0.3)
  })
  test('if a quantile is above the last boundary, the result is that boundary', () => {
    expect(quantileOf(0.95, new Map([[Infinity, 3]]), edges)).toBe(1)
  })
})
