import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Selectable, Transaction, Updateable } from 'kysely'
import { deleteInPages } from '../../base/database/delete-in-pages.ts'
import { kindOf } from '../../base/database/kinds.ts'
import { firstRows, insertOnce, inTransaction, isUniqueViolation } from '../../base/database/portable.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import type { Limits } from '../../runtime/limits.ts'
import { solutionsIn } from '../database/solutions-in.ts'
import type { HostDatabase, HostTables } from '../database/tables.ts'
import {
  type AttemptEnd,
  type ClaimedRun,
  type JobRuns,
  LEASE_TIME,
  type NewRun,
  type Run,
  type RunFailure,
  type RunState,
  WaitingTooMany,
} from './job-runs.ts'

type Row = Selectable<HostTables['job_runs']>
type Change = Updateable<HostTables['job_runs']>
type Writing = HostDatabase | Transaction<HostTables>

/** How many of a job's waiting runs a host tries to start, one by one. Another host may start the same run first. */
const TRIED = 5
/**
 * Maximum number of runs per statement when runs are cancelled or deleted. A run can have `JOB_DATA` of data and as much
 * of results, and a statement on the embedded database blocks the whole process while it runs.
 */
const PAGE = 100
/** After this many ended runs of a solution, `trim` counts the solution's records. */
const COUNT_AFTER = 100

type Parts = {
  readonly db: HostDatabase
  readonly limits: Pick<Limits, 'JOB_KEY' | 'JOB_KEPT' | 'JOB_RECORDS' | 'JOBS_WAITING'>
  /** The clock, in epoch ms. */
  readonly now: () => number
  /** How many runs have ended on this host since their solution's records were last counted, by solution. */
  readonly uncounted: Map<string, number>
}

/**
 * Stores runs in the table `job_runs`, on all kinds of databases. Hosts don't wait for each other. Conditional updates
 * decide which host gets a run. The unique column `slot` limits how many runs of a job are in progress.
 *
 * Chosen here: PostgreSQL uses the same queue as all other databases, not pg-boss. The other databases need this queue
 * anyway, and its updates are safe with several hosts and no leader. pg-boss would add tables with their own upgrades.
 * All rules would have to be implemented and tested twice. Examples are keys, skipped due times, `atOnce`, and storing
 * a job's result together with the runs that it queues.
 * @param now the clock, in epoch ms
 */
export function createDatabaseRuns(db: HostDatabase, limits: Parts['limits'], now: () => number = Date.now): JobRuns {
  const parts = { db, limits, now, uncounted: new Map<string, number>() }
  return { ...added(parts), ...claimed(parts), ...ended(parts), ...cancelled(parts), ...listed(parts) }
}

function added(parts: Parts): Pick<JobRuns, 'add' | 'addDue' | 'bringForward'> {
  const { db, now } = parts
  return {
    add: (runs) => inTransaction(db, (transaction) => addAll(parts, transaction, runs)),
    async addDue(run) {
      const { solution, job, scheduledFor, missed } = run
      const open = await db
        .selectFrom('job_runs')
        .select('id')
        .where('solution', '=', solution)
        .where('job', '=', job)
        .where('state', 'in', ['waiting', 'running'])
        .where('scheduled_for', 'is not', null)
        .executeTakeFirst()
      const isSkipped = open !== undefined
      const time = now()
      return insertOnce(db, 'job_runs', {
        ...rowOf(run, time),
        once_key: storedHash(`due ${solution} ${job} ${scheduledFor}`),
        scheduled_for: scheduledFor,
        missed,
        ...(isSkipped ? { state: 'skipped', ended_at: time } : {}),
      })
    },
    async bringForward(solution, job, later) {
      await db
        .updateTable('job_runs')
        .set({ due_at: now() })
        .where('solution', '=', solution)
        .where('job', '=', job)
        .where('state', '=', 'waiting')
        .where('scheduled_for', '>', later)
        .execute()
    },
  }
}

