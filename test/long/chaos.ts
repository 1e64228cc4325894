import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { proportionalSize } from '../../runtime/process-memory.ts'
import { startWatchedHost, type WatchedHost } from './host-window.ts'
import { type LoginEnd, logIn, scriptBundle } from './logins.ts'
import { childrenOf, openFiles } from './processes.ts'
import { percentile, type Rows } from './report.ts'

const KILLS = Number(process.env.LONG_KILLS ?? 200)
const LOGINS_PER_SECOND = 50
/**
 * The average time between two kills, in ms. The actual time is random, from half to one and a half times this value.
 */
const KILL_EVERY = 400
const WARM_UP = 15_000
/** The number of logins that may fail because their process happens to be killed again during the retry. */
const TWICE_KILLED = 2

/**
 * The number of solutions of each kind. Logins of the kind `quick` do no extra work. With `asks`, they send a request
 * without side effects; with `changes`, one with side effects. Each request takes 100 ms.
 */
const KINDS = { quick: 8, asks: 4, changes: 2 } as const
type Kind = keyof typeof KINDS

const SCRIPTS: Readonly<Record<Kind, string>> = {
  quick: "function onSolutionOpen(arg, q) { security.login(q.username, 'u', ['Users']) }",
  asks: "async function onSolutionOpen(arg, q) { await waits.ask(); security.login(q.username, 'u', ['Users']) }",
  changes: "async function onSolutionOpen(arg, q) { await waits.change(); security.login(q.username, 'u', ['Users']) }",
}

type Login = LoginEnd & { readonly solution: string; readonly start: number; readonly end: number }
/** `solution` is null for a spare process, or for one that is being prepared. */
type Kill = { readonly at: number; readonly solution: string | null; readonly calls: number }
type Rest = { readonly heap: number; readonly size: number; readonly files: number; readonly processes: number }

/**
 * Kills random sandbox processes while users of all solutions sign in. A login may only fail because of its own
 * solution's process. Afterwards, no process may be left behind, and the host may not use more memory than before.
 */
export async function chaos(rows: Rows): Promise<void> {
  const host = await startWatchedHost({ SANDBOX_IDLE: '5s' }, (home) => {
    cpSync(fileURLToPath(new URL('../support/waits', import.meta.url)), join(home, 'plugins', 'waits'), {
      recursive: true,
    })
  })
  let stopped = false
  try {
    const solutions = await uploadAll(host)
    const traffic = startTraffic(host.url, solutions)
    await pause(WARM_UP)
    await traffic.stop()
    const before = await atRest(host)

    const chaotic = startTraffic(host.url, solutions)
    const kills = await killAtRandom(host)
    const logins = await chaotic.stop()
    const states = await Promise.all(solutions.map(async (name) => (await host.shown(name)).state))
    const after = await atRest(host)
    const unknown = unknownTo(await host.processes(), childrenOf(host.pid))
    stopped = true
    const left = await host.stop()

    tellLogins(rows, logins, kills)
    rows.tell('solutions that are paused when the kills end', count(states, 'quarantined'))
    rows.atMost('sandbox processes that the host does not know of, at the end', 0, unknown)
    rows.atMost('sandbox processes left after the host stopped', 0, left)
    rows.atMost('sandbox processes at rest, more than before the kills', 3, after.processes - before.processes)
    rows.atMost('open files of the host at rest, more than before', 6, after.files - before.files)
    rows.atMost('heap of the host at rest, more than before, MB', 5, megabytes(after.heap - before.heap))
    rows.tell('host (PSS) at rest before the kills, MB', megabytes(before.size))
    rows.atMost('host (PSS) at rest, more than before, MB', 40, megabytes(after.size - before.size))
  } finally {
    if (!stopped) await host.stop()
  }
}

async function uploadAll(host: WatchedHost): Promise<string[]> {
  const names: string[] = []
  for (const [kind, howMany] of Object.entries(KINDS) as [Kind, number][]) {
    for (let one = 1; one <= howMany; one++) {
      const name = `${kind}-${one}`
      await host.upload(name, await scriptBundle(name, SCRIPTS[kind]))
      names.push(name)
    }
  }
  return names
}

/**
 * Starts a fixed number of logins per second, even if earlier logins have not finished. The logins cycle through the
 * solutions.
 */
function startTraffic(url: string, solutions: readonly string[]) {
  const logins: Promise<Login>[] = []
  const begin = performance.now()
  const timer = setInterval(() => {
    const due = ((performance.now() - begin) / 1000) * LOGINS_PER_SECOND
    while (logins.length < due) logins.push(one(solutions[logins.length % solutions.length] as string))
  }, 10)

  async function one(solution: string): Promise<Login> {
    const start = performance.now()
    const end = await logIn(url, solution, { username: 'anna', password: 'p' })
    return { ...end, solution, start, end: performance.now() }
  }

  return {
    async stop(): Promise<readonly Login[]> {
      clearInterval(timer)
      return Promise.all(logins)
    },
  }
}

