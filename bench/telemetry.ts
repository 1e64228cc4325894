import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { exchange, formRequest, open } from './form-load.ts'
import { openLoginPage, type RealHost, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { figure, median, ROUNDS } from './rounds.ts'

const SOLUTION = 'telemetry'
/** Logins per host and round, run sequentially. */
const LOGINS = 100

type Contestant = { readonly host: RealHost; readonly socket: Socket; readonly bytes: Buffer; readonly times: number[] }

/**
 * Compares login latency with and without telemetry. Full telemetry sends metrics, logs and the default share of traces
 * to a collector, and sets METRICS_PORT. Both hosts run throughout, and their logins alternate, so that disturbances
 * affect both.
 */
export async function measureTelemetry(): Promise<Row[]> {
  const collector = await startCollectorProcess()
  const off = await startRealHost()
  const on = await startRealHost({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    METRICS_PORT: '0',
    // Export more often than by default, so that exports happen during the run.
    OTEL_METRIC_EXPORT_INTERVAL: '5000',
  })
  try {
    const contestants = { off: await enter(off), on: await enter(on) }
    for (const one of Object.values(contestants)) {
      for (let login = 0; login < LOGINS; login++) await signIn(one)
      one.times.length = 0
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (let login = 0; login < LOGINS; login++) {
        const order = login % 2 === 0 ? [contestants.off, contestants.on] : [contestants.on, contestants.off]
        for (const one of order) await signIn(one)
      }
    }
    for (const { socket } of Object.values(contestants)) socket.destroy()
    const [slow, fast] = [median(contestants.on.times), median(contestants.off.times)]
    return [
      {
        work: 'median latency of a sign-in by form POST, with telemetry',
        against: 'telemetry off',
        reach: { atMost: 1.1 },
        unit: 'ratio',
        measured: slow / fast,
        details: `${figure(slow)} ms : ${figure(fast)} ms, ${await collector.count()} telemetry batches received`,
      },
    ]
  } finally {
    await Promise.all([on.stop(), off.stop()])
    collector.stop()
  }
}

async function enter(host: RealHost): Promise<Contestant> {
  await host.upload(SOLUTION)
  const target = await openLoginPage(host.url, SOLUTION)
  return { host, socket: await open(target.port), bytes: formRequest(target), times: [] }
}

async function signIn({ socket, bytes, times }: Contestant): Promise<void> {
  const begun = performance.now()
  const answer = await exchange(socket, bytes)
  times.push(performance.now() - begun)
  if (!answer.startsWith('HTTP/1.1 303 ')) throw new Error(`a login failed: ${answer.slice(0, 300)}`)
}

/** A separate process, so that its work is attributed neither to the host nor to the client. */
async function startCollectorProcess() {
  const child = fork(fileURLToPath(new URL('collector-process.ts', import.meta.url)))
  const end = () => void child.kill()
  process.once('exit', end)
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  return {
    url,
    async count(): Promise<number> {
      child.send('count')
      const [{ count }] = (await once(child, 'message')) as [{ count: number }]
      return count
    },
    stop() {
      process.off('exit', end)
      end()
    },
  }
}
