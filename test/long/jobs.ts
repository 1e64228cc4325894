import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { TestServer } from '../support/database-server.ts'
import { ADMIN, sharedProperties } from '../support/host-group.ts'
import { type HostProcess, startHostProcess } from '../support/host-process.ts'
import { ask } from '../support/http.ts'
import { mariadbPath, startMariadb } from '../support/mariadb-server.ts'
import { postgresPath, startPostgres } from '../support/postgres-server.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf } from '../support/zip.ts'
import type { Rows } from './report.ts'

const MINUTES = Number(process.env.LONG_MINUTES ?? 10)
/** The number of runs that are queued per minute. */
const PER_MINUTE = 50
/** The maximum time from the last kill until all runs have succeeded, in ms. */
const END_TIME = 180_000
/** How many calls a host runs at the same time. If the host is killed, each of these runs may be repeated. */
const AT_ONCE = Math.max(1, availableParallelism() - 1)

/** How long the database is down at the end, in ms. */
const DOWN = 120_000
const MINUTE = 60_000

const JOBS = {
  work: { function: 'work', atOnce: 10, attempts: 10 },
  minutely: { function: 'tick', schedule: '* * * * *', attempts: 10 },
}
const SCRIPT = `function tick() {}
function work(job) {
  for (const end = Date.now() + 300; Date.now() < end; );
  return job.attempt
}
function onSolutionOpen() {}`

type Kind = 'postgresql' | 'mariadb'
/** `every`: the time between two kills, in ms. */
type Options = { readonly properties: Record<string, string>; readonly every: number }

const KINDS = {
  postgresql: { kind: 'alpha', path: postgresPath, start: startPostgres, every: 20_000 },
  mariadb: { kind: 'gamma', path: mariadbPath, start: startMariadb, every: 120_000 },
} as const

/**
 * Starts two hosts with one database. Repeatedly kills one of them while runs of jobs are queued. Each run must
 * succeed, and only a few may be repeated. Then kills the database server. No scheduled run may be missed.
 */
export async function jobs(rows: Rows, only?: Kind): Promise<void> {
  for (const name of only === undefined ? (Object.keys(KINDS) as Kind[]) : [only]) {
    const { kind, path, start, every } = KINDS[name]
    if (path === undefined) throw new Error(`it takes ${name}`)
    const server = await start()
    try {
      await runHosts(rows, name, server, { properties: sharedProperties(kind, server), every })
    } finally {
      await server.stop()
    }
  }
}

async function runHosts(rows: Rows, name: Kind, server: TestServer, options: Options): Promise<void> {
  const { properties } = options
  const homes = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'solhost-jobs-')))
  const hosts: HostProcess[] = []
  try {
    for (const home of homes) hosts.push(await startHostProcess(home, { LOG_LEVEL: 'error', ...properties }))
    await upload(hosts[0] as HostProcess)
    await killedWhileQueuing(rows, name, hosts, { ...options, homes })
    await databaseDown(rows, name, hosts, server)
  } finally {
    for (const { child } of hosts) child.kill('SIGTERM')
    await Promise.all(hosts.map(({ gone }) => gone))
    for (const home of homes) rmSync(home, { recursive: true, force: true })
  }
}

async function killedWhileQueuing(
  rows: Rows,
  name: Kind,
  hosts: HostProcess[],
  { properties, every, homes }: Options & { readonly homes: readonly string[] },
): Promise<void> {
  const ids: string[] = []
  let kills = 0
  const begun = performance.now()

  /**
   * Calls `work` at each due time. If a call takes too long, the next one is late, but later due times don't change.
   */
  async function repeatEvery(interval: number, work: () => Promise<void>): Promise<void> {
    for (let due = interval; due < MINUTES * MINUTE; due += interval) {
      await wait(Math.max(0, begun + due - performance.now()))
      await work()
    }
  }

  await Promise.all([
    repeatEvery(MINUTE / PER_MINUTE, async () => {
      const id = await queue(hosts)
      if (id !== null) ids.push(id)
    }),
    repeatEvery(every, () => killAndStart(hosts, homes, kills++ % 2, properties)),
  ])
  const { unfinished, repeated, slowest } = await results(hosts, ids)
  rows.tell(`${name}: minutes`, MINUTES)
  rows.tell(`${name}: kill -9 of a host`, kills)
  rows.atLeast(`${name}: queued runs`, MINUTES * PER_MINUTE - kills - 1, ids.length)
  rows.atMost(`${name}: runs that did not succeed`, 0, unfinished)
  rows.atMost(`${name}: repeated attempts`, kills * AT_ONCE, repeated)
  rows.tell(`${name}: longest time from queuing to success, in s`, slowest / 1000)
}

