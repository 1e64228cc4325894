import { randomBytes } from 'node:crypto'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { heapFlags } from '../../bin/heap-limit.js'
import { memoryOf, proportionalSize, residentSize } from '../../runtime/process-memory.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'
import { startWatchedHost, until, type WatchedHost } from './host-window.ts'
import { forEach, type LoginEnd, logIn, scriptBundle } from './logins.ts'
import { type LimitedGroup, makeGroup } from './memory-group.ts'
import { childrenOf, isSandboxProcess } from './processes.ts'
import { percentile, type Rows } from './report.ts'

const MAXIMUM = Number(process.env.LONG_MAXIMUM ?? 512)
const SECONDS = Number(process.env.LONG_SECONDS ?? 60)
/** The number of quick logins, and of greedy logins, which use 48 MB for half a second. */
const QUICK = 28
const GREEDY = 12
const PEOPLE = 16
const UPLOADERS = 3
/** The size of an incompressible file in a bundle, in bytes. The host unpacks the bundle in memory. */
const MEDIA = 6 * 1024 ** 2
/**
 * The interval between measurements of the total memory, and how long the total may exceed the maximum, in ms. Near the
 * maximum, the host itself checks every 50 ms.
 */
const LOOK_EVERY = 25
const LONGEST_ABOVE = 250
const MEGABYTE = 1024 ** 2

const SCRIPTS = {
  quick: "function onSolutionOpen(arg, q) { security.login(q.username, 'u', ['Users']) }",
  greedy: `async function onSolutionOpen(arg, q) {
  const held = []
  for (let step = 0; step < 5; step++) {
    held.push(new Array(1200000).fill(step + 0.5))
    await waits.ask()
  }
  security.login(q.username, 'u', ['Users', String(held.length)])
}`,
} as const

/** Generous time limits and isolate sizes. Only the limit on total memory can cause failures. */
const PATIENT = {
  LOAD_TIME: '20s',
  CALL_TIME: '20s',
  AUTHENTICATOR_TIME: '30s',
  UPLOAD_CHECK_TIME: '60s',
  ISOLATE_MEMORY: '128m',
}

type Login = LoginEnd & { readonly solution: string }
type Uploaded = { readonly status: number; readonly retryAfter: string | undefined }

/**
 * Sends more requests of all kinds than the memory allows. The host must reject the excess with 503 and Retry-After,
 * and keep its total memory below RUNTIME_XMX. It must not crash, and must work normally afterwards. Then repeats the
 * test with a cgroup limit in place of RUNTIME_XMX.
 */
export async function memory(rows: Rows): Promise<void> {
  await loaded(rows, 'RUNTIME_XMX', { RUNTIME_XMX: `${MAXIMUM}m` }, null)
  const group = makeGroup(MAXIMUM * MEGABYTE)
  if (group === null) {
    rows.tell('in a control group with this limit', 'not run: this machine lets nobody make one')
    return
  }
  try {
    await loaded(rows, 'control group', { RUNTIME_XMX: '3g' }, group)
    rows.tell('control group: most that it counted, MB', group.most() / MEGABYTE)
    rows.atMost('control group: processes that the kernel killed', 0, group.killed())
  } finally {
    await group.remove()
  }
}

async function loaded(rows: Rows, what: string, properties: Record<string, string>, group: LimitedGroup | null) {
  const flags = heapFlags({ RUNTIME_XMX: `${MAXIMUM}m` }).join(' ')
  const plugin = fileURLToPath(new URL('../support/waits', import.meta.url))
  const host = await startWatchedHost(
    { ...properties, ...PATIENT, NODE_OPTIONS: flags },
    (home) => cpSync(plugin, join(home, 'plugins', 'waits'), { recursive: true }),
    group?.joining ?? [],
  )
  let stopped = false
  try {
    const names = await uploadAll(host)
    const watched = watch(host.pid)
    const end = performance.now() + SECONDS * 1000
    const [logins, uploads] = await Promise.all([signIn(host, names, end), upload(host, end)])
    watched.stop()
    if (host.hasEnded()) throw new Error(`the host ended: ${host.output().slice(-2000)}`)
    tellAnswers(rows, what, logins, uploads)
    rows.tell(`${what}: looks at the memory`, watched.count())
    rows.tell(`${what}: host and all its processes, most, MB`, watched.most())
    rows.tell(`${what}: the same by PSS, most, MB`, watched.mostSize())
    rows.tell(`${what}: resident size of the host, median and most, MB`, watched.hostSizes())
    rows.atMost(`${what}: above ${MAXIMUM} MB at a stretch, longest, ms`, LONGEST_ABOVE, watched.longestAbove())
    const left = new Set(names)
    await until('every solution to let its users in', async () => {
      await forEach([...left], 3, async (name) => {
        if ((await logIn(host.url, name, { username: 'anna', password: 'p' })).problem === null) left.delete(name)
      })
      return left.size === 0
    }).catch(() => {})
    rows.atMost(`${what}: solutions that serve nobody within a minute after it`, 0, left.size)
    stopped = true
    rows.atMost(`${what}: sandbox processes left after the host stopped`, 0, await host.stop())
  } finally {
    if (!stopped) await host.stop()
  }
}

