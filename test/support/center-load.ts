import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { pino } from 'pino'
import { SIGNALS, type Signal } from '../../base/config/telemetry-settings.ts'
import { createSender } from '../../base/outbound/sender.ts'
import { REPORT_EVERY, SATELLITE_API } from '../../base/protocol/protocol.ts'
import { createBatchQueue } from '../../base/work/batch-queue.ts'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { openTelemetryDatabase } from '../../control-center/telemetry/database/open-telemetry.ts'
import { writeRequest } from '../../control-center/telemetry/otlp/messages.ts'
import { signInToCenter, startTestCenter } from './center.ts'
import { type CenterProcess, startCenterProcess } from './center-process.ts'
import { sharedProperties } from './host-group.ts'
import { SimulatedHost } from './otlp.ts'
import { startPostgres } from './postgres-server.ts'

/*
 * Simulates Satellites without running hosts. They send telemetry and reports, and poll for the desired state. They use
 * the disk queue and the sender of real Satellites.
 */

export type LoadedCenter = {
  readonly center: CenterProcess
  readonly satellites: readonly SimulatedSatellite[]
  /** Sends a request to the API. `took` is the response time in ms. */
  readonly api: (
    path: string,
  ) => Promise<{ readonly body: { readonly items: readonly unknown[] }; readonly took: number }>
  /**
   * Requests a page like a browser.
   * @returns the response time in ms
   */
  readonly page: (path: string) => Promise<number>
  /** Reads what the control center has stored for each Satellite. Call this after the control center has stopped. */
  readonly stored: () => Promise<ReadonlyMap<string, Stored>>
  readonly stop: () => Promise<void>
}

export type LoadedDatabase = 'embedded' | 'postgresql'

type Stored = { readonly lines: number; readonly distinct: number; readonly logins: number; readonly calls: number }

export type SimulatedSatellite = {
  readonly environment: string
  readonly done: { logins: number; calls: number; lines: number; polls: number; reports: number; dropped: number }
  /** Adds log lines to the queue. */
  readonly log: (lines: number) => Promise<void>
  /** Adds some simulated work to the metrics, and sends them. */
  readonly work: () => Promise<void>
  readonly waiting: () => number
}

const BOUND = 512 * 1024 * 1024
/** The number of log lines per batch. Real hosts use the same number. */
const BATCH = 512
export const NEEDLE = 'needle'
/** One log line in this many contains `NEEDLE`. */
const NEEDLE_EVERY = 10_000

/**
 * Starts a control center in a separate process, and `count` simulated Satellites, each in its own environment.
 * @param database the kind of database; `postgresql` starts a database server
 */
