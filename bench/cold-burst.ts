import { cpuTimeOfTree } from './cpu-time.ts'
import { exchange, formRequest, open } from './form-load.ts'
import { HOOK } from './login.ts'
import { openLoginPage, type RealHost, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { figure, median, percentile } from './rounds.ts'

const SOLUTIONS = Number(process.env.BENCH_SOLUTIONS ?? 100)
const AT_ONCE = 4

type StartHost = typeof startRealHost
type Burst = { readonly rate: number; readonly cpu: number; readonly times: readonly number[]; readonly upload: number }

/**
 * Measures the first sign-in to each of many solutions that no process has loaded, 4 at a time. Also measures the time
 * from an upload until its version is active. If `BENCH_BEFORE=<folder>` is a checkout of another commit with its
 * packages, also measures the host in that folder.
 */
export async function measureColdBurst(): Promise<Row[]> {
  const folder = process.env.BENCH_BEFORE
  const before = folder === undefined ? null : await measureOn(await hostOf(folder))
  const now = await measureOn(startRealHost)
  const against = before === null ? '-' : 'the commit checked out in the folder BENCH_BEFORE'
  const facts = ({ rate, cpu, times }: Burst) =>
    `${figure(rate)} sign-ins per second, ${figure(cpu)} ms of CPU time each, p50 ${figure(median(times))} ms, p99 ${figure(percentile(times, 99))} ms`
  return [
    {
      work: `first sign-in to each of ${SOLUTIONS} cold solutions, ${AT_ONCE} at a time`,
      against,
      reach: before === null ? null : { atLeast: 3 },
      unit: before === null ? 'logins' : 'ratio',
      measured: before === null ? now.rate : now.rate / before.rate,
      details: before === null ? facts(now) : `${facts(now)} : ${facts(before)}`,
    },
    {
      work: 'time from uploading a script until its version is active',
      against: '-',
      reach: null,
      unit: 'ms',
      measured: now.upload,
      details: `${Math.round(HOOK.length / 1000)} kB per script, ${AT_ONCE} uploads at a time${before === null ? '' : `; the commit in BENCH_BEFORE: ${figure(before.upload)} ms`}`,
    },
  ]
}

async function hostOf(folder: string): Promise<StartHost> {
  const module = (await import(`${folder}/bench/real-host.ts`)) as { startRealHost: StartHost }
  return module.startRealHost
}

async function measureOn(start: StartHost): Promise<Burst> {
  const host = await start()
  try {
    const names = Array.from({ length: SOLUTIONS }, (_, n) => `cold-${n + 1}`)
    const uploads = await eachOf(names, (name) => host.upload(name, `${HOOK}\n// ${name}`))
    const requests = await loginRequests(host, names)
    const cpu = cpuTimeOfTree(host.pid)
    const begun = performance.now()
    const times = await eachOf(requests, (bytes) => signIn(host, bytes))
    const seconds = (performance.now() - begun) / 1000
    return {
      rate: SOLUTIONS / seconds,
      cpu: (cpuTimeOfTree(host.pid) - cpu) / SOLUTIONS,
      times,
      upload: median(uploads),
    }
  } finally {
    await host.stop()
  }
}

async function loginRequests(host: RealHost, names: readonly string[]): Promise<Buffer[]> {
  const requests: Buffer[] = []
  for (const name of names) requests.push(formRequest(await openLoginPage(host.url, name)))
  return requests
}

async function signIn(host: RealHost, bytes: Buffer): Promise<void> {
  const socket = await open(Number(new URL(host.url).port))
  const answer = await exchange(socket, bytes)
  socket.destroy()
  if (!answer.startsWith('HTTP/1.1 303 ')) throw new Error(`a sign-in failed: ${answer.slice(0, 300)}`)
}

/** Runs `work` for each item, with several runs at a time. @returns the duration for each item, in ms */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<number[]> {
  const left = items.values()
  const times: number[] = []
  async function some(): Promise<void> {
    for (const item of left) {
      const start = performance.now()
      await work(item)
      times.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, some))
  return times
}
