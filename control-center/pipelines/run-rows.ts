import { randomUUID } from 'node:crypto'
import { firstRows } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { CenterDatabase, CenterTables } from '../database/tables.ts'
import { type BuildStamp, type GivenStamp, readStamp } from '../packages/build-stamp.ts'
import type { PackageVersion } from '../packages/package-rows.ts'
import { lockVersion } from '../packages/version-lock.ts'
import type { Pipeline } from './pipelines.ts'
import type { RunLeases } from './run-leases.ts'
import { isOpen, type RunState, readSteps, type Step, stepsOf } from './run-states.ts'

/** A run of a pipeline. Times are epoch ms. */
export type Run = {
  readonly id: string
  /** The number of the run in its pipeline, starting at 1. */
  readonly number: number
  readonly sha256: string
  readonly version: string
  readonly state: RunState
  readonly steps: readonly Step[]
  readonly stamp: BuildStamp
  readonly startedAt: number
  readonly endedAt: number | null
  /** The user or token that started the run, as written in the audit log. */
  readonly startedBy: string
}

/** The runs of all control centers that use the database. */
export interface RunRows {
  /**
   * Creates a run and leases it to this process. Runs that start at the same time, here or in other processes, are
   * created sequentially.
   * @throws ERR_RUN_GOING_ON if a run of the pipeline is running, ERR_SANDBOX_BUSY if too many are queued,
   * ERR_VERSION_NOT_FOUND if the version was deleted in the meantime
   */
  add(pipeline: Pipeline, version: PackageVersion, stamp: GivenStamp, by: string): Promise<Run>
  /** @returns the pipeline's runs, newest first, at most `MOST_KEPT` */
  list(pipeline: string): Promise<readonly Run[]>
  /** The last run of each pipeline in an organisation, by pipeline id. */
  last(organisation: string): Promise<ReadonlyMap<string, Run>>
  /** @throws ERR_NOT_FOUND */
  need(pipeline: string, number: number): Promise<Run>
  /** Finds a run by id; null if it was deleted, for example with its pipeline. */
  find(id: string): Promise<Run | null>
  /** Stores a run's progress, so that other processes can show it. */
  note(id: string, steps: readonly Step[]): Promise<void>
  /** Ends a run. If another process has already marked the run as interrupted, this has no effect. */
  end(id: string, state: RunState, steps: readonly Step[]): Promise<void>
  /** Marks running runs without a valid lease as interrupted. */
  interruptLost(): Promise<void>
  /** Whether a run of the pipeline is in progress. */
  isGoingOn(pipeline: string): Promise<boolean>
  /** Whether a run for this version is in progress. `db` may be a transaction. */
  uses(db: CenterDatabase, organisation: string, name: string, sha256: string): Promise<boolean>
}

/** Maximum number of stored runs per pipeline. Once it is reached, each new run replaces the oldest one. */
const MOST_KEPT = 100
const MOST_WAITING = 20
/**
 * Maximum number of active and queued runs per organisation. With this limit, one organisation can't block the others.
 */
const MOST_OF_ORGANISATION = 5