/** Kills the database server, and starts it again after two minutes. */
async function databaseDown(
  rows: Rows,
  name: Kind,
  hosts: readonly HostProcess[],
  server: Pick<TestServer, 'kill' | 'restart'>,
): Promise<void> {
  await server.kill()
  await wait(DOWN)
  const stopped = hosts.filter(({ child }) => child.exitCode !== null || child.signalCode !== null).length
  await server.restart()
  const restarted = Date.now()
  const isLater = ({ state, scheduledFor }: Run) => state === 'succeeded' && scheduledFor > restarted
  const runs = await waitUntil(
    async () => {
      const found = await minutelyRuns(hosts)
      if (!found.some(isLater)) throw new Error('the schedule does not continue')
      return found
    },
    { timeout: END_TIME, interval: 1000 },
  )
  const [newest, oldest] = [runs[0] as Run, runs.at(-1) as Run]
  const due = (newest.scheduledFor - oldest.scheduledFor) / MINUTE + 1
  const handled = runs.reduce((sum, { missed }) => sum + 1 + missed, -oldest.missed)
  rows.tell(`${name}: due times from the start to the end`, due)
  rows.tell(`${name}: of these, counted as missed`, handled - runs.length)
  rows.atMost(`${name}: due times that were lost`, 0, Math.max(0, due - handled))
  const repeated = runs.length - new Set(runs.map(({ scheduledFor }) => scheduledFor)).size
  rows.atMost(`${name}: due times that were handled twice`, 0, repeated)
  rows.atMost(`${name}: hosts that stopped while the database was down`, 0, stopped)
}

/** The runs of the job with a schedule, newest first. */
async function minutelyRuns([host]: readonly HostProcess[]): Promise<Run[]> {
  const all: Run[] = []
  for (let before: string | null = ''; before !== null; ) {
    const url = `${host?.url}/admin/api/solutions/work/runs?job=minutely${before && `&before=${before}`}`
    const answer = await ask(url, { headers: { authorization: ADMIN } })
    const page = answer.json() as { items: Run[]; next: string | null }
    all.push(...page.items)
    before = page.next
  }
  return all
}

async function upload({ url }: HostProcess): Promise<void> {
  const manifest = { name: 'work', authenticator: 'NONE', jobs: JOBS }
  const { status, text } = await ask(`${url}/admin/api/solutions/work`, {
    method: 'PUT',
    headers: { authorization: ADMIN, 'content-type': 'application/zip' },
    body: await bundleOf(manifest, { 'globals.js': SCRIPT }),
  })
  if (status !== 201) throw new Error(`the solution was refused: ${text}`)
}

/**
 * Queues a run on a random host, or on the other one if the first is down.
 * @returns the run's id, or null if no host confirmed it
 */
async function queue(hosts: readonly HostProcess[]): Promise<string | null> {
  for (const { url } of Math.random() < 0.5 ? hosts : hosts.toReversed()) {
    try {
      const answer = await ask(`${url}/admin/api/solutions/work/jobs/work/run`, {
        method: 'POST',
        headers: { authorization: ADMIN },
      })
      if (answer.status === 202) return (answer.json() as { id: string }).id
    } catch {
      // The host was just killed.
    }
  }
  return null
}

async function killAndStart(
  hosts: HostProcess[],
  homes: readonly string[],
  index: number,
  properties: Record<string, string>,
): Promise<void> {
  const { child, gone } = hosts[index] as HostProcess
  child.kill('SIGKILL')
  await gone
  hosts[index] = await startHostProcess(homes[index] as string, { LOG_LEVEL: 'error', ...properties })
}

type Run = { readonly state: string; readonly scheduledFor: number; readonly missed: number }
type Result = { readonly state: string; readonly attempt: number; readonly createdAt: number; readonly endedAt: number }

async function results([host]: readonly HostProcess[], ids: readonly string[]) {
  const read = async (id: string) => {
    const answer = await ask(`${host?.url}/admin/api/solutions/work/runs/${id}`, { headers: { authorization: ADMIN } })
    return answer.json() as Result
  }
  const open = async () => {
    const states = await Promise.all(
      ['waiting', 'running'].map(async (state) => {
        const url = `${host?.url}/admin/api/solutions/work/runs?state=${state}`
        return ((await ask(url, { headers: { authorization: ADMIN } })).json() as { items: unknown[] }).items.length
      }),
    )
    if (states.some((count) => count > 0)) throw new Error('runs are still open')
  }
  await waitUntil(open, { timeout: END_TIME, interval: 1000 }).catch(() => {})
  const all: Result[] = []
  for (const id of ids) all.push(await read(id))
  const succeeded = all.filter(({ state }) => state === 'succeeded')
  return {
    unfinished: all.length - succeeded.length,
    repeated: all.reduce((sum, { attempt }) => sum + attempt - 1, 0),
    slowest: Math.max(0, ...succeeded.map(({ createdAt, endedAt }) => endedAt - createdAt)),
  }
}
