import { setImmediate } from 'node:timers/promises'
import { jobsOf } from '../../base/bundles/job-table.ts'
import { insertOnce } from '../../base/database/portable.ts'
import { timeOrderedId } from '../../base/database/time-ordered-id.ts'
import { createNews } from '../../base/work/news.ts'
import type { JobDeclaration } from '../../runtime/bundle/job-schema.ts'
import { createSchedule, type Schedule } from '../../runtime/bundle/schedule.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'
import type { JobRuns } from './job-runs.ts'
import type { Pauses } from './pauses.ts'

/** Adds a run at each due time of jobs that have a schedule. */
export interface Schedules {
  /**
   * Handles the due times in all solutions since any host last called this.
   * @throws the first error, after it has handled all other solutions
   */
  tick(): Promise<void>
  /** Returns a job's next due times; empty if it has no schedule. */
  next(declaration: JobDeclaration, count: number): readonly number[]
}

export type SchedulesParts = {
  readonly db: HostDatabase
  readonly catalog: Pick<Catalog, 'active'>
  readonly runs: Pick<JobRuns, 'addDue' | 'bringForward'>
  readonly pauses: Pick<Pauses, 'paused'>
  readonly solutionLog: Pick<SolutionLog, 'write'>
  /** `TIMEZONE`. */
  readonly timeZone: string
  /** Epoch ms. */
  readonly now: () => number
}

type ScheduledJob = {
  readonly name: string
  readonly schedule: Schedule
  /** The schedule and its time zone. If either changes, due times before the change are ignored. */
  readonly text: string
  readonly missed: JobDeclaration['missed']
}
type Known = { readonly sha256: string; readonly jobs: readonly ScheduledJob[] }

/** A due time is missed if it is more than this long ago, in ms. */
const LATE = 60_000
/** How far the clocks of hosts may differ, in ms. If a due time was handled later than that, a clock was wrong. */
const MOST_AHEAD = 60_000
/** A host whose clock stays ahead causes a warning per job only this often, in ms. */
const WARNED_AGAIN = 3_600_000
/** Maximum number of missed due times to count. */
const MOST_MISSED = 1000
/** How many due times to compute before other requests get a turn. Computing one takes about 0.1 ms. */
const DUE_AT_ONCE = 20
const DAY = 86_400_000

