import { once } from 'node:events'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { moduleFile } from '../test/support/zip.ts'
import { HOOK } from './login.ts'
import { type Form, formOf, type Login, logins } from './neighbour.ts'
import { type RealHost, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { figure, percentile } from './rounds.ts'
import { statusOf } from './status-of.ts'
import { startWorkerd } from './workerd.ts'

/** The function that both the endpoint and workerd run. */
const HANDLER = `function answer(request) {
  const { name } = request.params
  return { text: 'Hello ' + name, length: name.length }
}`
const ENDPOINTS = {
  'GET /greeting/{name}': { function: 'answer', authentication: 'none' },
  'GET /crashes': { function: 'crashes', authentication: 'none' },
}
/** Users also sign in to the solution with the endpoint, because a crashing endpoint could affect sign-ins. */
const SCRIPT = `${HANDLER}
function crashes() { return String('ab'.repeat(1.5e8).split('').length) }`
const SOLUTIONS = { fresh: 'called', hardened: 'called-hardened' } as const
const WORKER = `${HANDLER}
addEventListener('fetch', (event) => {
  const name = decodeURIComponent(new URL(event.request.url).pathname.split('/').at(-1))
  event.respondWith(Response.json(answer({ params: { name } })))
})`
/** Duration of each of the two halves of a round, in ms. */
const HALF = Number(process.env.BENCH_HALF ?? 5000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
/** Duration of the flood in ms. */
const FLOOD = Number(process.env.BENCH_FLOOD ?? 60_000)
/**
 * Interval between the sign-ins of each solution during the flood, in ms. At this interval, the two solutions together
 * get as many sign-ins as in the other measurements.
 */
const FLOOD_DUE = 40
/** Number of concurrent requests while the throughput is measured. */
const AT_ONCE = 8

/**
 * Measures an endpoint's throughput in both realms, compared with workerd. Also measures sign-ins to the same and to
 * another solution while requests to its endpoints arrive. The host has default settings, but requests per network are
 * limited only during the flood.
 */
export async function measureEndpoints(): Promise<Row[]> {
  const unlimited = { REQUESTS_NETWORK: '1000000000' }
  return [
    ...(await measureThroughput(unlimited)),
    ...(await measureBeside(unlimited, '/greeting/anna', 100, 'an endpoint receives 100 requests/s')),
    ...(await measureFlood('/greeting/anna', 2000)),
    ...(await measureBeside(unlimited, '/crashes', 5, 'an endpoint crashes its sandbox processes')),
  ]
}

async function startHost(environment: Record<string, string>): Promise<RealHost> {
  const host = await startRealHost(environment)
  for (const [realm, name] of Object.entries(SOLUTIONS)) {
    const manifest = { name, authenticator: 'AUTHENTICATOR', modules: ['auth'], endpoints: ENDPOINTS, realm }
    await host.uploadPlain(manifest, {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': HOOK,
      'globals.js': SCRIPT,
    })
  }
  return host
}

async function measureThroughput(environment: Record<string, string>): Promise<Row[]> {
  const host = await startHost(environment)
  const workerd = await startWorkerd(WORKER)
  try {
    const urlOf = (name: string) => `${host.url}/solution/${name}/api/greeting/anna`
    const contestants = {
      fresh: { url: urlOf(SOLUTIONS.fresh), rates: [] as number[] },
      hardened: { url: urlOf(SOLUTIONS.hardened), rates: [] as number[] },
      workerd: { url: `http://127.0.0.1:${workerd.port}/greeting/anna`, rates: [] as number[] },
    }
    for (const { url } of Object.values(contestants)) await rateOf(url, 1000)
    for (let round = 0; round < ROUNDS; round++) {
      for (const { url, rates } of Object.values(contestants)) rates.push(await rateOf(url, HALF))
    }
    const medianRate = ({ rates }: { readonly rates: readonly number[] }) => percentile(rates, 50)
    const row = (realm: keyof typeof SOLUTIONS, against: string, other: number): Row => {
      const mine = medianRate(contestants[realm])
      const work = `endpoint requests per second, ${realm} realm`
      const details = `${figure(mine)} : ${figure(other)} requests/s`
      return { work, against, reach: null, unit: 'ratio', measured: mine / other, details }
    }
    const ofWorkerd = `the same function in workerd ${workerd.version}, in one shared scope`
    return [
      row('fresh', ofWorkerd, medianRate(contestants.workerd)),
      row('hardened', ofWorkerd, medianRate(contestants.workerd)),
      row('hardened', 'the same endpoint in the fresh realm', medianRate(contestants.fresh)),
    ]
  } finally {
    await workerd.stop()
    await host.stop()
  }
}

/** Measures the requests per second with `AT_ONCE` concurrent requests. */
async function rateOf(url: string, milliseconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const end = performance.now() + milliseconds
  let count = 0
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (performance.now() < end) {
        const status = await statusOf(url, agent)
        if (status !== 200) throw new Error(`${url} returned HTTP ${status}`)
        count++
      }
    }),
  )
  agent.destroy()
  return (count * 1000) / milliseconds
}

