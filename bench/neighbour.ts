import { setPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../test/support/http.ts'
import { CREDENTIALS } from './login.ts'
import { openLoginPage, type RealHost, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { figure, percentile } from './rounds.ts'

/** The scripts that the malicious solutions run at each login. The third crashes V8, which terminates its process. */
const HOSTILE = {
  spins: 'for (;;);',
  allocates: "const kept = []; for (;;) kept.push({ n: kept.length, s: 'x' + kept.length })",
  crashes: "return String('ab'.repeat(1.5e8).split('').length)",
} as const
type Kind = keyof typeof HOSTILE

/** Number of malicious solutions per kind. */
type Numbers = Readonly<Record<Kind, number>>
/**
 * The load that docs/performance.md specifies. It drops over time, because the host pauses a solution whose processes
 * had to be killed three times.
 */
const ONE_OF_EACH: Numbers = { spins: 1, allocates: 1, crashes: 1 }
/**
 * More solutions than docs/performance.md specifies. When one is paused, the next one takes over. Every kind is
 * therefore always active.
 */
const EVER_NEW: Numbers = { spins: 4, allocates: 20, crashes: 30 }
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 4)
/** Duration of each of the two halves of a round, in ms. */
const HALF = 5000
/** Interval between the neighbour's logins in ms, whether or not the previous login got a response. */
const DUE_EVERY = 20

/** Number of responses per kind and status. */
type Ends = Record<Kind, Map<number, number>>
export type Login = { readonly milliseconds: number; readonly status: number }
export type Form = { readonly url: string; readonly headers: Record<string, string>; readonly body: string }

/**
 * Measures logins of a healthy solution, first alone and then while three malicious solutions run on the same host. The
 * host is a separate process with default settings. Each malicious solution always has a call running. A login's time
 * is measured from when it was due, so slow responses don't reduce the number of measurements. Percentiles are over the
 * logins of all rounds, since a median of rounds would hide the worst one. The client runs at a higher priority where
 * the system allows it. It represents browsers on other machines, which malicious scripts cannot slow down.
 */
export async function measureNeighbour(): Promise<Row[]> {
  const kinds = 'sign-ins while one solution loops, one allocates memory and one crashes'
  return [
    ...(await measureBeside(ONE_OF_EACH, kinds, 2)),
    ...(await measureBeside(EVER_NEW, `${kinds}; each paused solution is replaced by a new one`, null)),
  ]
}

/** @param atMost target for the latency ratios; null if there is none */
async function measureBeside(numbers: Numbers, work: string, atMost: number | null): Promise<Row[]> {
  const host = await startRealHost()
  try {
    await host.upload('good')
    for (const kind of Object.keys(HOSTILE) as Kind[]) await upload(host, kind, numbers)
    const good = await formOf(host, 'good')
    raisePriority()
    await logins(good, HALF / 2)
    const alone: Login[] = []
    const beside: Login[] = []
    const ends: Ends = { spins: new Map(), allocates: new Map(), crashes: new Map() }
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(...(await logins(good, HALF)))
      const hostility = startHostility(host, numbers, ends)
      beside.push(...(await logins(good, HALF)))
      await hostility.stop()
      // Before the next round, wait until any work left by the malicious calls has finished.
      await pause(1000)
    }
    return rowsOf({ work, atMost }, alone, beside, ends)
  } finally {
    lowerPriority()
    await host.stop()
  }
}

/** Sends the form at each due time for the duration `milliseconds`. Resolves with all responses. */
export async function logins(form: Form, milliseconds: number, dueEvery = DUE_EVERY): Promise<Login[]> {
  const start = performance.now()
  const running: Promise<Login>[] = []
  for (let due = start; due < start + milliseconds; due += dueEvery) {
    await pause(Math.max(0, due - performance.now()))
    running.push(login(form, due))
  }
  return Promise.all(running)
}

async function login({ url, headers, body }: Form, due: number): Promise<Login> {
  const { status } = await ask(url, { method: 'POST', headers, body }).catch(() => ({ status: 0 }))
  return { milliseconds: performance.now() - due, status }
}

/**
 * Starts one caller per kind of malicious solution. A caller sends the next call immediately after each response. When
 * its solution is paused, it switches to the next one of the same kind.
 */
function startHostility(host: RealHost, numbers: Numbers, ends: Ends) {
  let over = false
  const callers = (Object.keys(HOSTILE) as Kind[]).map(async (kind) => {
    const forms = await Promise.all(names(kind, numbers).map((name) => formOf(host, name)))
    for (let current = 0; !over; ) {
      const { status } = await login(forms[current] as Form, performance.now())
      ends[kind].set(status, (ends[kind].get(status) ?? 0) + 1)
      if (status !== 503) continue
      current = (current + 1) % forms.length
      // Without this pause, there would be a flood of requests once all solutions are paused.
      await pause(10)
    }
  })
  return {
    async stop() {
      over = true
      await Promise.all(callers)
    },
  }
}

function rowsOf(
  { work, atMost }: { readonly work: string; readonly atMost: number | null },
  alone: readonly Login[],
  beside: readonly Login[],
  ends: Ends,
): Row[] {
  const against = 'the same sign-ins without malicious solutions'
  const time = (logins: readonly Login[], percent: number) =>
    percentile(
      logins.map(({ milliseconds }) => milliseconds),
      percent,
    )
  const latency = (percent: number): Row => ({
    work: `p${percent} latency of ${work}`,
    against,
    reach: atMost === null ? null : { atMost },
    unit: 'ratio',
    measured: time(beside, percent) / time(alone, percent),
    details: `${figure(time(beside, percent))} ms : ${figure(time(alone, percent))} ms`,
  })
  const lost = beside.filter(({ status }) => status !== 303).length
  const calls = (kind: Kind) => {
    const paused = ends[kind].get(503) ?? 0
    return `${kind} ${[...ends[kind].values()].reduce((sum, count) => sum + count, 0) - paused}`
  }
  return [
    latency(50),
    latency(99),
    {
      work: `failed ${work}`,
      against,
      reach: { atMost: 0 },
      unit: 'logins',
      measured: lost,
      details: `${beside.length} sign-ins in total; malicious calls: ${(Object.keys(HOSTILE) as Kind[]).map(calls).join(', ')}`,
    },
  ]
}

function names(kind: Kind, numbers: Numbers): string[] {
  return Array.from({ length: numbers[kind] }, (_, number) => `${kind}-${number}`)
}

async function upload(host: RealHost, kind: Kind, numbers: Numbers): Promise<void> {
  for (const name of names(kind, numbers)) await host.upload(name, `function onSolutionOpen() { ${HOSTILE[kind]} }`)
}

export async function formOf(host: RealHost, solution: string): Promise<Form> {
  const { path, token, cookie } = await openLoginPage(host.url, solution)
  return {
    url: `${host.url}${path}`,
    headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded', cookie },
    body: new URLSearchParams({ csrf_token: token, ...CREDENTIALS }).toString(),
  }
}

function raisePriority(): void {
  try {
    setPriority(-10)
  } catch {
    // Raising the priority requires administrator privileges. Without them, the client runs at normal priority.
  }
}

function lowerPriority(): void {
  try {
    setPriority(0)
  } catch {
    // Ignore errors: without the higher priority, the measurement still works.
  }
}
