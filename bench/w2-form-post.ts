import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cpuTimeOfTree } from './cpu-time.ts'
import { type FormTarget, postForms } from './form-load.ts'
import { HOOK } from './login.ts'
import { openLoginPage, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { figure, median, ROUNDS } from './rounds.ts'
import { type Program, startProgram } from './start-program.ts'
import { loginWorker, startWorkerd } from './workerd.ts'

const SOLUTION = 'w2'
const HARDENED = 'w2-hardened'
/** Duration of each contestant's turn in a round, in ms. An extra turn before the first round is not counted. */
const TURN = 1500

/** Number of concurrent connections to the workerd that runs the smallest login. */
const LEAN_CONNECTIONS = 16

type Served = {
  readonly pid: number
  readonly target: FormTarget
  readonly connections: number | undefined
  readonly rates: number[]
  readonly cpu: number[]
}

/**
 * Measurement W2: the login hook, called by a form POST over HTTP. In each round, the contestants take turns. They get
 * the same bytes from the same client. They respond with 303, the same headers, and new session and login cookies.
 * - The host: a separate process with default settings. It checks the hidden token and runs the hook in fresh globals in
 *   its sandbox processes. Before it responds, it stores the session in its database and syncs that to disk.
 * - workerd: one process that runs the hook in one global scope. It reads the form and the cookie, runs the hook, and
 *   stores the session in memory. It verifies no token and writes nothing, so it does less work than the host.
 * - workerd with the smallest login: the session is a signed cookie, and there are no other headers.
 * - A plain function: the host's own app, sessions and database (`plain-host.ts`). A function in the host process
 *   replaces `run-entry.ts` and everything that it calls.
 */
export async function measureFormPosts(): Promise<Row[]> {
  const host = await startRealHost()
  const stops: (() => unknown)[] = [host.stop]
  try {
    await host.upload(SOLUTION)
    await host.upload(HARDENED, HOOK, 'hardened')
    const target = await openLoginPage(host.url, SOLUTION)
    const hardened = await openLoginPage(host.url, HARDENED)
    const workerd = await startWorkerd()
    stops.push(workerd.stop)
    const lean = await startWorkerd(loginWorker('workerd-lean.js'))
    stops.push(lean.stop)
    // The page's token is valid for the plain host too, since it has a copy of the folder, and therefore the same key.
    const plain = await startPlainHost(host.home)
    stops.push(plain.stop)
    const served = {
      host: servedBy(host.pid, target),
      workerd: servedBy(workerd.pid, { ...target, port: workerd.port }),
      lean: servedBy(lean.pid, { ...target, port: lean.port }, LEAN_CONNECTIONS),
      hostToLean: servedBy(host.pid, target, LEAN_CONNECTIONS),
      hardened: servedBy(host.pid, hardened, LEAN_CONNECTIONS),
      plain: servedBy(plain.pid, { ...target, port: plain.port }),
    }
    for (const one of Object.values(served)) await postForms(one.target, TURN, one.connections)
    for (let round = 0; round < ROUNDS; round++) for (const one of Object.values(served)) await serve(one)
    return rowsOf(served, workerd.version)
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

function servedBy(pid: number, target: FormTarget, connections?: number): Served {
  return { pid, target, connections, rates: [], cpu: [] }
}

async function serve({ pid, target, connections, rates, cpu }: Served): Promise<void> {
  const before = cpuTimeOfTree(pid)
  const { logins, seconds } = await postForms(target, TURN, connections)
  cpu.push((cpuTimeOfTree(pid) - before) / logins)
  rates.push(logins / seconds)
}

function rowsOf(
  served: Record<'host' | 'workerd' | 'lean' | 'hostToLean' | 'hardened' | 'plain', Served>,
  version: string,
): Row[] {
  const { host, workerd, lean, hostToLean, hardened, plain } = served
  const againstLean = (realm: string, goal: number, { rates }: Served): Row => ({
    work: `throughput of sign-ins by form POST (W2), ${realm}, ${LEAN_CONNECTIONS} browsers`,
    against: `workerd ${version} with a minimal login: one shared global scope, a signed cookie`,
    reach: { atLeast: goal },
    unit: 'ratio',
    measured: median(rates) / median(lean.rates),
    details: `${figure(median(rates))} : ${figure(median(lean.rates))} logins/s`,
  })
  return [
    againstLean('hardened realm', 0.4, hardened),
    againstLean('fresh globals', 0.2, hostToLean),
    {
      work: 'throughput of sign-ins by form POST (W2), fresh globals',
      against: `workerd ${version}, one shared global scope`,
      reach: { atLeast: 0.3 },
      unit: 'ratio',
      measured: median(host.rates) / median(workerd.rates),
      details: `${figure(median(host.rates))} : ${figure(median(workerd.rates))} logins/s (plain function ${figure(median(plain.rates))})`,
    },
    {
      work: 'CPU time per sign-in by form POST (W2), host and sandbox processes',
      against: 'the same Koa app, with a plain function instead of a sandbox',
      reach: { atMost: 5 },
      unit: 'ratio',
      measured: median(host.cpu) / median(plain.cpu),
      details: `${figure(median(host.cpu))} ms : ${figure(median(plain.cpu))} ms (workerd ${figure(median(workerd.cpu))} ms)`,
    },
  ]
}

async function startPlainHost(homeToCopy: string): Promise<Program> {
  const home = mkdtempSync(join(tmpdir(), 'solhost-plain-'))
  // The folder can be copied now because nothing writes to it: the upload is complete, and no login has been sent.
  cpSync(homeToCopy, home, { recursive: true })
  const program = await startProgram('plain-host.ts', [home])
  return {
    ...program,
    async stop() {
      await program.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}
