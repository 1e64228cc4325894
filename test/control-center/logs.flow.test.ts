import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { openTelemetryDatabase } from '../../control-center/telemetry/database/open-telemetry.ts'
import { createLogStore, type LogFilter } from '../../control-center/telemetry/log-store.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { sharedProperties } from '../support/host-group.ts'
import { SimulatedHost, type SimulatedLine } from '../support/otlp.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { openTestTelemetry, type TestTelemetry } from '../support/telemetry.ts'

const DAY = 86_400_000

function testLogs(open: (properties: Record<string, string>) => Promise<TestTelemetry>): void {
  let telemetry: TestTelemetry
  const host = new SimulatedHost()
  let number = 0

  beforeAll(async () => {
    telemetry = await open({ LOGS_KEPT_SIZE: '100k', TRACES_KEPT: '1d', TRACES_SPANS: '100' })
  })
  afterAll(() => telemetry?.stop())

  async function environmentWith(...lines: (SimulatedLine | string)[]): Promise<string> {
    const environment = `logs-${++number}`
    const all = lines.map((line) => ({
      time: telemetry.time,
      ...(typeof line === 'string' ? { message: line } : line),
    }))
    await telemetry.tell(environment, 'logs', host.logs(all))
    return environment
  }
  const messages = async (filter: LogFilter, place: { before?: number; limit?: number } = {}) =>
    (await telemetry.logs.read(filter, { limit: 100, ...place })).map(({ message }) => message)

  test.each([
    ['order', ['An order arrived', 'A second ORDER']],
    ['second order', ['A second ORDER']],
    ['ord*', ['An order arrived', 'A second ORDER']],
    ['ord', []],
    ['cafe', ['Das Café ist zu']],
    ['CAFÉ zu', ['Das Café ist zu']],
    ['日本', ['日本 1']],
    ['10.0.0.7', ['from 10.0.0.7:443']],
    ['it’s', ["it's a quote"]],
    ['" OR "x', []],
    ["') | 'x", []],
    ['---', []],
  ])('a search for %j finds %j', async (words, expected) => {
    const environment = await environmentWith(
      'An order arrived',
      'A second ORDER',
      'Das Café ist zu',
      '日本 1',
      'from 10.0.0.7:443',
      "it's a quote",
    )
    expect((await messages({ environments: [environment], words })).toReversed()).toEqual(expected)
  })

  test('code, file, request and attributes are searched too', async () => {
    const labels = {
      'solhost.code': 'script_error',
      'code.file.path': 'scripts/checkout.js',
      'code.line.number': 12,
      'solhost.correlation_id': 'abc123',
      colour: 'purple',
    }
    const environment = await environmentWith({ message: 'it failed', labels }, 'another')
    for (const words of ['checkout', 'script error', 'abc123', 'purple']) {
      expect(await messages({ environments: [environment], words })).toEqual(['it failed'])
    }
    const [line] = await telemetry.logs.read({ environments: [environment], words: 'failed' }, { limit: 1 })
    expect(line).toMatchObject({ code: 'script_error', file: 'scripts/checkout.js', line: 12, correlation: 'abc123' })
    expect(line?.attributes).toEqual({ colour: 'purple' })
  })

  test.each([undefined, 'word'])(
    'results can be filtered by level, solution and time, with the words %j',
    async (words) => {
      const shop = { 'solhost.solution': 'shop' }
      const environment = await environmentWith(
        { message: 'word debug', severity: 5 },
        { message: 'word warn', severity: 13, labels: shop },
        { message: 'word error', severity: 17 },
        { message: 'word old', severity: 17, time: telemetry.time - DAY },
      )
      const filter = { environments: [environment], words }
      expect(await messages({ ...filter, level: 'warn' })).toEqual(['word old', 'word error', 'word warn'])
      expect(await messages({ ...filter, solution: 'shop' })).toEqual(['word warn'])
      expect(await messages({ ...filter, level: 'error', from: telemetry.time - 1000 })).toEqual(['word error'])
      expect(await messages({ ...filter, to: telemetry.time - 1000 })).toEqual(['word old'])
    },
  )

  test.each([undefined, 'page'])(
    'each page continues where the previous one ended, with the words %j',
    async (words) => {
      const all = Array.from({ length: 25 }, (_, index) => `page ${index}`)
      const environment = await environmentWith(...all)
      const found: string[] = []
      for (let before: number | undefined; ; ) {
        const lines = await telemetry.logs.read(
          { environments: [environment], words },
          { limit: 10, ...(before === undefined ? {} : { before }) },
        )
        if (lines.length === 0) break
        found.push(...lines.map(({ message }) => message))
        before = lines.at(-1)?.id
      }
      expect(found.toReversed()).toEqual(all)
    },
  )

  test('lines from the selected environments are merged into one list', async () => {
    const [one, other, foreign] = [
      await environmentWith('mine a'),
      await environmentWith('mine b'),
      await environmentWith('mine c'),
    ]
    for (const words of [undefined, 'mine']) {
      expect(await messages({ environments: [one, other], words })).toEqual(['mine b', 'mine a'])
      expect(await messages({ environments: [], words })).toEqual([])
    }
    const [line] = await telemetry.logs.read({ environments: [foreign] }, { limit: 1 })
    expect(await telemetry.logs.find([one, other], line?.id ?? 0)).toBeNull()
    expect((await telemetry.logs.find([foreign], line?.id ?? 0))?.message).toBe('mine c')
  })

  test('errors are counted by position', async () => {
    const at = (line: number) => ({
      'code.file.path': 'scripts/main.js',
      'code.line.number': line,
      'solhost.solution': 'shop',
    })
    const environment = await environmentWith(
      { message: 'first', severity: 17, labels: at(7) },
      { message: 'second', severity: 17, labels: at(7) },
      { message: 'elsewhere', severity: 17, labels: at(9) },
      { message: 'a warning', severity: 13, labels: at(7) },
    )
    const errors = await telemetry.logs.errors({ environments: [environment] }, telemetry.time - 1000, 10)
    expect(errors.map(({ file, line, count, lastMessage }) => [file, line, count, lastMessage])).toEqual([
      ['scripts/main.js', 7, 2, 'second'],
      ['scripts/main.js', 9, 1, 'elsewhere'],
    ])
  })

  test('expired lines and their words are removed; if an environment exceeds its size limit, its oldest lines are removed', async () => {
    const old = await environmentWith({ message: 'ancient', time: telemetry.time - 40 * DAY }, 'recent')
    const long = 'x'.repeat(2000)
    const large = await environmentWith(...Array.from({ length: 100 }, (_, index) => `line${index} ${long}`))
    await telemetry.sweep()
    expect(await messages({ environments: [old] })).toEqual(['recent'])
    expect(await messages({ environments: [old], words: 'ancient' })).toEqual([])
    const left = await messages({ environments: [large] })
    expect(left.length).toBeGreaterThan(15)
    expect(left.length).toBeLessThan(30)
    expect(left[0]).toMatch(/^line99 /)
    expect(await messages({ environments: [large], words: 'line0' })).toEqual([])
  })

  const trace = 'a'.repeat(32)
  const spans = (start: number) => [
    { trace, span: '1'.repeat(16), name: 'POST /orders', start, duration: 700, labels: { 'solhost.port': 'app' } },
    {
      trace,
      span: '2'.repeat(16),
      parent: '1'.repeat(16),
      name: 'login',
      start: start + 100,
      duration: 500,
      labels: { 'solhost.solution': 'shop' },
    },
    {
      trace,
      span: '3'.repeat(16),
      parent: '2'.repeat(16),
      name: 'sandbox call',
      start: start + 200,
      duration: 300,
      isFailed: true,
    },
    { trace: 'b'.repeat(32), span: '4'.repeat(16), name: 'GET /', start, duration: 5 },
  ]

  test('slow and failed requests are found, with nested spans', async () => {
    const environment = `traces-${++number}`
    await telemetry.tell(environment, 'traces', host.spans(spans(telemetry.time)))
    const filter = { environments: [environment], from: telemetry.time - 1000, limit: 10 }
    for (const only of ['slow', 'failed'] as const) {
      expect(
        (await telemetry.traces.list({ ...filter, only })).map(({ name, duration, isFailed }) => [
          name,
          duration,
          isFailed,
        ]),
      ).toEqual([['POST /orders', 700, true]])
    }
    expect(await telemetry.traces.list({ ...filter, solution: 'shop' })).toHaveLength(1)
    expect(await telemetry.traces.list(filter)).toHaveLength(2)
    const found = await telemetry.traces.find([environment], trace)
    expect(found?.spans).toMatchObject([
      {
        name: 'POST /orders',
        start: 0,
        parts: [{ name: 'login', start: 100, parts: [{ name: 'sandbox call', duration: 300, isFailed: true }] }],
      },
    ])
    expect(await telemetry.traces.find(['others'], trace)).toBeNull()
  })

  test('spans whose parents form a cycle are shown', async () => {
    const environment = `traces-${++number}`
    const circle = 'c'.repeat(32)
    const [one, other] = ['5'.repeat(16), '6'.repeat(16)]
    const common = { trace: circle, name: 'round', start: telemetry.time, duration: 1 }
    await telemetry.tell(
      environment,
      'traces',
      host.spans([
        { ...common, span: one, parent: other },
        { ...common, span: other, parent: one },
      ]),
    )
    expect((await telemetry.traces.find([environment], circle))?.spans).toHaveLength(2)
  })

  test('expired traces are removed', async () => {
    const environment = `traces-${++number}`
    await telemetry.tell(environment, 'traces', host.spans(spans(telemetry.time - 2 * DAY)))
    await telemetry.sweep()
    expect(await telemetry.traces.find([environment], trace)).toBeNull()
  })
}