function claimed({ db, now }: Parts): Pick<JobRuns, 'due' | 'claim'> {
  async function waitingOf(solution: string, job: string): Promise<readonly string[]> {
    const query = db
      .selectFrom('job_runs')
      .select('id')
      .where('solution', '=', solution)
      .where('job', '=', job)
      .where('state', '=', 'waiting')
      .where('due_at', '<=', now())
      .orderBy('due_at')
      .orderBy('created_at')
      .orderBy('id')
    return (await firstRows(db, query, TRIED).execute()).map(({ id }) => id)
  }

  async function usedSlots(solution: string, job: string): Promise<ReadonlySet<string>> {
    const rows = await db
      .selectFrom('job_runs')
      .select('slot')
      .where('solution', '=', solution)
      .where('job', '=', job)
      .where('state', '=', 'running')
      .execute()
    return new Set(rows.map(({ slot }) => slot))
  }

  /**
   * @returns whether this host started the run; null if another run has the slot, or a deadlock rolled back the update
   */
  async function start(id: string, slot: string, lease: string): Promise<boolean | null> {
    const time = now()
    try {
      const { numUpdatedRows } = await db
        .updateTable('job_runs')
        .set(({ eb }) => ({
          state: 'running',
          slot,
          lease,
          lease_until: time + LEASE_TIME,
          started_at: time,
          attempt: eb('attempt', '+', 1),
        }))
        .where('id', '=', id)
        .where('state', '=', 'waiting')
        .executeTakeFirst()
      return numUpdatedRows > 0n
    } catch (error) {
      if (isUniqueViolation(error) || kindOf(db).isDeadlock(error)) return null
      throw error
    }
  }

  return {
    async due(time) {
      const rows = await db
        .selectFrom('job_runs')
        .select(({ fn }) => ['solution', 'job', fn.min('due_at').as('due_at')])
        .where('state', '=', 'waiting')
        .where('due_at', '<=', time)
        .groupBy(['solution', 'job'])
        .execute()
      return rows.map(({ solution, job, due_at }) => ({ solution, job, dueAt: Number(due_at) }))
    },
    async claim(solution, job, atOnce) {
      const used = await usedSlots(solution, job)
      const slots = Array.from({ length: atOnce }, (_, place) => storedHash(`${solution} ${job} ${place}`))
      const free = slots.filter((slot) => !used.has(slot))
      const [first, ...others] = free
      if (first === undefined) return null
      let slot = first
      for (const id of await waitingOf(solution, job)) {
        const lease = randomUUID()
        let isStarted = await start(id, slot, lease)
        while (isStarted === null && others.length > 0) {
          slot = others.shift() as string
          isStarted = await start(id, slot, lease)
        }
        if (isStarted === null) return null
        const run = isStarted ? await find(db, id) : null
        if (run !== null) return { ...run, lease }
      }
      return null
    },
  }
}