async function uploadAll(host: WatchedHost): Promise<string[]> {
  const kinds = [...Array(QUICK).fill('quick'), ...Array(GREEDY).fill('greedy')] as (keyof typeof SCRIPTS)[]
  const names: string[] = []
  for (const [index, kind] of kinds.entries()) {
    const name = `${kind}-${index + 1}`
    await host.upload(name, await scriptBundle(name, SCRIPTS[kind]))
    names.push(name)
  }
  return names
}

async function signIn(host: WatchedHost, names: readonly string[], end: number): Promise<readonly Login[]> {
  const logins: Login[] = []
  let next = 0
  const person = async () => {
    while (performance.now() < end && !host.hasEnded()) {
      next += 7
      const solution = names[next % names.length] as string
      logins.push({ ...(await logIn(host.url, solution, { username: 'anna', password: 'p' })), solution })
    }
  }
  await Promise.all(Array.from({ length: PEOPLE }, person))
  return logins
}

async function upload(host: WatchedHost, end: number): Promise<readonly Uploaded[]> {
  const uploads: Uploaded[] = []
  const author = async (_: unknown, index: number) => {
    const name = `large-${index}`
    while (performance.now() < end && !host.hasEnded()) {
      const bundle = await bundleOf(
        { name, authenticator: 'AUTHENTICATOR', modules: ['auth'] },
        {
          ...moduleFile('auth', { type: 'authenticator' }),
          'modules/auth/globals.js': SCRIPTS.quick,
          'media/noise.txt': randomBytes(MEDIA / 2).toString('hex'),
        },
      )
      const { status, headers } = await host.tryUpload(name, bundle)
      uploads.push({ status, retryAfter: headers['retry-after'] })
    }
  }
  await Promise.all(Array.from({ length: UPLOADERS }, author))
  return uploads
}

function tellAnswers(rows: Rows, what: string, logins: readonly Login[], uploads: readonly Uploaded[]): void {
  const refused = logins.filter(({ problem }) => problem?.endsWith(' 503'))
  const odd = logins.filter((one) => one.problem !== null && !refused.includes(one))
  const well = logins.filter(({ problem }) => problem === null)
  const ofKind = (list: readonly Login[], kind: string) =>
    list.filter(({ solution }) => solution.startsWith(kind)).length
  rows.tell(
    `${what}: logins that went well, of quick and greedy solutions`,
    `${ofKind(well, 'quick')}, ${ofKind(well, 'greedy')}`,
  )
  rows.tell(`${what}: logins refused with 503, of both`, `${ofKind(refused, 'quick')}, ${ofKind(refused, 'greedy')}`)
  rows.atMost(
    `${what}: of them without Retry-After`,
    0,
    refused.filter(({ retryAfter }) => retryAfter === undefined).length,
  )
  rows.atMost(`${what}: logins that failed otherwise`, 0, odd.length)
  for (const problem of new Set(odd.map((one) => one.problem))) {
    rows.tell(`${what}: of them ${problem}`, odd.filter((one) => one.problem === problem).length)
  }
  rows.tell(
    `${what}: login, median, ms`,
    percentile(
      well.map(({ milliseconds }) => milliseconds),
      50,
    ),
  )
  const taken = uploads.filter(({ status }) => status === 200 || status === 201)
  const later = uploads.filter(({ status, retryAfter }) => status === 503 && retryAfter !== undefined)
  rows.tell(`${what}: uploads taken, refused with 503 and Retry-After`, `${taken.length}, ${later.length}`)
  rows.atMost(`${what}: uploads answered otherwise`, 0, uploads.length - taken.length - later.length)
}

function watch(host: number) {
  let longest = 0
  let above: number | null = null
  let most = 0
  let mostSize = 0
  let looks = 0
  const hostSizes: number[] = []
  const timer = setInterval(() => {
    // Skip a process that is just starting. For a few milliseconds, it shares the host's memory and has the host's
    // name.
    const pids = [host, ...childrenOf(host).filter(isSandboxProcess)]
    hostSizes.push(residentSize(host) / MEGABYTE)
    const all = pids.map(memoryOf)
    const sum = (all.reduce((held, { own }) => held + own, 0) + Math.max(...all.map(({ shared }) => shared))) / MEGABYTE
    most = Math.max(most, sum)
    if (++looks % 40 === 0)
      mostSize = Math.max(mostSize, pids.map(proportionalSize).reduce((a, b) => a + b, 0) / MEGABYTE)
    above = sum > MAXIMUM ? (above ?? performance.now()) : null
    if (above !== null) longest = Math.max(longest, performance.now() - above)
  }, LOOK_EVERY)
  return {
    count: () => looks,
    most: () => most,
    mostSize: () => mostSize,
    hostSizes: () => `${Math.round(percentile(hostSizes, 50))}, ${Math.round(Math.max(...hostSizes))}`,
    longestAbove: () => longest,
    stop: () => clearInterval(timer),
  }
}