export function createSchedules(parts: SchedulesParts): Schedules {
  const { db, catalog, runs, pauses, solutionLog, timeZone, now } = parts
  /** The scheduled jobs of active versions, by solution. */
  const known = new Map<string, Known>()
  /**
   * Each job's next due time, and when this host computed it; by solution, job and schedule. It is valid unless the
   * clock has been set back since.
   */
  const expected = new Map<string, { readonly due: number; readonly at: number }>()
  const isNews = createNews(now, WARNED_AGAIN)

  function scheduled(declaration: JobDeclaration): Schedule | null {
    const { schedule, timeZone: own } = declaration
    return schedule === null ? null : createSchedule(schedule, own ?? timeZone)
  }

  async function jobsOfActive(name: string, sha256: string): Promise<readonly ScheduledJob[]> {
    const before = known.get(name)
    if (before?.sha256 === sha256) return before.jobs
    const solution = await catalog.active(name)
    if (solution === null) return []
    const jobs = jobsOf(solution).flatMap(({ name: job, declaration }) => {
      const schedule = scheduled(declaration)
      const text = `${declaration.schedule} ${declaration.timeZone ?? timeZone}`
      return schedule === null ? [] : [{ name: job, schedule, text, missed: declaration.missed }]
    })
    await forgetOthers(name, jobs)
    known.set(name, { sha256: solution.facts.sha256, jobs })
    return jobs
  }

  /**
   * Deletes the stored times of jobs that the solution no longer declares. If it declares a job again later, the due
   * times in between are ignored.
   */
  async function forgetOthers(solution: string, jobs: readonly ScheduledJob[]): Promise<void> {
    const rows = await db.selectFrom('job_schedules').select('job').where('solution', '=', solution).execute()
    for (const { job } of rows) {
      if (jobs.some(({ name }) => name === job)) continue
      await db.deleteFrom('job_schedules').where('solution', '=', solution).where('job', '=', job).execute()
    }
  }

  /** Returns the time up to which a host has handled the job's due times; null if none has. */
  async function checkedUntil(solution: string, job: ScheduledJob): Promise<number | null> {
    const { name, text } = job
    const row = await db
      .selectFrom('job_schedules')
      .select(['schedule', 'checked_until'])
      .where('solution', '=', solution)
      .where('job', '=', name)
      .executeTakeFirst()
    const time = now()
    const isOfSchedule = row?.schedule === text
    const isAhead = isOfSchedule && Number(row.checked_until) > time + MOST_AHEAD
    if (isOfSchedule && !isAhead) return Number(row.checked_until)
    if (isAhead) await correctClock(solution, name, time)
    const fresh = { schedule: text, checked_until: time }
    if (row === undefined) await insertOnce(db, 'job_schedules', { solution, job: name, ...fresh })
    else {
      await db
        .updateTable('job_schedules')
        .set(fresh)
        .where('solution', '=', solution)
        .where('job', '=', name)
        .where('checked_until', '=', row.checked_until)
        .execute()
    }
    return null
  }

  /**
   * Called if a host handled due times in the future, because its clock was ahead. Without this, the job would not run
   * again before that time.
   */
  async function correctClock(solution: string, job: string, time: number): Promise<void> {
    await runs.bringForward(solution, job, time + MOST_AHEAD)
    if (!isNews(`${solution} ${job}`)) return
    solutionLog.write(solution, {
      level: 'warn',
      message: `a host’s clock was ahead, so it handled due times in the future. The schedule of the job "${job}" continues from now. Synchronize the clocks of all hosts.`,
    })
  }

  async function handle(solution: string, job: ScheduledJob): Promise<void> {
    const place = `${solution} ${job.name} ${job.text}`
    const time = now()
    const known = expected.get(place)
    if (known !== undefined && known.at <= time && known.due > time) return
    const since = await checkedUntil(solution, job)
    const { last, count } = await dueSince(job.schedule, since ?? time, time)
    if (last !== null && since !== null) await addRun(solution, job, { last, count, since, time })
    expected.set(place, { due: job.schedule.next(time) ?? Number.POSITIVE_INFINITY, at: time })
  }

  /**
   * Adds the run for a due time. Due times are unique, so only one host adds the run. `checked_until` is updated
   * afterwards, so that a crash loses no due time.
   */
  async function addRun(
    solution: string,
    job: ScheduledJob,
    { last, count, since, time }: { last: number; count: number; since: number; time: number },
  ): Promise<void> {
    const isLate = time - last > LATE
    if (!isLate || job.missed === 'once') {
      const missed = job.missed === 'once' ? count - 1 : 0
      const run = { id: timeOrderedId(time), solution, job: job.name, data: null, key: null, tenant: null }
      await runs.addDue({ ...run, dueAt: last, scheduledFor: last, missed })
    }
    await db
      .updateTable('job_schedules')
      .set({ checked_until: last })
      .where('solution', '=', solution)
      .where('job', '=', job.name)
      .where('checked_until', '=', since)
      .execute()
  }

  return {
    async tick() {
      const active = await db
        .selectFrom('solutions')
        .select(['name', 'active_sha256'])
        .where('deleted_at', 'is', null)
        .where('active_sha256', 'is not', null)
        .execute()
      const paused = await pauses.paused()
      const errors: unknown[] = []
      for (const { name, active_sha256 } of active) {
        if (paused.has(name)) continue
        try {
          for (const job of await jobsOfActive(name, active_sha256 as string)) await handle(name, job)
        } catch (error) {
          errors.push(error)
        }
      }
      if (errors.length > 0) throw errors[0]
    },
    next(declaration, count) {
      const schedule = scheduled(declaration)
      const times: number[] = []
      for (let time = schedule?.next(now()) ?? null; time !== null && times.length < count; ) {
        times.push(time)
        time = schedule?.next(time) ?? null
      }
      return times
    },
  }
}

/**
 * Returns the last due time between `since` and `time`, and the number of due times in that period, at most
 * `MOST_MISSED`.
 */
async function dueSince(schedule: Schedule, since: number, time: number) {
  let last: number | null = null
  let count = 0
  for (let due = schedule.next(since); due !== null && due <= time; due = schedule.next(due)) {
    last = due
    if (count % DUE_AT_ONCE === 0) await setImmediate()
    if (count < MOST_MISSED && ++count === MOST_MISSED) due = Math.max(due, time - DAY)
  }
  return { last, count }
}
