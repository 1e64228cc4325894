import { heapFlags } from '../../bin/heap-limit.js'
import { proportionalSize } from '../../runtime/process-memory.ts'
import { startWatchedHost, type WatchedHost } from './host-window.ts'
import { type LoginEnd, logIn, scriptBundle } from './logins.ts'
import { childrenOf, isSandboxProcess, openFiles } from './processes.ts'
import { percentile, type Rows } from './report.ts'

const MINUTES = Number(process.env.SOAK_MINUTES ?? 30)
const LOGINS_PER_SECOND = 20
const SOLUTIONS = 20
const MAXIMUM = 1024
/** The highest allowed ratio between memory use in the last third of the run and in the second third. */
const MOST_GROWTH = 1.05
/** The interval between measurements, in ms. A measurement blocks this process for 4 ms per measured process. */
const LOOK_EVERY = 2000
/**
 * The number of windows into which each third of the run is divided. Memory use varies with garbage collection, so only
 * the lowest value in each window is used.
 */
const WINDOWS = 10
const MEGABYTE = 1024 ** 2

const QUIET = "function onSolutionOpen(arg, q) { security.login(q.username, 'u', ['Users']) }"
/** A script that allocates memory until the host terminates its process. */
const CRASHING = `function onSolutionOpen(arg, q) {
  const held = []
  for (;;) held.push(new Array(100000).fill(q.username))
}`
const CRASHING_NAME = 'crashing'

type Login = LoginEnd & { readonly solution: string; readonly at: number }
/**
 * One measurement. Sizes are in MB. `files` is the host's number of open files; `sandboxFiles` is the average per
 * sandbox process.
 */
type Look = {
  readonly at: number
  readonly host: number
  readonly sandboxes: number
  readonly files: number
  readonly sandboxFiles: number
  readonly processes: number
}

/**
 * Signs users in for a long time, while one solution's scripts repeatedly crash their process. Users of other solutions
 * must not be affected, and memory use must not grow.
 */
export async function soak(rows: Rows): Promise<void> {
  const properties = { RUNTIME_XMX: `${MAXIMUM}m` }
  const host = await startWatchedHost({ ...properties, NODE_OPTIONS: heapFlags(properties).join(' ') })
  let stopped = false
  try {
    const names = Array.from({ length: SOLUTIONS - 1 }, (_, index) => `solution-${index + 1}`)
    for (const name of names) await host.upload(name, await scriptBundle(name, QUIET))
    await host.upload(CRASHING_NAME, await scriptBundle(CRASHING_NAME, CRASHING))
    const { logins, looks, heaps } = await signInFor(host, [...names, CRASHING_NAME], MINUTES * 60_000)
    tellLogins(rows, logins)
    tellLooks(rows, looks)
    rows.tell(
      'heap of the host without garbage, at the end of each third, MB',
      heaps.map((one) => one.toFixed(1)).join(', '),
    )
    stopped = true
    rows.atMost('sandbox processes left after the host stopped', 0, await host.stop())
  } finally {
    if (!stopped) await host.stop()
  }
}

