import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { type Collector, exportTimes, pointsOf, startCollector } from '../support/collector.ts'
import { ADMIN_PASSWORD } from '../support/host.ts'
import { startHostProcess } from '../support/host-process.ts'
import { ask, createVisitor } from '../support/http.ts'
import { percentile, type Rows } from './report.ts'

/** How long the collector is down, in ms. */
const AWAY = Number(process.env.AWAY_MINUTES ?? 10) * 60_000
/** The interval between two exports of the metrics, in ms. */
const INTERVAL = Number(process.env.AWAY_INTERVAL_MS ?? 5000)
const PAGE = '/solution/tenant-login/index.html'
const ANNA = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }
/** A queue limit that is exceeded many times while the collector is down. A third of it is for metrics. */
const SMALL_BOUND = 150 * 1024

/**
 * Stops the collector for a while during sign-ins. Afterwards every export must arrive, the sums must be correct, and
 * no sign-in may be delayed. A second host with a small limit must drop the oldest exports and report how many.
 */
export async function collectorAway(rows: Rows): Promise<void> {
  const whole = await startCollector()
  const small = await startCollector()
  const hosts = [
    await startHost(whole, {}),
    await startHost(small, { TELEMETRY_QUEUE: `${SMALL_BOUND / 1024}k` }),
  ] as const
  try {
    await Promise.all(hosts.map((host) => host.signIn()))
    await arrived(whole, 1)
    await arrived(small, 1)
    const before = hosts.map((host) => host.times.length)
    await Promise.all([whole.away(), small.away()])
    const from = Date.now()
    while (Date.now() - from < AWAY) {
      for (const host of hosts) await host.signIn()
      await pause(500)
    }
    const to = Date.now()
    const [waiting, waitingSmall] = hosts.map((host) => host.waiting())
    await Promise.all([whole.back(), small.back()])
    await Promise.all([arrived(whole, hosts[0].done()), arrived(small, hosts[1].done())])

    const times = exportTimes(whole, 'solhost_memory_limit_bytes')
    const away = times.filter((time) => time > from && time < to)
    const sums = pointsOf(whole, 'solhost_logins_total').map(({ value }) => value)
    rows.tell('time away, min', AWAY / 60_000)
    rows.tell('sign-ins meanwhile', hosts[0].done() - (before[0] ?? 0))
    rows.atLeast('exports of that time that arrived', Math.floor((to - from) / INTERVAL) - 1, away.length)
    rows.atMost('longest time between two of them, ms', INTERVAL * 1.5, largestGap(times))
    rows.atMost(
      'sums that are smaller than the one before',
      0,
      sums.filter((sum, at) => sum < (sums[at - 1] ?? 0)).length,
    )
    rows.atMost('difference of the last sum to what was done', 0, Math.abs((sums.at(-1) ?? 0) - hosts[0].done()))
    rows.tell('waited on disk, bytes', waiting ?? 0)
    rows.atMost(
      'lines in the log that it is away (one for each signal)',
      3,
      count(hosts[0].output(), 'temporarily rejects data'),
    )
    rows.atMost('sign-ins that failed', 0, hosts[0].failed() + hosts[1].failed())
    const { times: took } = hosts[0]
    rows.tell('sign-in before, p50, ms', percentile(took.slice(0, before[0]), 50))
    rows.tell('sign-in while away, p50, ms', percentile(took.slice(before[0]), 50))

    const dropped = await droppedPoints(small)
    rows.atMost('small bound: bytes on disk', SMALL_BOUND, waitingSmall ?? 0)
    rows.atLeast('small bound: points that were dropped and counted', AWAY >= 120_000 ? 1 : 0, dropped)
    rows.atMost(
      'small bound: difference of the last sum to what was done',
      0,
      Math.abs(lastSum(small) - hosts[1].done()),
    )
    rows.atLeast(
      'small bound: lines in the log that tell of it',
      dropped > 0 ? 1 : 0,
      count(hosts[1].output(), 'was dropped while'),
    )
    const kept = exportTimes(small, 'solhost_memory_limit_bytes').filter((time) => time > from)
    const oldestKept = (kept[0] ?? from) - from
    rows.tell(
      'small bound: the oldest export that arrived was made so long after the collector went, s',
      oldestKept / 1000,
    )
  } finally {
    for (const host of hosts) await host.stop()
    await Promise.all([whole.stop(), small.stop()])
  }
}

async function startHost(collector: Collector, properties: Record<string, string>) {
  const home = mkdtempSync(join(tmpdir(), 'solhost-away-'))
  const host = await startHostProcess(home, {
    SERVLET_PASSWORD: ADMIN_PASSWORD,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRIC_EXPORT_INTERVAL: String(INTERVAL),
    ...properties,
  })
  const authorization = `Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}`
  const body = await packFolder(exampleFolder('tenant-login'))
  const headers = { authorization, 'content-type': 'application/zip' }
  const { status } = await ask(`${host.url}/admin/api/solutions/tenant-login`, { method: 'PUT', headers, body })
  if (status !== 201) throw new Error(`the upload was answered ${status}`)
  const times: number[] = []
  let failed = 0
  return {
    times: times as readonly number[],
    done: () => times.length,
    failed: () => failed,
    output: host.output,
    async signIn() {
      const visitor = createVisitor(host.url)
      await visitor.get(PAGE)
      const begun = performance.now()
      const answer = await visitor.post(PAGE, ANNA)
      times.push(performance.now() - begun)
      if (answer.status !== 303) failed++
    },
    waiting: () => sizeOf(join(home, 'telemetry')),
    async stop() {
      host.child.kill('SIGTERM')
      await host.gone
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Waits until the collector has received this many sign-ins, at most three minutes. */
async function arrived(collector: Collector, wanted: number): Promise<void> {
  for (let tries = 0; tries < 1800; tries++) {
    if (lastSum(collector) >= wanted) return
    await pause(100)
  }
  throw new Error(`after three minutes the collector knows of ${lastSum(collector)} sign-ins, not of ${wanted}`)
}

function lastSum(collector: Collector): number {
  return pointsOf(collector, 'solhost_logins_total').at(-1)?.value ?? 0
}

/** Waits for the next export, which reports the dropped data. */
async function droppedPoints(collector: Collector): Promise<number> {
  await pause(INTERVAL * 2)
  const points = pointsOf(collector, 'solhost_telemetry_dropped_total')
  return points.filter(({ attributes }) => attributes.signal === 'metrics').at(-1)?.value ?? 0
}

function largestGap(times: readonly number[]): number {
  return Math.max(0, ...times.slice(1).map((time, at) => time - (times[at] ?? time)))
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
}

function count(text: string, part: string): number {
  return text.split(part).length - 1
}