export async function startLoadedCenter(count: number, database: LoadedDatabase = 'embedded'): Promise<LoadedCenter> {
  const home = mkdtempSync(join(tmpdir(), 'center-load-'))
  const server = database === 'postgresql' ? await startPostgres({ isDurable: true }) : null
  const properties = server === null ? {} : sharedProperties('alpha', server)
  const seeded = await startTestCenter(properties, { home: join(home, 'center') })
  const environments: { name: string; id: string; token: string }[] = []
  for (let number = 0; number < count; number++) {
    const name = `satellite-${number}`
    environments.push({ name, ...(await seeded.environment(name)) })
  }
  const viewer = await seeded.tokenOf('viewer')
  await seeded.stop()
  const center = await startCenterProcess(join(home, 'center'), {
    ...properties,
    LOGS_KEPT_SIZE: '4g',
    LOG_LEVEL: 'warn',
  })
  const stopping = new AbortController()
  const satellites: (SimulatedSatellite & { end(): Promise<void> })[] = []
  for (const [number, { name, token }] of environments.entries()) {
    satellites.push(await startSatellite(center.url, join(home, name), name, number, token, stopping.signal))
  }
  const browser = await signInToCenter(center)

  return {
    center,
    satellites,
    async api(path) {
      const start = performance.now()
      const answer = await fetch(`${center.url}/api/${path}`, { headers: { authorization: `Bearer ${viewer}` } })
      const body = (await answer.json()) as { items: unknown[] }
      if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${JSON.stringify(body)}`)
      return { body, took: performance.now() - start }
    },
    async page(path) {
      const start = performance.now()
      const { status } = await browser.get(path)
      if (status !== 200) throw new Error(`${path} was answered ${status}`)
      return performance.now() - start
    },
    stored: () => storedIn({ ...properties, PLATFORM_HOME: join(home, 'center') }, environments),
    async stop() {
      stopping.abort()
      await Promise.all(satellites.map((one) => one.end()))
      await center.stop()
      await server?.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Reads what a stopped control center has stored, by environment name. */
async function storedIn(
  properties: Readonly<Record<string, string>>,
  environments: readonly { readonly id: string; readonly name: string }[],
): Promise<ReadonlyMap<string, Stored>> {
  const { reading, close } = await openTelemetryDatabase(readCenterSettings(properties))
  const names = new Map(environments.map(({ id, name }) => [id, name]))
  const all = new Map(environments.map(({ name }) => [name, { lines: 0, distinct: 0, logins: 0, calls: 0 }]))
  const lines = await sql<{ environment: string; lines: number; distinct_lines: number }>`select environment,
    count(*) as lines, count(distinct message) as distinct_lines from log_lines group by environment`.execute(reading)
  for (const { environment, lines: count, distinct_lines } of lines.rows) {
    const one = all.get(names.get(environment) ?? '')
    if (one !== undefined) Object.assign(one, { lines: Number(count), distinct: Number(distinct_lines) })
  }
  const sums = await sql<{
    environment: string
    metric: string
    sum: number
    count: number
  }>`select environment, metric,
      sum(sum) as sum, sum(count) as count
    from metric_series as series join metric_points as points on points.series = series.id
    where step = 3600 and bucket = -1 and metric in ('solhost_logins_total', 'solhost_script_duration_seconds')
    group by environment, metric`.execute(reading)
  for (const { environment, metric, sum, count } of sums.rows) {
    const one = all.get(names.get(environment) ?? '')
    if (one === undefined) continue
    if (metric === 'solhost_logins_total') one.logins = Number(sum)
    else one.calls = Number(count)
  }
  await close()
  return all
}

async function startSatellite(
  url: string,
  home: string,
  environment: string,
  number: number,
  token: string,
  stopping: AbortSignal,
): Promise<SimulatedSatellite & { end(): Promise<void> }> {
  const done = { logins: 0, calls: 0, lines: 0, polls: 0, reports: 0, dropped: 0 }
  const host = new SimulatedHost()
  const authorization = `Bearer ${token}`
  const queues = new Map<
    Signal,
    { put: (body: Uint8Array, count: number) => Promise<void>; size: () => number; end: () => Promise<void> }
  >()
  for (const signal of SIGNALS) {
    const dropped = (count: number) => {
      done.dropped += count
    }
    const queue = createBatchQueue({ folder: join(home, signal), bound: BOUND, dropped })
    const sender = createSender({
      signal,
      queue,
      target: { url: `${url}/otlp/v1/${signal}`, headers: { authorization }, from: { url: '', headers: '' } },
      isCompressed: false,
      timeout: 10_000,
      rejectedOf: (answer) => answer.length,
      log: pino({ level: 'silent' }),
      counted: dropped,
      sent: () => {},
    })
    await queue.open()
    queues.set(signal, {
      async put(body, count) {
        await queue.put(body, count, 'pb')
        sender.wake()
      },
      size: queue.size,
      end: () => sender.stop(0),
    })
  }

  const ends = [poll(), report()]

  async function ask(path: string, init: RequestInit = {}): Promise<Response | null> {
    try {
      const signal = AbortSignal.any([stopping, AbortSignal.timeout(65_000)])
      const headers = { authorization, 'content-type': 'application/json' }
      const answer = await fetch(`${url}${SATELLITE_API}/${path}`, { ...init, headers, signal })
      await answer.arrayBuffer()
      return answer
    } catch {
      return null
    }
  }

  /** Polls for the desired state like a Satellite, with one request at a time. */
  async function poll(): Promise<void> {
    while (!stopping.aborted) {
      const answer = await ask('desired?after=0&wait=30')
      if (answer?.status === 204 || answer?.status === 200) done.polls++
      // Pause after receiving a statement. The next poll sends the same sequence number, so it would immediately return
      // the same statement.
      if (answer?.status !== 204) await pause(1000, undefined, { signal: stopping }).catch(() => {})
    }
  }

  async function report(): Promise<void> {
    const node = randomUUID()
    while (!stopping.aborted) {
      const told = {
        node,
        version: 'test',
        number: 0,
        outcome: 'none',
        results: [],
        solutions: [],
        health: 'good',
        findings: [],
      }
      const answer = await ask('report', { method: 'POST', body: JSON.stringify(told) })
      if (answer?.ok) done.reports++
      await pause(answer?.ok ? REPORT_EVERY : 1000, undefined, { signal: stopping }).catch(() => {})
    }
  }

  return {
    environment,
    done,
    waiting: () => [...queues.values()].reduce((sum, queue) => sum + queue.size(), 0),
    async log(lines) {
      for (let left = lines; left > 0; left -= BATCH) {
        const batch = Array.from({ length: Math.min(BATCH, left) }, () => lineOf(number, done.lines++))
        await queues.get('logs')?.put(writeRequest('logs', host.logs(batch), 'pb'), batch.length)
      }
    },
    async work() {
      const shop = { solution: 'shop', mode: 'default' }
      for (let one = 0; one < 5; one++) {
        host.add('solhost_logins_total', { ...shop, result: one === 4 ? 'refused' : 'ok' })
        host.record('solhost_script_duration_seconds', 0.003 * (one + 1), {
          solution: 'shop',
          entry: 'onSolutionOpen',
          outcome: 'returned',
        })
        host.record('solhost_login_duration_seconds', 0.01, { mode: 'default', result: 'ok' })
        host.record('solhost_sandbox_queue_seconds', 0.001, {})
        for (const operation of ['select', 'insert', 'update', 'delete']) {
          host.record('solhost_database_query_duration_seconds', 0.0007, { operation, result: 'ok' })
        }
        for (const status of ['200', '303', '404']) {
          host.record('solhost_http_request_duration_seconds', 0.02, { port: 'app', method: 'POST', status })
        }
        host.add('solhost_script_calls_total', { solution: 'shop', entry: 'onSolutionOpen', outcome: 'returned' })
        done.logins++
        done.calls++
      }
      for (const part of ['host', 'sandbox']) host.set('solhost_memory_bytes', { part }, 2 ** 27)
      for (const kind of ['logins', 'clients', 'waiting']) host.set('solhost_sandbox_processes', { kind }, 1)
      for (const signal of SIGNALS) host.set('solhost_telemetry_queue_bytes', { signal }, 100)
      host.set('solhost_clients', {}, 7)
      host.set('solhost_memory_limit_bytes', {}, 2 ** 30)
      await queues.get('metrics')?.put(writeRequest('metrics', host.metrics(), 'pb'), 30)
    },
    async end() {
      await Promise.all([...ends, ...[...queues.values()].map((queue) => queue.end())])
    },
  }
}

const WORDS = ['warehouse', 'customer', 'invoice', 'payment', 'delivery', 'reminder', 'address', 'discount']

function lineOf(satellite: number, number: number) {
  const about = `${WORDS[number % WORDS.length]} ${WORDS[(number * 7 + 3) % WORDS.length]}`
  const needle = (satellite + number) % NEEDLE_EVERY === NEEDLE_EVERY - 1 ? ` ${NEEDLE}` : ''
  return {
    message: `order ${number} of satellite ${satellite} changed: ${about}, took ${number % 97} ms${needle}`,
    severity: number % 50 === 0 ? 17 : 9,
    labels: {
      'solhost.solution': number % 3 === 0 ? 'shop' : 'desk',
      'solhost.correlation_id': `${satellite}-${number}`,
    },
  }
}