/** Creates the methods that renew leases and end attempts. */
function ended(parts: Parts): Pick<JobRuns, 'renew' | 'end' | 'loseExpired'> {
  const { db, now, uncounted } = parts

  function note({ solution }: ClaimedRun): void {
    uncounted.set(solution, (uncounted.get(solution) ?? 0) + 1)
  }

  /** Cancels the run if someone requested this while its attempt was ending. */
  async function cancelIfAsked(id: string): Promise<void> {
    await db
      .updateTable('job_runs')
      .set({ state: 'cancelled', ended_at: now() })
      .where('id', '=', id)
      .where('state', '=', 'waiting')
      .where('cancelled_at', 'is not', null)
      .execute()
  }

  return {
    async renew({ id, lease }) {
      const { numUpdatedRows } = await db
        .updateTable('job_runs')
        .set({ lease_until: now() + LEASE_TIME })
        .where('id', '=', id)
        .where('lease', '=', lease)
        .executeTakeFirst()
      if (numUpdatedRows === 0n) return 'lost'
      const run = await find(db, id)
      return run?.isCancelled === true ? 'cancelled' : 'renewed'
    },
    async end(run, end) {
      const { id, lease, attempt } = run
      const changed = changeOf(end, now(), attempt)
      if (changed.state !== 'waiting') note(run)
      if (end.kind !== 'succeeded' || end.queued.length === 0) {
        const isRecorded = await change(db, id, lease, changed)
        if (changed.state === 'waiting') await cancelIfAsked(id)
        return isRecorded
      }
      return inTransaction(db, async (transaction) => {
        const isRecorded = await change(transaction, id, lease, changed)
        if (isRecorded) await addAll(parts, transaction, end.queued)
        return isRecorded
      })
    },
    async loseExpired(attemptsOf) {
      const rows = await db
        .selectFrom('job_runs')
        .selectAll()
        .where('state', '=', 'running')
        .where('lease_until', '<', now())
        .execute()
      const failed: Run[] = []
      for (const row of rows) {
        const isLast = row.attempt >= (await attemptsOf(row.solution, row.job))
        const failure = { code: 'host_lost', message: 'the host that ran this attempt stopped responding' }
        const end: AttemptEnd =
          row.cancelled_at === null
            ? { kind: 'failed', failure, retryAt: isLast ? null : now() }
            : { kind: 'cancelled' }
        const isRecorded = await change(db, row.id, row.lease ?? '', changeOf(end, now(), row.attempt))
        if (isRecorded && isLast && end.kind === 'failed') failed.push({ ...runOf(row), failure })
      }
      return failed
    },
  }
}

/** Creates the methods that cancel runs or queue them again. */
function cancelled({ db, now }: Parts): Pick<JobRuns, 'cancel' | 'cancelAll' | 'again'> {
  async function cancelWaiting(solution: string, ids: readonly string[]): Promise<boolean> {
    const query = db
      .updateTable('job_runs')
      .set({ state: 'cancelled', ended_at: now() })
      .where('solution', '=', solution)
      .where('state', '=', 'waiting')
      .where('id', 'in', ids)
    return (await query.executeTakeFirst()).numUpdatedRows > 0n
  }

  /** @returns whether more runs may be waiting */
  async function cancelPage(solution: string): Promise<boolean> {
    const waiting = db
      .selectFrom('job_runs')
      .select('id')
      .where('solution', '=', solution)
      .where('state', '=', 'waiting')
      .orderBy('due_at')
    const ids = (await firstRows(db, waiting, PAGE).execute()).map(({ id }) => id)
    if (ids.length > 0) await cancelWaiting(solution, ids)
    return ids.length === PAGE
  }

  async function cancelRunning(solution: string, id: string | null): Promise<boolean> {
    let query = db
      .updateTable('job_runs')
      .set({ cancelled_at: now() })
      .where('solution', '=', solution)
      .where('state', '=', 'running')
    if (id !== null) query = query.where('id', '=', id)
    return (await query.executeTakeFirst()).numUpdatedRows > 0n
  }

  return {
    async cancel(solution, id) {
      if (await cancelWaiting(solution, [id])) return 'waiting'
      if (await cancelRunning(solution, id)) return 'running'
      return (await findOf(db, solution, id))?.state ?? null
    },
    async cancelAll(solution) {
      while (await cancelPage(solution)) await nextTurn()
      await cancelRunning(solution, null)
    },
    async again(solution, id) {
      const run = await findOf(db, solution, id)
      if (run === null || (run.state !== 'failed' && run.state !== 'cancelled')) return run?.state ?? null
      const fresh = { state: 'waiting', attempt: 0, due_at: now(), ended_at: null, cancelled_at: null, failure: null }
      await db.updateTable('job_runs').set(fresh).where('id', '=', id).where('state', '=', run.state).execute()
      return run.state
    },
  }
}