/**
 * Measures sign-ins to the same solution, first alone and then while `perSecond` requests per second arrive. A request
 * is sent when it is due, even if earlier ones have no response yet.
 */
async function measureBeside(
  environment: Record<string, string>,
  path: string,
  perSecond: number,
  what: string,
): Promise<Row[]> {
  const host = await startHost(environment)
  try {
    const form = await formOf(host, SOLUTIONS.fresh)
    const url = `${host.url}/solution/${SOLUTIONS.fresh}/api${path}`
    await logins(form, HALF / 2)
    const [alone, beside]: [Login[], Login[]] = [[], []]
    const statuses = new Map<number, number>()
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(...(await logins(form, HALF)))
      const flood = startFlood(url, perSecond, statuses)
      beside.push(...(await logins(form, HALF)))
      await flood.stop()
      await pause(500)
    }
    return rowsOf({ whose: 'the solution', what, answers: answersOf(statuses) }, alone, beside)
  } finally {
    await host.stop()
  }
}

/**
 * Measures sign-ins to the flooded solution and to another one during a flood of `FLOOD` ms. Compares them with
 * sign-ins before and after the flood, for half that time each.
 */
async function measureFlood(path: string, perSecond: number): Promise<Row[]> {
  const host = await startHost({})
  try {
    await host.upload('another')
    const forms = [await formOf(host, 'another'), await formOf(host, SOLUTIONS.fresh)]
    await loginsOfAll(forms, HALF / 2)
    const before = await loginsOfAll(forms, FLOOD / 2)
    const statuses = new Map<number, number>()
    const flood = startFlood(`${host.url}/solution/${SOLUTIONS.fresh}/api${path}`, perSecond, statuses)
    const beside = await loginsOfAll(forms, FLOOD)
    await flood.stop()
    await pause(500)
    const after = await loginsOfAll(forms, FLOOD / 2)
    const what = `an endpoint receives ${perSecond.toLocaleString('en')} requests/s for ${FLOOD / 1000} s`
    return ['another solution', 'the same solution'].flatMap((whose, index) => {
      const alone = [...(before[index] ?? []), ...(after[index] ?? [])]
      return rowsOf({ whose, what, answers: answersOf(statuses) }, alone, beside[index] ?? [])
    })
  } finally {
    await host.stop()
  }
}

/**
 * Signs in to all solutions, at staggered times.
 * @returns the sign-ins, grouped by form
 */
function loginsOfAll(forms: readonly Form[], milliseconds: number): Promise<Login[][]> {
  return Promise.all(
    forms.map(async (form, index) => {
      await pause((index * FLOOD_DUE) / forms.length)
      return logins(form, milliseconds, FLOOD_DUE)
    }),
  )
}

function startFlood(url: string, perSecond: number, statuses: Map<number, number>) {
  const worker = new Worker(new URL('flood.ts', import.meta.url), { workerData: { url, perSecond } })
  return {
    async stop() {
      const ended = once(worker, 'message')
      worker.postMessage('stop')
      const [counts] = (await ended) as [ReadonlyMap<number, number>]
      for (const [status, count] of counts) statuses.set(status, (statuses.get(status) ?? 0) + count)
      await worker.terminate()
    },
  }
}

function answersOf(statuses: ReadonlyMap<number, number>): string {
  return [...statuses]
    .map(([status, count]) => (status === 0 ? `${count} without a response` : `${count} × HTTP ${status}`))
    .join(', ')
}

function rowsOf(
  { whose, what, answers }: { readonly whose: string; readonly what: string; readonly answers: string },
  alone: readonly Login[],
  beside: readonly Login[],
): Row[] {
  const against = 'the same sign-ins without endpoint requests'
  const p99 = (all: readonly Login[]) =>
    percentile(
      all.map(({ milliseconds }) => milliseconds),
      99,
    )
  const lost = beside.filter(({ status }) => status !== 303).length
  return [
    {
      work: `p99 latency of sign-ins to ${whose} while ${what}`,
      against,
      reach: { atMost: 2 },
      unit: 'ratio',
      measured: p99(beside) / p99(alone),
      details: `${figure(p99(beside))} ms : ${figure(p99(alone))} ms; ${answers}`,
    },
    {
      work: `failed sign-ins to ${whose} while ${what}`,
      against,
      reach: { atMost: 0 },
      unit: 'logins',
      measured: lost,
      details: `${beside.length} sign-ins in total`,
    },
  ]
}