/** Starts a fixed number of logins per second, even if earlier ones have not finished. Cycles through the solutions. */
async function signInFor(host: WatchedHost, names: readonly string[], time: number) {
  const logins: Login[] = []
  const looks: Look[] = []
  const running = new Set<Promise<void>>()
  const begin = performance.now()
  const since = () => performance.now() - begin
  const looking = setInterval(() => looks.push(lookAt(host.pid, since())), LOOK_EVERY)
  const heaps: number[] = []
  let asked = 0
  let sent = 0
  while (since() < time && !host.hasEnded()) {
    if (since() > ((asked + 1) * time) / 3 - LOOK_EVERY) {
      asked++
      void host.heap().then((bytes) => heaps.push(bytes / MEGABYTE))
    }
    while (sent < (since() / 1000) * LOGINS_PER_SECOND) {
      const one = signIn(names[sent++ % names.length] as string).finally(() => running.delete(one))
      running.add(one)
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  clearInterval(looking)
  await Promise.all(running)
  if (host.hasEnded()) throw new Error(`the host ended: ${host.output().slice(-2000)}`)
  return { logins, looks, heaps }

  async function signIn(solution: string): Promise<void> {
    const at = since()
    logins.push({ ...(await logIn(host.url, solution, { username: 'anna', password: 'p' })), solution, at })
  }
}

function lookAt(host: number, at: number): Look {
  const processes = childrenOf(host).filter(isSandboxProcess)
  const files = processes.map(filesOf)
  return {
    at,
    host: proportionalSize(host) / MEGABYTE,
    sandboxes: processes.reduce((sum, pid) => sum + proportionalSize(pid), 0) / MEGABYTE,
    files: openFiles(host),
    sandboxFiles: files.reduce((sum, one) => sum + one, 0) / Math.max(1, files.length),
    processes: processes.length,
  }
}

/** Returns how many files a process has open, or 0 if it has just exited. */
function filesOf(pid: number): number {
  try {
    return openFiles(pid)
  } catch {
    return 0
  }
}

function tellLogins(rows: Rows, logins: readonly Login[]): void {
  const others = logins.filter(({ solution }) => solution !== CRASHING_NAME)
  const crashing = logins.filter(({ solution }) => solution === CRASHING_NAME)
  const lost = others.filter(({ problem }) => problem !== null)
  const times = others.flatMap(({ milliseconds, problem }) => (problem === null ? [milliseconds] : []))
  rows.tell('minutes', MINUTES)
  rows.tell('logins', logins.length)
  rows.atLeast('logins a second', LOGINS_PER_SECOND * 0.95, logins.length / (MINUTES * 60))
  rows.atMost('failed logins of the solutions that do not crash', 0, lost.length)
  for (const problem of new Set(lost.map((one) => one.problem))) {
    rows.tell(`of them: ${problem}`, lost.filter((one) => one.problem === problem).length)
  }
  rows.tell('logins of the crashing solution', crashing.length)
  rows.tell('of them ended by its script', crashing.filter(({ problem }) => problem === 'form 401').length)
  const paused = crashing.filter(({ problem }) => problem === 'form 503')
  rows.tell('of them refused while it was paused', paused.length)
  rows.atMost('of these without Retry-After', 0, paused.filter(({ retryAfter }) => retryAfter === undefined).length)
  rows.tell('login, median, ms', percentile(times, 50))
  rows.tell('login, p99, ms', percentile(times, 99))
}

function tellLooks(rows: Rows, looks: readonly Look[]): void {
  const end = MINUTES * 60_000
  const third = (number: number) => looks.filter(({ at }) => at >= (end * (number - 1)) / 3 && at < (end * number) / 3)
  const [second, last] = [third(2), third(3)]
  const floorsOf = (figureOf: (look: Look) => number) => [
    median(floors(second, figureOf)),
    median(floors(last, figureOf)),
  ]
  rows.tell('looks at the memory', looks.length)
  rows.atMost('host and sandbox processes together (PSS), most, MB', MAXIMUM, Math.max(...looks.map(sumOf)))
  for (const [what, figureOf] of [
    ['host and sandbox processes (PSS)', sumOf],
    ['host (PSS)', ({ host }: Look) => host],
    ['sandbox processes (PSS)', ({ sandboxes }: Look) => sandboxes],
  ] as const) {
    const [before = 0, after = 0] = floorsOf(figureOf)
    rows.tell(`${what}: second third, last third, MB`, `${before.toFixed(1)}, ${after.toFixed(1)}`)
    rows.atMost(`${what}: last third in hundredths of the second`, MOST_GROWTH * 100, (after / before) * 100)
  }
  for (const [what, figureOf] of [
    ['open files of the host', ({ files }: Look) => files],
    ['open files of a sandbox process', ({ sandboxFiles }: Look) => sandboxFiles],
    ['sandbox processes', ({ processes }: Look) => processes],
  ] as const) {
    const [before = 0, after = 0] = floorsOf(figureOf)
    rows.tell(`${what}, second third`, before)
    rows.atMost(`${what}, last third more`, 2, after - before)
  }
}

function sumOf({ host, sandboxes }: Look): number {
  return host + sandboxes
}

/** Divides the measurements into windows, and returns the lowest value in each window. */
function floors(looks: readonly Look[], figureOf: (look: Look) => number): number[] {
  const size = Math.max(1, Math.ceil(looks.length / WINDOWS))
  const windows = Array.from({ length: Math.ceil(looks.length / size) }, (_, index) =>
    looks.slice(index * size, (index + 1) * size),
  )
  return windows.map((window) => Math.min(...window.map(figureOf)))
}

function median(values: readonly number[]): number {
  return percentile(values, 50)
}