/** Reads and deletes runs. */
function listed(parts: Parts): Pick<JobRuns, 'find' | 'list' | 'last' | 'trim' | 'sweep' | 'eraseEnded'> {
  const { db, limits, now, uncounted } = parts
  return {
    find: (solution, id) => findOf(db, solution, id),
    async list(solution, { job, state, before }, limit) {
      const edge = before === undefined ? null : await findOf(db, solution, before)
      if (before !== undefined && edge === null) return []
      let query = db.selectFrom('job_runs').selectAll().where('solution', '=', solution)
      if (job !== undefined) query = query.where('job', '=', job)
      if (state !== undefined) query = query.where('state', '=', state)
      if (edge !== null) {
        query = query.where((eb) =>
          eb.or([
            eb('created_at', '<', edge.createdAt),
            eb.and([eb('created_at', '=', edge.createdAt), eb('id', '<', edge.id)]),
          ]),
        )
      }
      const rows = await firstRows(db, query.orderBy('created_at', 'desc').orderBy('id', 'desc'), limit).execute()
      return rows.map(runOf)
    },
    async last(solution, jobs) {
      const latest = new Map<string, Run>()
      for (const job of jobs) {
        const query = db
          .selectFrom('job_runs')
          .selectAll()
          .where('solution', '=', solution)
          .where('job', '=', job)
          .where('state', '!=', 'waiting')
        const [row] = await firstRows(db, query.orderBy('created_at', 'desc').orderBy('id', 'desc'), 1).execute()
        if (row !== undefined) latest.set(job, runOf(row))
      }
      return latest
    },
    async trim() {
      for (const [solution, count] of uncounted) {
        if (count < COUNT_AFTER) continue
        await deleteOldest(db, solution, limits.JOB_RECORDS)
        uncounted.delete(solution)
      }
    },
    async sweep() {
      for await (const solution of solutionsIn(db, 'job_runs')) {
        await deleteEnded(db, solution, now() - limits.JOB_KEPT)
        await deleteOldest(db, solution, limits.JOB_RECORDS)
      }
    },
    eraseEnded: (solution) => deleteEnded(db, solution, now() + 1),
  }
}

/** Deletes a solution's runs that ended before `before`. */
async function deleteEnded(db: HostDatabase, solution: string, before: number): Promise<void> {
  const ended = db
    .selectFrom('job_runs')
    .select('id')
    .where('solution', '=', solution)
    .where('ended_at', '<', before)
    .orderBy('ended_at')
  await deleteInPages(
    (count) => firstRows(db, ended, count).execute(),
    (_last, rows) => {
      const ids = rows.map(({ id }) => id)
      // A run that was queued again in the meantime has no `ended_at`.
      return db.deleteFrom('job_runs').where('id', 'in', ids).where('ended_at', '<', before).execute()
    },
    undefined,
    PAGE,
  )
}

/**
 * Deletes the records of a solution's runs that ended first, so that about `kept` of them are left. Decides once what to
 * delete: several hosts may do this at the same time. Of runs that ended in the same millisecond, all are kept.
 */
async function deleteOldest(db: HostDatabase, solution: string, kept: number): Promise<void> {
  const newest = db
    .selectFrom('job_runs')
    .select('ended_at')
    .where('solution', '=', solution)
    .where('ended_at', 'is not', null)
    .orderBy('ended_at', 'desc')
  const { oldest, count } = await db
    .selectFrom(firstRows(db, newest, kept).as('newest'))
    .select(({ fn }) => [fn.min('ended_at').as('oldest'), fn.countAll().as('count')])
    .executeTakeFirstOrThrow()
  if (Number(count) === kept) await deleteEnded(db, solution, Number(oldest))
}