/** @param now returns the current time in epoch milliseconds */
export function createRunRows(db: CenterDatabase, leases: RunLeases, now: () => number = Date.now): RunRows {
  const runsOf = (from: CenterDatabase, pipeline: string) =>
    from.selectFrom('pipeline_runs').where('pipeline', '=', pipeline)

  async function write(transaction: CenterDatabase, pipeline: string, run: Run): Promise<void> {
    const { startedAt, endedAt, startedBy, steps, stamp, ...same } = run
    await transaction
      .insertInto('pipeline_runs')
      .values({
        ...same,
        pipeline,
        steps: JSON.stringify(steps),
        stamp: JSON.stringify(stamp),
        started_at: startedAt,
        ended_at: endedAt,
        started_by: startedBy,
      })
      .execute()
    await leases.add(transaction, run.id)
    await transaction
      .deleteFrom('pipeline_runs')
      .where('pipeline', '=', pipeline)
      .where('number', '<=', run.number - MOST_KEPT)
      .execute()
  }

  /** @returns false if the run has already ended */
  async function change(from: CenterDatabase, id: string, columns: Partial<CenterTables['pipeline_runs']>) {
    const going = from.updateTable('pipeline_runs').set(columns).where('id', '=', id).where('state', '=', 'running')
    return (await going.executeTakeFirst()).numUpdatedRows > 0n
  }

  return {
    add: (pipeline, version, stamp, by) =>
      db.transaction().execute(async (transaction) => {
        await leases.lockPlaces(transaction)
        await refuseTooMany(transaction, pipeline)
        await lockVersion(transaction, pipeline.organisation, pipeline.package, version.sha256)
        const numbers = runsOf(transaction, pipeline.id).select('number').orderBy('number', 'desc')
        const last = await firstRows(transaction, numbers, 1).executeTakeFirst()
        const run: Run = {
          id: randomUUID(),
          number: (last?.number ?? 0) + 1,
          sha256: version.sha256,
          version: version.version,
          state: 'running',
          steps: stepsOf(new Map()),
          stamp: { ...stamp, date: stamp.date ?? new Date(now()).toISOString() },
          startedAt: now(),
          endedAt: null,
          startedBy: by,
        }
        await write(transaction, pipeline.id, run)
        return run
      }),
    async list(pipeline) {
      return (await runsOf(db, pipeline).selectAll().orderBy('number', 'desc').execute()).map(runOf)
    },
    async last(organisation) {
      const rows = await db
        .selectFrom('pipeline_runs')
        .innerJoin('pipelines', 'pipelines.id', 'pipeline_runs.pipeline')
        .selectAll('pipeline_runs')
        .where('pipelines.organisation', '=', organisation)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('pipeline_runs as later')
                .select('later.id')
                .whereRef('later.pipeline', '=', 'pipeline_runs.pipeline')
                .whereRef('later.number', '>', 'pipeline_runs.number'),
            ),
          ),
        )
        .execute()
      return new Map(rows.map((row) => [row.pipeline, runOf(row)]))
    },
    async need(pipeline, number) {
      const row = await runsOf(db, pipeline).selectAll().where('number', '=', number).executeTakeFirst()
      if (row !== undefined) return runOf(row)
      throw new PlatformError('ERR_NOT_FOUND', `The pipeline has no run ${number}. Old runs are deleted automatically.`)
    },
    async find(id) {
      const row = await db.selectFrom('pipeline_runs').selectAll().where('id', '=', id).executeTakeFirst()
      return row === undefined ? null : runOf(row)
    },
    async note(id, steps) {
      await change(db, id, { steps: JSON.stringify(steps) })
    },
    end: (id, state, steps) =>
      db.transaction().execute(async (transaction) => {
        await change(transaction, id, { state, steps: JSON.stringify(steps), ended_at: now() })
        await leases.remove(transaction, id)
      }),
    async interruptLost() {
      const lost = await db
        .selectFrom('pipeline_runs')
        .leftJoin('run_leases', 'run_leases.run', 'pipeline_runs.id')
        .select(['pipeline_runs.id', 'pipeline_runs.steps', 'run_leases.run'])
        .where('pipeline_runs.state', '=', 'running')
        .where((where) => where.or([where('run_leases.until', 'is', null), where('run_leases.until', '<', now())]))
        .execute()
      for (const { id, steps, run } of lost) {
        const left = readSteps(steps).map((step): Step => (isOpen(step.state) ? { ...step, state: 'skipped' } : step))
        await db.transaction().execute(async (transaction) => {
          // Meanwhile, the process that performs the run may have renewed the lease.
          if (run !== null && !(await leases.removeEnded(transaction, id))) return
          await leases.remove(transaction, id)
          await change(transaction, id, { state: 'interrupted', steps: JSON.stringify(left), ended_at: now() })
        })
      }
    },
    async isGoingOn(pipeline) {
      const going = runsOf(db, pipeline).select('id').where('state', '=', 'running')
      return (await going.executeTakeFirst()) !== undefined
    },
    async uses(from, organisation, name, sha256) {
      const going = await from
        .selectFrom('pipeline_runs')
        .innerJoin('pipelines', 'pipelines.id', 'pipeline_runs.pipeline')
        .select('pipeline_runs.id')
        .where('pipelines.organisation', '=', organisation)
        .where('pipelines.package', '=', name)
        .where('pipeline_runs.sha256', '=', sha256)
        .where('pipeline_runs.state', '=', 'running')
        .executeTakeFirst()
      return going !== undefined
    },
  }
}

type Row = Omit<CenterTables['pipeline_runs'], 'pipeline'>

function runOf({ id, number, sha256, version, ...row }: Row): Run {
  return {
    ...{ id, number, sha256, version },
    state: row.state as RunState,
    steps: readSteps(row.steps),
    stamp: readStamp(row.stamp) ?? { date: new Date(row.started_at).toISOString() },
    startedAt: row.started_at,
    endedAt: row.ended_at,
    startedBy: row.started_by,
  }
}

/** @throws ERR_RUN_GOING_ON, ERR_SANDBOX_BUSY */
async function refuseTooMany(transaction: CenterDatabase, { id, name, organisation }: Pipeline): Promise<void> {
  const going = await transaction
    .selectFrom('pipeline_runs')
    .innerJoin('pipelines', 'pipelines.id', 'pipeline_runs.pipeline')
    .select(['pipelines.id', 'pipelines.organisation'])
    .where('pipeline_runs.state', '=', 'running')
    .execute()
  if (going.some((one) => one.id === id)) {
    throw new PlatformError('ERR_RUN_GOING_ON', `A run of "${name}" is in progress. Wait until it ends, or cancel it.`)
  }
  if (going.length > MOST_WAITING) {
    throw new PlatformError('ERR_SANDBOX_BUSY', 'Too many pipeline runs are waiting. Try again in a minute.', {
      retryAfter: 60,
    })
  }
  if (going.filter((one) => one.organisation === organisation).length >= MOST_OF_ORGANISATION) {
    const message = `The organisation already has ${MOST_OF_ORGANISATION} runs in progress or waiting. Wait until one of them ends, then start this run.`
    throw new PlatformError('ERR_SANDBOX_BUSY', message, { retryAfter: 60 })
  }
}