describe('logs and traces in the embedded database', () => testLogs((properties) => openTestTelemetry(properties)))

describe.skipIf(postgresPath === undefined)('logs and traces in PostgreSQL', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await sharedPostgres()
  }, SERVER_START)
  afterAll(() => server?.stop())
  testLogs((properties) => openTestTelemetry({ ...properties, ...sharedProperties('alpha', server) }))

  test('a search returns each line once and in order, combining recent lines and indexed older ones', async () => {
    const telemetry = await openTestTelemetry(sharedProperties('alpha', server))
    const lines = Array.from({ length: 30 }, (_, index) => ({ message: index % 3 === 0 ? `hit ${index}` : 'other' }))
    await telemetry.tell('deep', 'logs', new SimulatedHost().logs(lines))
    const hits = lines.flatMap(({ message }) => (message === 'other' ? [] : [message])).toReversed()
    const { reading, close } = await openTelemetryDatabase(readCenterSettings(sharedProperties('alpha', server)))
    const filter = { environments: ['deep'], words: 'hit' }
    for (const depths of [[], [1], [2, 5], [7, 13], [29], [1000]]) {
      const logs = createLogStore(reading, depths)
      for (const limit of [1, 4, 9, 100]) {
        const found = await logs.read(filter, { limit })
        expect(found.map(({ message }) => message)).toEqual(hits.slice(0, limit))
        const [after, before] = [found.at(-1)?.id ?? 0, found[0]?.id ?? 0]
        const older = await logs.read(filter, { limit: 100, before: after })
        expect(older.map(({ message }) => message)).toEqual(hits.slice(limit))
        const between = await logs.read(filter, { limit: 100, before, after })
        expect(between.map(({ message }) => message)).toEqual(hits.slice(1, found.length - 1))
      }
    }
    await close()
    await telemetry.stop()
  })

  test('if two control centers remove lines at the same time, each line is counted once', async () => {
    const open = () => openTestTelemetry(sharedProperties('alpha', server))
    const [one, other] = [await open(), await open()]
    const lines = Array.from({ length: 900 }, () => ({ message: 'x', time: one.time - 40 * DAY }))
    await one.tell('swept-twice', 'logs', new SimulatedHost().logs([...lines, { message: 'new', time: one.time }]))
    other.environments.push('swept-twice')
    await Promise.all([one.sweep(), other.sweep()])
    const { writing, close } = await openTelemetryDatabase(readCenterSettings(sharedProperties('alpha', server)))
    const usage = writing.selectFrom('telemetry_usage').select('lines').where('environment', '=', 'swept-twice')
    expect(Number((await usage.executeTakeFirst())?.lines)).toBe(1)
    await close()
    await one.stop()
    await other.stop()
  })
})