async function addAll({ limits, now }: Parts, to: Writing, runs: readonly NewRun[]): Promise<void> {
  for (const solution of new Set(runs.map((run) => run.solution))) {
    const { count } = await to
      .selectFrom('job_runs')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('solution', '=', solution)
      .where('state', '=', 'waiting')
      .executeTakeFirstOrThrow()
    const used = Number(count) + runs.filter((run) => run.solution === solution).length
    if (used > limits.JOBS_WAITING) throw new WaitingTooMany(solution, used)
  }
  for (const run of runs) {
    if (run.key !== null) await freeKey({ limits, now }, to, keyHash(run, run.key))
    await insertOnce(to, 'job_runs', rowOf(run, now()))
  }
}

/** Makes a key available again if its run failed, was cancelled or skipped, or succeeded more than `JOB_KEY` ago. */
async function freeKey({ limits, now }: Pick<Parts, 'limits' | 'now'>, to: Writing, key: string): Promise<void> {
  const old = await to
    .selectFrom('job_runs')
    .select(['id', 'state', 'ended_at'])
    .where('once_key', '=', key)
    .executeTakeFirst()
  if (old === undefined || old.state === 'waiting' || old.state === 'running') return
  if (old.state === 'succeeded' && Number(old.ended_at) > now() - limits.JOB_KEY) return
  await to
    .updateTable('job_runs')
    .set({ once_key: old.id })
    .where('id', '=', old.id)
    .where('state', '=', old.state)
    .execute()
}

async function find(db: HostDatabase, id: string): Promise<Run | null> {
  const row = await db.selectFrom('job_runs').selectAll().where('id', '=', id).executeTakeFirst()
  return row === undefined ? null : runOf(row)
}

async function findOf(db: HostDatabase, solution: string, id: string): Promise<Run | null> {
  const run = await find(db, id)
  return run?.solution === solution ? run : null
}

/** Updates a run and ends its lease. @returns false if the lease was lost */
async function change(to: Writing, id: string, lease: string, changed: Change): Promise<boolean> {
  const { numUpdatedRows } = await to
    .updateTable('job_runs')
    .set({ ...changed, slot: id, lease: null, lease_until: null })
    .where('id', '=', id)
    .where('lease', '=', lease)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

function keyHash({ solution, job }: Pick<NewRun, 'solution' | 'job'>, key: string): string {
  return storedHash(`key ${solution} ${job} ${key}`)
}

function rowOf(run: NewRun, time: number): Row {
  return {
    id: run.id,
    solution: run.solution,
    job: run.job,
    state: 'waiting',
    once_key: run.key === null ? run.id : keyHash(run, run.key),
    slot: run.id,
    tenant: run.tenant === null ? null : JSON.stringify(run.tenant),
    data: run.data,
    result: null,
    failure: null,
    attempt: 0,
    missed: 0,
    scheduled_for: null,
    due_at: Math.round(run.dueAt),
    created_at: time,
    started_at: null,
    ended_at: null,
    lease: null,
    lease_until: null,
    cancelled_at: null,
  }
}

function changeOf(end: AttemptEnd, time: number, attempt: number): Change {
  switch (end.kind) {
    case 'succeeded':
      return { state: 'succeeded', result: end.result, data: null, failure: null, ended_at: time }
    case 'failed': {
      const failure = JSON.stringify(end.failure)
      return end.retryAt === null
        ? { state: 'failed', failure, ended_at: time }
        : { state: 'waiting', failure, due_at: Math.round(end.retryAt) }
    }
    case 'cancelled':
      return { state: 'cancelled', ended_at: time }
    case 'returned':
      return { state: 'waiting', due_at: Math.round(end.dueAt), attempt: attempt - 1 }
  }
}

function runOf(row: Row): Run {
  return {
    id: row.id,
    solution: row.solution,
    job: row.job,
    state: row.state as RunState,
    tenant: row.tenant === null ? null : JSON.parse(row.tenant),
    data: row.data,
    result: row.result,
    failure: row.failure === null ? null : (JSON.parse(row.failure) as RunFailure),
    attempt: row.attempt,
    missed: row.missed,
    scheduledFor: row.scheduled_for,
    dueAt: row.due_at,
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    isCancelled: row.cancelled_at !== null,
  }
}
