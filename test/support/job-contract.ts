import { randomUUID } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import type { HostDatabase } from '../../host/database/tables.ts'
import { createDatabaseRuns } from '../../host/jobs/database-runs.ts'
import { type AttemptEnd, type ClaimedRun, LEASE_TIME, type NewRun, WaitingTooMany } from '../../host/jobs/job-runs.ts'
import { createJobWorker, type JobWorker, type JobWorkerParts } from '../../host/jobs/job-worker.ts'
import { createPauses } from '../../host/jobs/pauses.ts'
import { createSchedules } from '../../host/jobs/schedules.ts'
import { createLimits } from '../../runtime/limits.ts'

const SUCCEEDED = { kind: 'succeeded', result: '1', queued: [] } as const satisfies AttemptEnd
const limits = createLimits({ JOBS_WAITING: 50, JOBS_AT_ONCE: 2 })
type Declared = { readonly schedule?: string; readonly timeZone?: string; readonly missed?: 'once' | 'skip' } & {
  readonly attempts?: number
  readonly atOnce?: number
}

/**
 * Adds tests of job runs. They must pass with every kind of database.
 * @param open returns a database that contains the host's tables
 */
export function testJobs(name: string, open: () => HostDatabase): void {
  let time = Date.parse('2026-06-01T10:00:00Z')
  const now = () => time
  let count = 0
  const workers: JobWorker[] = []
  // Stop each test's workers. `settled` doesn't wait for a worker's last query for due runs. Without the stop, the
  // worker might find the next test's runs, and cancel them because it doesn't have their solution.
  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.stop()
  })

  function lab(jobs: Record<string, Declared> = { mail: {} }) {
    const db = open()
    const solution = `shop-${++count}`
    const runs = createDatabaseRuns(db, limits, now)
    const pauses = createPauses(db, now)
    const logged: string[] = []
    const declared = Object.fromEntries(
      Object.entries(jobs).map(([job, given]) => [
        job,
        { function: 'run', schedule: null, timeZone: null, missed: 'once', attempts: 3, atOnce: 1, ...given },
      ]),
    )
    const active = {
      facts: { sha256: `sha ${count}` },
      name: solution,
      modules: [],
      manifest: { modules: [], loginSolution: null, jobs: declared },
    }
    let version: unknown = active
    const catalog = {
      active: async (asked: string) => (asked === solution ? version : null),
    } as unknown as JobWorkerParts['catalog']
    /**
     * Creates one host's scheduler.
     * @param ahead how far this host's clock is ahead of the others, in ms
     */
    const schedules = (ahead = 0, versions = catalog) =>
      createSchedules({
        ...{ db, catalog: versions, runs, pauses, timeZone: 'Etc/UTC', now: () => time + ahead },
        solutionLog: { write: (_solution, { message }) => void logged.push(message) },
      })

    function run(more: Partial<NewRun> = {}): NewRun {
      const id = randomUUID()
      return { id, solution, job: 'mail', data: '{"to":"anna"}', key: null, tenant: null, dueAt: time, ...more }
    }

    async function add(more: Partial<NewRun> = {}): Promise<string> {
      const added = run(more)
      await runs.add([added])
      return added.id
    }

    function worker(runJob: JobWorkerParts['runJob'], more: Partial<JobWorkerParts> = {}): JobWorker {
      const created = createJobWorker({
        limits,
        catalog,
        runs,
        schedules: schedules(),
        pauses,
        runJob,
        mayStart: async () => true,
        solutionLog: { write: () => {} },
        log: { error: () => {} },
        now,
        atOnce: 10,
        ...more,
      })
      workers.push(created)
      return created
    }

    async function insertSolution(): Promise<void> {
      const row = { name: solution, active_sha256: active.facts.sha256, created_at: 0, deleted_at: null }
      await db.insertInto('solutions').values(row).execute()
    }

    const stateOf = async (id: string) => (await runs.find(solution, id))?.state
    const remove = () => {
      version = null
    }
    return { db, solution, runs, pauses, catalog, schedules, logged, run, add, worker, insertSolution, stateOf, remove }
  }

  const claimed = async (claim: Promise<ClaimedRun | null>): Promise<ClaimedRun> => {
    const run = await claim
    if (run === null) throw new Error('no run was claimed')
    return run
  }

  test(`${name}: a run waits until it is due, runs once, and its data is erased when it succeeds`, async () => {
    const { runs, solution, add } = lab()
    const id = await add({ dueAt: time + 1000, tenant: ['acme', 7] })
    expect(await runs.claim(solution, 'mail', 1)).toBeNull()
    time += 1000
    const run = await claimed(runs.claim(solution, 'mail', 1))
    expect([run.id, run.attempt, run.data, run.tenant]).toEqual([id, 1, '{"to":"anna"}', ['acme', 7]])
    expect(await runs.claim(solution, 'mail', 5)).toBeNull()
    expect(await runs.end(run, SUCCEEDED)).toBe(true)
    const ended = await runs.find(solution, id)
    expect(ended).toMatchObject({ state: 'succeeded', data: null, result: '1', attempt: 1, endedAt: time })
    expect(await runs.end(run, SUCCEEDED)).toBe(false)
  })

  test(`${name}: at most atOnce runs of a job are running, also if hosts start them at the same time`, async () => {
    const { runs, solution, add, db } = lab()
    for (let index = 0; index < 8; index++) await add()
    const others = [runs, ...[1, 2, 3].map(() => createDatabaseRuns(db, limits, now))]
    const started = (await Promise.all(others.map((one) => one.claim(solution, 'mail', 2)))).filter(
      (run) => run !== null,
    )
    for (let more = await runs.claim(solution, 'mail', 2); more !== null; ) {
      started.push(more)
      more = await runs.claim(solution, 'mail', 2)
    }
    expect(new Set(started.map(({ id }) => id)).size).toBe(2)
    expect(started).toHaveLength(2)
    await runs.end(started[0] as ClaimedRun, SUCCEEDED)
    expect(await runs.claim(solution, 'mail', 2)).not.toBeNull()
  })

  test(`${name}: while a run with the same key waits, runs or has succeeded recently, nothing is added`, async () => {
    const { runs, solution, add, stateOf, run: made } = lab({ mail: {}, other: {} })
    const first = await add({ key: 'delivery 1' })
    await Promise.all([1, 2, 3, 4].map(() => add({ key: 'delivery 1' })))
    expect(await runs.list(solution, {}, 10)).toHaveLength(1)
    await add({ key: 'delivery 1', job: 'other' })
    expect(await runs.list(solution, {}, 10)).toHaveLength(2)
    const run = await claimed(runs.claim(solution, 'mail', 1))
    await add({ key: 'delivery 1' })
    await runs.end(run, SUCCEEDED)
    time += limits.JOB_KEY - 1
    await add({ key: 'delivery 1' })
    expect([await stateOf(first), (await runs.list(solution, { job: 'mail' }, 10)).length]).toEqual(['succeeded', 1])
    time += 2
    const later = made({ key: 'delivery 1' })
    await runs.add([later])
    expect(await stateOf(later.id)).toBe('waiting')
    await runs.cancel(solution, later.id)
    const last = await add({ key: 'delivery 1' })
    expect(await stateOf(last)).toBe('waiting')
  })

  test(`${name}: a solution can't have more waiting runs than JOBS_WAITING; then none of the call's runs is added`, async () => {
    const { runs, solution, run } = lab()
    await runs.add(Array.from({ length: 49 }, () => run()))
    await expect(runs.add([run(), run()])).rejects.toThrow(WaitingTooMany)
    expect(await runs.list(solution, {}, 100)).toHaveLength(49)
    await runs.add([run()])
  })

  test(`${name}: a run whose host was lost starts again; a late result counts for nothing`, async () => {
    const { runs, solution, add, stateOf } = lab()
    const id = await add()
    const first = await claimed(runs.claim(solution, 'mail', 1))
    time += LEASE_TIME - 1
    expect(await runs.renew(first)).toBe('renewed')
    time += LEASE_TIME
    await runs.loseExpired(async () => 3)
    expect(await stateOf(id)).toBe('running')
    time += 1
    expect(await runs.loseExpired(async () => 3)).toEqual([])
    const second = await claimed(runs.claim(solution, 'mail', 1))
    expect([second.id, second.attempt, second.failure?.code]).toEqual([id, 2, 'host_lost'])
    expect([await runs.renew(first), await runs.end(first, SUCCEEDED)]).toEqual(['lost', false])
    time += LEASE_TIME + 1
    const failed = await runs.loseExpired(async () => 2)
    expect([failed.map((run) => run.id), await stateOf(id)]).toEqual([[id], 'failed'])
  })

  test(`${name}: a returned attempt doesn't count`, async () => {
    const { runs, solution, add } = lab()
    await add()
    const first = await claimed(runs.claim(solution, 'mail', 1))
    await runs.end(first, { kind: 'returned', dueAt: time })
    expect((await claimed(runs.claim(solution, 'mail', 1))).attempt).toBe(1)
  })

  test(`${name}: what a job queues is stored together with its result, or not at all`, async () => {
    const { runs, solution, add, run, stateOf } = lab()
    const id = await add()
    const started = await claimed(runs.claim(solution, 'mail', 1))
    const queued = Array.from({ length: 51 }, () => run())
    await expect(runs.end(started, { ...SUCCEEDED, queued })).rejects.toThrow(WaitingTooMany)
    expect([await stateOf(id), (await runs.list(solution, {}, 100)).length]).toEqual(['running', 1])
    await runs.end(started, { ...SUCCEEDED, queued: queued.slice(0, 2) })
    expect([await stateOf(id), (await runs.list(solution, {}, 100)).length]).toEqual(['succeeded', 3])
  })

  test(`${name}: waiting and running runs can be cancelled, and failed ones run again`, async () => {
    const { runs, solution, add, stateOf } = lab()
    const waiting = await add()
    expect([await runs.cancel(solution, waiting), await stateOf(waiting)]).toEqual(['waiting', 'cancelled'])
    expect(await runs.cancel('elsewhere', waiting)).toBeNull()
    expect([await runs.cancel(solution, waiting), await runs.cancel(solution, randomUUID())]).toEqual([
      'cancelled',
      null,
    ])
    expect([await runs.again(solution, waiting), await stateOf(waiting)]).toEqual(['cancelled', 'waiting'])
    const run = await claimed(runs.claim(solution, 'mail', 1))
    expect([await runs.cancel(solution, run.id), await runs.renew(run)]).toEqual(['running', 'cancelled'])
    await runs.end(run, { kind: 'failed', failure: { code: 'script_error', message: 'no' }, retryAt: time })
    expect(await stateOf(run.id)).toBe('cancelled')
    await runs.again(solution, run.id)
    const again = await claimed(runs.claim(solution, 'mail', 1))
    expect(again.attempt).toBe(1)
    await runs.end(again, SUCCEEDED)
    expect(await runs.again(solution, run.id)).toBe('succeeded')
  })

  test(`${name}: a paused solution holds back runs only while it has a schedule or unfinished runs`, async () => {
    const { runs, solution, pauses, add, insertSolution } = lab()
    await insertSolution()
    await pauses.set(solution, true)
    expect(await pauses.holding()).not.toContain(solution)
    await add()
    expect(await pauses.holding()).toContain(solution)
    await runs.end(await claimed(runs.claim(solution, 'mail', 1)), SUCCEEDED)
    expect(await pauses.holding()).not.toContain(solution)
  })

  test(`${name}: runs are listed newest first, in pages, and deleted after JOB_KEPT`, async () => {
    const { runs, solution, add } = lab({ mail: {}, other: {} })
    const ids: string[] = []
    for (let index = 0; index < 5; index++) {
      time += 1
      ids.unshift(await add({ job: index === 2 ? 'other' : 'mail' }))
    }
    const first = await runs.list(solution, {}, 3)
    const rest = await runs.list(solution, { before: first.at(-1)?.id }, 3)
    expect([...first, ...rest].map(({ id }) => id)).toEqual(ids)
    expect((await runs.list(solution, { job: 'other' }, 9)).map(({ id }) => id)).toEqual([ids[2]])
    await runs.cancel(solution, ids[4] as string)
    expect((await runs.list(solution, { state: 'cancelled' }, 9)).map(({ id }) => id)).toEqual([ids[4]])
    time += limits.JOB_KEPT + 1
    await runs.sweep()
    expect((await runs.list(solution, {}, 9)).map(({ id }) => id)).toEqual(ids.slice(0, 4))
  })

  test(`${name}: a solution keeps at most JOB_RECORDS ended runs, and the newest are kept; open runs do not count`, async () => {
    const { db, solution, run, worker } = lab()
    const runs = createDatabaseRuns(db, createLimits({ JOB_RECORDS: 40 }), now)
    const ids: string[] = []
    const endOne = async () => {
      time += 1
      const one = run()
      await runs.add([one])
      ids.unshift(one.id)
      await runs.end(await claimed(runs.claim(solution, 'mail', 2)), SUCCEEDED)
    }
    const waiting = Array.from({ length: 3 }, () => run({ dueAt: time + 3_600_000 }))
    await runs.add(waiting)
    for (let count = 1; count < 100; count++) await endOne()
    await runs.trim()
    const ended = async () => (await runs.list(solution, { state: 'succeeded' }, 1000)).map(({ id }) => id)
    expect(await ended()).toEqual(ids)
    await endOne()
    await runs.trim()
    expect(await ended()).toEqual(ids.slice(0, 40))
    // `trim` does not count again after a few more runs, but `sweep` does.
    await endOne()
    await runs.trim()
    expect(await ended()).toEqual(ids.slice(0, 41))
    await runs.sweep()
    expect(await ended()).toEqual(ids.slice(0, 40))
    expect(await runs.list(solution, { state: 'waiting' }, 1000)).toHaveLength(waiting.length)
    // Hosts that delete at the same time don't delete more. A run that was added first may end last.
    await runs.add([run()])
    const late = await claimed(runs.claim(solution, 'mail', 2))
    for (let index = 0; index < 60; index++) await endOne()
    time += 1
    await runs.end(late, SUCCEEDED)
    const others = [1, 2].map(() => createDatabaseRuns(db, createLimits({ JOB_RECORDS: 40 }), now))
    await Promise.all([runs.sweep(), runs.trim(), ...others.map((other) => other.sweep())])
    expect((await ended()).toSorted()).toEqual([late.id, ...ids.slice(0, 39)].toSorted())
    let trims = 0
    await worker(async () => SUCCEEDED, { runs: { ...runs, trim: async () => void trims++ } }).work()
    expect(trims).toBe(1)
  })

  test(`${name}: two hosts and 200 due times give 200 runs, also if their clocks differ by 5 s`, async () => {
    const { runs, solution, schedules, insertSolution } = lab({ mail: { schedule: '* * * * *' } })
    await insertSolution()
    const hosts = [schedules(), schedules(5000)]
    const tick = () => Promise.all(hosts.map((host) => host.tick()))
    await tick()
    for (let minute = 0; minute < 200; minute++) {
      // At this time, only the host whose clock is ahead has reached the due time.
      time += 55_000
      await tick()
      time += 5000
      await tick()
      const run = await claimed(runs.claim(solution, 'mail', 1))
      await runs.end(run, SUCCEEDED)
    }
    const all = await runs.list(solution, {}, 1000)
    expect([all.length, new Set(all.map(({ scheduledFor }) => scheduledFor)).size]).toEqual([200, 200])
    expect(all.every(({ state, missed }) => state === 'succeeded' && missed === 0)).toBe(true)
  })

  test(`${name}: after a host's clock was ahead, schedules continue and waiting runs start`, async () => {
    const { runs, solution, schedules, insertSolution, logged } = lab({ mail: { schedule: '* * * * *' } })
    await insertSolution()
    const host = schedules()
    const runOf = async () => (await runs.claim(solution, 'mail', 1))?.scheduledFor ?? null
    await host.tick()
    time += 60_000
    await host.tick()
    await runs.end(await claimed(runs.claim(solution, 'mail', 1)), SUCCEEDED)
    const year = 365 * 86_400_000
    time += year
    await host.tick()
    time -= year
    for (const one of [host, schedules()]) {
      await one.tick()
      const run = await runs.claim(solution, 'mail', 1)
      // The first tick makes the run from the future due; the second one adds the run for the next minute.
      if (run !== null) await runs.end(run, SUCCEEDED)
      time += 60_000
    }
    await host.tick()
    expect(await runOf()).toBe(time - (time % 60_000))
    expect(logged).toEqual([expect.stringContaining('The schedule of the job "mail" continues from now.')])
  })

  test(`${name}: if a solution's schedules can't be handled, those of other solutions are`, async () => {
    const first = lab({ mail: { schedule: '* * * * *' } })
    const second = lab({ mail: { schedule: '* * * * *' } })
    for (const { insertSolution } of [first, second]) await insertSolution()
    const fail = first.solution
    const catalog = {
      active: async (asked: string) => {
        if (asked === fail) throw new Error('the version could not be read')
        return second.catalog.active(asked)
      },
    } as unknown as JobWorkerParts['catalog']
    const host = second.schedules(0, catalog)
    for (let minute = 0; minute < 2; minute++) {
      await expect(host.tick()).rejects.toThrow('the version could not be read')
      time += 60_000
    }
    expect(await second.runs.list(second.solution, {}, 9)).toHaveLength(1)
  })

  test(`${name}: while the previous run hasn't ended, a due time is recorded as skipped`, async () => {
    const { runs, solution, schedules, insertSolution } = lab({ mail: { schedule: '* * * * *' } })
    await insertSolution()
    const host = schedules()
    await host.tick()
    for (let minute = 0; minute < 2; minute++) {
      time += 60_000
      await host.tick()
    }
    expect((await runs.list(solution, {}, 9)).map(({ state }) => state)).toEqual(['skipped', 'waiting'])
  })

  test(`${name}: missed due times give one run that counts the others, or none`, async () => {
    const { runs, solution, schedules, insertSolution, pauses } = lab({
      mail: { schedule: '0 * * * *' },
      other: { schedule: '0 * * * *', missed: 'skip' },
    })
    await insertSolution()
    await schedules().tick()
    expect(await pauses.holding()).not.toContain(solution)
    await pauses.set(solution, true)
    expect(await pauses.holding()).toContain(solution)
    time += 5 * 3_600_000 + 600_000
    await schedules().tick()
    expect(await runs.list(solution, {}, 9)).toEqual([])
    await pauses.set(solution, false)
    expect(await pauses.holding()).not.toContain(solution)
    await schedules().tick()
    expect((await runs.list(solution, {}, 9)).map(({ job, missed }) => [job, missed])).toEqual([['mail', 4]])
    await schedules().tick()
    expect(await runs.list(solution, {}, 9)).toHaveLength(1)
  })

  test(`${name}: when the clock is set forward or back, a nightly job runs once, and a quarter-hourly job continues`, async () => {
    const timeZone = 'Europe/Brussels'
    const changes = [
      ['2026-03-28T23:00:00Z', '2026-03-29T01:00:00Z'],
      ['2026-10-24T22:00:00Z', '2026-10-25T00:30:00Z'],
    ] as const
    for (const [midnight, due] of changes) {
      const { runs, solution, schedules, insertSolution } = lab({
        mail: { schedule: '30 2 * * *', timeZone },
        other: { schedule: '*/15 * * * *', timeZone },
      })
      time = Date.parse(midnight)
      await insertSolution()
      const host = schedules()
      await host.tick()
      for (let minute = 0; minute < 6 * 60; minute += 5) {
        time += 5 * 60_000
        await host.tick()
        for (const job of ['mail', 'other']) {
          const run = await runs.claim(solution, job, 1)
          if (run !== null) await runs.end(run, SUCCEEDED)
        }
      }
      const all = await runs.list(solution, {}, 100)
      const timesOf = (job: string) => all.filter((run) => run.job === job).map(({ scheduledFor }) => scheduledFor)
      expect(timesOf('mail')).toEqual([Date.parse(due)])
      const quarters = Array.from({ length: 24 }, (_, index) => Date.parse(midnight) + (index + 1) * 15 * 60_000)
      expect(timesOf('other')).toEqual(quarters.toReversed())
      expect(all.every(({ state, missed }) => state === 'succeeded' && missed === 0)).toBe(true)
    }
    time = Date.parse('2026-11-01T10:00:00Z')
  })

  test(`${name}: after a week without a host, 1,000 missed due times are counted and the newest one runs`, async () => {
    const { runs, solution, schedules, insertSolution } = lab({ mail: { schedule: '* * * * *' } })
    await insertSolution()
    await schedules().tick()
    time += 7 * 86_400_000
    let turns = 0
    const counting = setInterval(() => turns++, 1)
    await schedules().tick()
    clearInterval(counting)
    const [run] = await runs.list(solution, {}, 9)
    expect(run).toMatchObject({ job: 'mail', missed: 999, scheduledFor: time - (time % 60_000) })
    // The timer fired many times in the meantime, so the event loop was not blocked.
    expect(turns).toBeGreaterThan(10)
  })

  test(`${name}: a worker runs what is due, retries failures, and reports the last one`, async () => {
    const { runs, solution, add, worker, stateOf } = lab({ mail: { attempts: 2 } })
    const failures: string[] = []
    const host = worker(
      async ({ attempt }) => {
        const retryAt = attempt < 2 ? time + 30_000 : null
        return { kind: 'failed', failure: { code: 'script_error', message: 'no mail server' }, retryAt }
      },
      {
        failed: (run) => {
          if (run.solution === solution) failures.push(`${run.id} ${run.failure?.code}`)
        },
      },
    )
    const id = await add()
    await host.work()
    await host.settled()
    expect([await stateOf(id), (await runs.find(solution, id))?.failure?.message]).toEqual([
      'waiting',
      'no mail server',
    ])
    time += 29_999
    await host.work()
    await host.settled()
    expect(await stateOf(id)).toBe('waiting')
    time += 1
    await host.work()
    await host.settled()
    expect([await stateOf(id), failures]).toEqual(['failed', [`${id} script_error`]])
  })

  test(`${name}: a stopping worker returns its runs; a paused or deleted solution's runs don't start`, async () => {
    const { solution, add, worker, stateOf, pauses, remove, runs } = lab()
    const id = await add()
    const begun = Promise.withResolvers<void>()
    const host = worker(async (_run, signal) => {
      begun.resolve()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return SUCCEEDED
    })
    await host.work()
    await begun.promise
    await host.stop()
    expect([await stateOf(id), (await runs.find(solution, id))?.attempt]).toEqual(['waiting', 0])
    await pauses.set(solution, true)
    const other = worker(async () => SUCCEEDED)
    await other.work()
    await other.settled()
    expect(await stateOf(id)).toBe('waiting')
    await pauses.set(solution, false)
    remove()
    await other.work()
    expect(await stateOf(id)).toBe('cancelled')
  })

  test(`${name}: a run that is cancelled while it runs is killed at the next renewal`, async () => {
    const { solution, add, worker, stateOf, runs } = lab()
    const id = await add()
    const host = worker(async (_run, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return SUCCEEDED
    })
    await host.work()
    await runs.cancel(solution, id)
    await host.renew()
    await host.settled()
    expect(await stateOf(id)).toBe('cancelled')
  })

  test(`${name}: a job with many runs doesn't keep the solution's other jobs waiting`, async () => {
    const { solution, add, worker, runs } = lab({ mail: { atOnce: 10 }, other: {} })
    for (let index = 0; index < 6; index++) await add()
    const last = await add({ job: 'other', dueAt: time })
    const started: string[] = []
    const host = worker(async ({ id }) => {
      started.push(id)
      return SUCCEEDED
    })
    await host.work()
    await host.settled()
    await expect.poll(async () => (await runs.list(solution, { state: 'succeeded' }, 10)).length).toBe(7)
    await host.settled()
    expect(started.indexOf(last)).toBeLessThanOrEqual(3)
  })
  test(`${name}: a solution with many runs doesn't keep other solutions waiting`, async () => {
    const many = lab({ mail: { atOnce: 10 } })
    const few = lab()
    for (let index = 0; index < 6; index++) await many.add({ dueAt: time - 1000 })
    const last = await few.add({ dueAt: time })
    const started: string[] = []
    const catalogs = [many.catalog, few.catalog]
    const host = many.worker(
      async ({ id }) => {
        started.push(id)
        return SUCCEEDED
      },
      {
        atOnce: 1,
        catalog: {
          active: async (solution) =>
            (await Promise.all(catalogs.map((catalog) => catalog.active(solution)))).find((one) => one !== null) ??
            null,
        },
      },
    )
    await host.work()
    await expect.poll(() => started.length).toBe(7)
    await host.settled()
    expect(started.indexOf(last)).toBeLessThanOrEqual(1)
  })
}