async function killAtRandom(host: WatchedHost): Promise<readonly Kill[]> {
  const kills: Kill[] = []
  while (kills.length < KILLS) {
    await pause(KILL_EVERY * (0.5 + Math.random()))
    const living = childrenOf(host.pid)
    const victim = living[Math.floor(Math.random() * living.length)]
    if (victim === undefined) continue
    const at = performance.now()
    const seen = await host.kill(victim)
    kills.push({ at, solution: seen?.key?.split('@')[0] ?? null, calls: seen?.calls ?? 0 })
  }
  // Also wait for the last logins.
  await pause(2000)
  return kills
}

/**
 * Adds the results for all logins to the table. A failed login is explained if its solution's process was killed during
 * the login, or if the solution was paused because of the kill.
 */
function tellLogins(rows: Rows, logins: readonly Login[], kills: readonly Kill[]): void {
  const lost = logins.filter(({ problem }) => problem !== null)
  const hit = (login: Login) =>
    kills.some(({ at, solution }) => solution === login.solution && at >= login.start - 5 && at <= login.end)
  const interrupted = lost.filter((login) => login.problem === 'form 401' && hit(login))
  const wereKilled = new Set(kills.map(({ solution }) => solution))
  const paused = lost.filter(({ problem, solution }) => problem === 'form 503' && wereKilled.has(solution))
  const others = lost.filter((login) => !interrupted.includes(login) && !paused.includes(login))
  const busy = kills.filter(({ calls }) => calls > 0)
  const ofKind = (list: readonly { readonly solution: string }[], kind: Kind) =>
    list.filter(({ solution }) => solution.startsWith(kind)).length
  const seconds = ((logins.at(-1)?.start ?? 0) - (logins[0]?.start ?? 0)) / 1000
  const bystanders = kills.map(
    ({ at, solution }) => logins.filter((one) => one.solution !== solution && one.start <= at && at <= one.end).length,
  )

  rows.tell('kills of processes that served a solution', kills.filter(({ solution }) => solution !== null).length)
  rows.tell('kills of spares and of processes on their way', kills.filter(({ solution }) => solution === null).length)
  rows.tell('kills that met running calls', busy.length)
  rows.tell('logins', logins.length)
  rows.atLeast('logins a second', LOGINS_PER_SECOND * 0.9, logins.length / seconds)
  rows.tell(
    'logins of other solutions under way, sum over all kills',
    bystanders.reduce((sum, one) => sum + one, 0),
  )
  rows.atMost('logins lost without a kill of their solution', 0, others.length)
  for (const problem of new Set(others.map((one) => one.problem)))
    rows.tell(`of them: ${problem}`, count(others, problem))
  rows.atMost('logins interrupted by the kill of their own solution’s process', busy.length, interrupted.length)
  // These logins are retried once, so they fail only if their process is killed a second time.
  const again = ofKind(interrupted, 'quick') + ofKind(interrupted, 'asks')
  rows.atMost('of them: in scripts that change nothing', TWICE_KILLED, again)
  rows.tell('of them: in scripts that change something', ofKind(interrupted, 'changes'))
  rows.atMost('logins refused by a pause of their solution (503), since no script was at fault', 0, paused.length)
  rows.tell('login of scripts that ask nothing, median, ms', percentile(times(logins), 50))
  rows.tell('the same, p99, ms', percentile(times(logins), 99))

  function count(list: readonly Login[], problem: string | null): number {
    return list.filter((one) => one.problem === problem).length
  }
}

async function atRest(host: WatchedHost): Promise<Rest> {
  await host.untilAtRest()
  const heap = await host.heap()
  return {
    heap,
    size: proportionalSize(host.pid),
    files: openFiles(host.pid),
    processes: childrenOf(host.pid).length,
  }
}

function unknownTo(known: readonly { readonly pid: number }[], living: readonly number[]): number {
  return living.filter((pid) => !known.some((one) => one.pid === pid)).length
}

function times(logins: readonly Login[]): number[] {
  const asked = logins.filter(({ solution, problem }) => problem === null && solution.startsWith('quick'))
  return asked.map(({ milliseconds }) => milliseconds)
}

function count(list: readonly string[], wanted: string): number {
  return list.filter((one) => one === wanted).length
}

function megabytes(bytes: number): number {
  return bytes / 1024 ** 2
}
