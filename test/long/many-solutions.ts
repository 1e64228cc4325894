import { setTimeout as pause } from 'node:timers/promises'
import { proportionalSize } from '../../runtime/process-memory.ts'
import { startWatchedHost, type WatchedHost } from './host-window.ts'
import { ANNA, exampleBundle, forEach, logIn } from './logins.ts'
import { sumOfSizes, watchMemory } from './processes.ts'
import { percentile, type Rows } from './report.ts'

const SOLUTIONS = Number(process.env.LONG_SOLUTIONS ?? 1000)
/**
 * Memory growth is measured only after this many uploads, because the first uploads load code that all later ones
 * share.
 */
const WARM_UP = SOLUTIONS / 10
const ACTIVE = 25
const ACTIVE_TIME = 15_000
/** The number of cold solutions to log in to sequentially, and the number to use afterwards, several at a time. */
const COLD = Math.min(100, SOLUTIONS / 10)
const WALKED = Math.min(300, SOLUTIONS / 2)
const MAXIMUM = 1024

/** Runs many solutions, some of them in use, within the configured memory. */
export async function manySolutions(rows: Rows): Promise<void> {
  const host = await startWatchedHost({ RUNTIME_XMX: `${MAXIMUM}m` })
  const names = Array.from({ length: SOLUTIONS }, (_, index) => `solution-${index + 1}`)
  const memory = watchMemory(host.pid)
  let stopped = false
  try {
    await uploadAll(rows, host, names)
    await useAtOnce(rows, host, names.slice(0, ACTIVE))
    await wakeOneByOne(rows, host, names.slice(ACTIVE, ACTIVE + COLD))
    await walkThrough(rows, host, names.slice(-WALKED))
    memory.stop()
    rows.tell('samples of the memory, one every 200 ms', memory.samples())
    rows.atMost('host and sandbox processes together, most, MB', MAXIMUM, memory.most())
    rows.atMost('the same as the sum of proportional sizes, every 2 s, most, MB', MAXIMUM, memory.mostSize())
    stopped = true
    rows.atMost('sandbox processes left after the host stopped', 0, await host.stop())
  } finally {
    memory.stop()
    if (!stopped) await host.stop()
  }
}

async function uploadAll(rows: Rows, host: WatchedHost, names: readonly string[]): Promise<void> {
  const start = performance.now()
  const times: number[] = []
  const upload = async (name: string) => {
    const bundle = await exampleBundle(name)
    const sent = performance.now()
    await host.upload(name, bundle)
    times.push(performance.now() - sent)
  }
  await forEach(names.slice(0, WARM_UP), 4, upload)
  const before = await held(host)
  await forEach(names.slice(WARM_UP), 4, upload)
  const seconds = (performance.now() - start) / 1000
  const after = await held(host)
  const each = (bytes: number) => bytes / 1024 / (names.length - WARM_UP)
  rows.tell('solutions uploaded and checked', names.length)
  rows.tell('uploads a second', names.length / seconds)
  rows.tell('an upload, four at once, median, ms', percentile(times, 50))
  rows.tell('the same, the longest, ms', percentile(times, 100))
  rows.tell('heap of the host per uploaded idle solution, KB', each(after.heap - before.heap))
  rows.atMost('host (PSS) per uploaded idle solution, KB', 50, each(after.size - before.size))
  rows.tell('host (PSS) after all uploads, MB', after.size / 1024 ** 2)
}

/** The host's memory in bytes, after garbage collection. Waits until freed memory has been returned to the system. */
async function held(host: WatchedHost): Promise<{ readonly heap: number; readonly size: number }> {
  let heap = 0
  const sizes: number[] = []
  for (let look = 0; look < 5; look++) {
    heap = await host.heap()
    await pause(2000)
    sizes.push(proportionalSize(host.pid))
  }
  return { heap, size: Math.min(...sizes) }
}

async function useAtOnce(rows: Rows, host: WatchedHost, names: readonly string[]): Promise<void> {
  const end = performance.now() + ACTIVE_TIME
  const serving: number[] = []
  let logins = 0
  while (performance.now() < end) {
    await forEach(names, 4, (name) => mustLogIn(host, name).then(() => void logins++))
    serving.push((await processesOf(host)).length)
  }
  rows.tell(`logins in ${ACTIVE} solutions in use at once`, logins)
  rows.tell('processes that served them at once, median', percentile(serving, 50))
}

/**
 * Logs in to cold solutions sequentially, while the memory is full of idle processes. For each, the host must stop the
 * process that has been idle longest.
 */
async function wakeOneByOne(rows: Rows, host: WatchedHost, names: readonly string[]): Promise<void> {
  const cold: number[] = []
  const warm: number[] = []
  let wrong = 0
  let retired = 0
  const order = await processesOf(host)
  // Uses the earlier solutions again, in a known order.
  for (const name of order) await mustLogIn(host, name)
  let before = await inOrder(host, order)
  for (const name of names) {
    cold.push(await mustLogIn(host, name))
    warm.push(await mustLogIn(host, name))
    await pause(300)
    order.push(name)
    const after = await inOrder(host, order)
    const gone = before.filter((one) => !after.includes(one))
    retired += gone.length
    if (gone.some((one) => before.indexOf(one) >= gone.length)) wrong++
    before = after
  }
  rows.tell('cold solutions woken one by one', cold.length)
  rows.atLeast('solutions retired for them', names.length / 2, retired)
  rows.atMost('times that not the longest idle ones were retired', 0, wrong)
  rows.tell('first login of a cold solution, median, ms', percentile(cold, 50))
  rows.tell('the same, p99, ms', percentile(cold, 99))
  rows.tell('its second login, median, ms', percentile(warm, 50))
}

async function walkThrough(rows: Rows, host: WatchedHost, names: readonly string[]): Promise<void> {
  const times: number[] = []
  const start = performance.now()
  for (let round = 0; round < 2; round++) {
    await forEach(names, 3, async (name) => void times.push(await mustLogIn(host, name)))
  }
  rows.tell(`logins, ${names.length} solutions twice in turn, three at once`, times.length)
  rows.tell('the same a second', (times.length * 1000) / (performance.now() - start))
  rows.tell('the same, median, ms', percentile(times, 50))
  rows.tell('the same, p99, ms', percentile(times, 99))
  rows.tell('host and sandbox processes together (PSS) at the end, MB', sumOfSizes(host.pid))
}

/** Logs in, and throws if this fails. @returns the time from submitting the form to the response, in ms */
async function mustLogIn(host: WatchedHost, name: string): Promise<number> {
  const { problem, milliseconds } = await logIn(host.url, name, ANNA)
  if (problem !== null) throw new Error(`a login of ${name} failed: ${problem}`)
  return milliseconds
}

/** @returns the names of the solutions that have a process */
async function processesOf(host: WatchedHost): Promise<string[]> {
  const keys = (await host.processes()).map(({ key }) => key?.split('@')[0])
  return [...new Set(keys.filter((name) => name !== undefined))]
}

async function inOrder(host: WatchedHost, order: readonly string[]): Promise<readonly string[]> {
  const serving = new Set(await processesOf(host))
  return order.filter((name) => serving.has(name))
}
