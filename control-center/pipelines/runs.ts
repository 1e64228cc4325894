import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { PlatformError } from '../../runtime/errors.ts'
import { createGate } from '../../runtime/gate.ts'
import { firstRows } from '../database/portable.ts'
import type { CenterDatabase, CenterTables } from '../database/tables.ts'
import { type BuildStamp, type GivenStamp, readStamp } from '../packages/build-stamp.ts'
import type { PackageVersion } from '../packages/packages.ts'
import type { Pipeline } from './pipelines.ts'
import { createRunLog, type RunLog, readRunLog } from './run-log.ts'
import {
  RUN_STEPS,
  type RunLine,
  type RunState,
  type RunStep,
  readSteps,
  type Step,
  type StepState,
  stepsOf,
} from './run-states.ts'
import type { StepWork } from './run-steps.ts'

/** A run of a pipeline. Times are epoch ms. */
export type Run = {
  readonly id: string
  /** Counts in its pipeline, from 1. */
  readonly number: number
  readonly sha256: string
  readonly version: string
  readonly state: RunState
  readonly steps: readonly Step[]
  readonly stamp: BuildStamp
  readonly startedAt: number
  readonly endedAt: number | null
  /** As in the activity. */
  readonly startedBy: string
}

export type RunEvent = { readonly line: RunLine } | { readonly run: Pick<Run, 'state' | 'steps'> }

export interface Runs {
  /** @throws ERR_RUN_GOING_ON while one of the pipeline does, ERR_SANDBOX_BUSY when too many wait */
  start(pipeline: Pipeline, version: PackageVersion, stamp: GivenStamp, by: string): Promise<Run>
  /** The newest first, at most `MOST_KEPT`. */
  list(pipeline: string): Promise<readonly Run[]>
  /** The last of each pipeline of an organisation, by the pipeline's id. */
  last(organisation: string): Promise<ReadonlyMap<string, Run>>
  /** @throws ERR_NOT_FOUND */
  need(pipeline: string, number: number): Promise<Run>
  /** The log so far, the lines after number `after`. */
  log(run: string, after: number): Promise<readonly RunLine[]>
  /**
   * The log from the line after number `after` on and how the run goes, now and as it changes. `onEnd` is called once, after
   * the last event, at once for a run that has ended.
   */
  follow(run: Run, after: number, onEvent: (event: RunEvent) => void, onEnd: () => void): Promise<() => void>
  /** Ends one that goes on; its steps that are left are not done. @throws ERR_RUN_ENDED */
  cancel(run: Run): Promise<void>
  /** Whether a run of the pipeline goes on. */
  isGoingOn(pipeline: string): boolean
  /** Whether one of this version does. */
  uses(organisation: string, name: string, sha256: string): boolean
  /** Ends all that go on, as interrupted. */
  stop(): Promise<void>
}

/** Of one pipeline; with a new run the oldest goes. */
const MOST_KEPT = 100
/** Builders are heavy: others wait for their turn. */
const AT_ONCE = 1
const MOST_WAITING = 20
/** Of one organisation, with the one at work: others have their turn too. */
const MOST_OF_ORGANISATION = 5

type Active = {
  readonly run: Run
  readonly pipeline: Pipeline
  state: RunState
  readonly log: RunLog
  readonly states: Map<RunStep, StepState>
  readonly abort: AbortController
  readonly followers: Set<{ readonly onEvent: (event: RunEvent) => void; readonly onEnd: () => void }>
  /** Resolves when it has ended and all of it is in the database. */
  ended: Promise<void>
}

export type RunsParts = {
  readonly db: CenterDatabase
  readonly work: StepWork
  readonly log: Pick<Logger, 'error'>
  /** The clock, in epoch milliseconds. */
  readonly now?: () => number
}

/** What an earlier process left going on was interrupted. */
export async function createRuns({ db, work, log, now = Date.now }: RunsParts): Promise<Runs> {
  const active = new Map<string, Active>()
  /** Pipelines whose next run is being written down, with their organisations. */
  const starting = new Map<string, string>()
  const turns = createGate(AT_ONCE)
  let isStopped = false
  await interruptLeftOver()

  async function interruptLeftOver(): Promise<void> {
    const left = await db.selectFrom('pipeline_runs').selectAll().where('state', '=', 'running').execute()
    for (const row of left) {
      const steps = readSteps(row.steps).map((step) => (isOpen(step.state) ? { ...step, state: 'skipped' } : step))
      const columns = { state: 'interrupted', steps: JSON.stringify(steps), ended_at: now() }
      await db.updateTable('pipeline_runs').set(columns).where('id', '=', row.id).execute()
    }
  }

  const runsOf = (pipeline: string) => db.selectFrom('pipeline_runs').where('pipeline', '=', pipeline)

  async function writeDown(pipeline: Pipeline, version: PackageVersion, stamp: GivenStamp, by: string): Promise<Run> {
    const last = await firstRows(db, runsOf(pipeline.id).select('number').orderBy('number', 'desc'), 1).execute()
    const run: Run = {
      id: randomUUID(),
      number: (last[0]?.number ?? 0) + 1,
      sha256: version.sha256,
      version: version.version,
      state: 'running',
      steps: stepsOf(new Map()),
      stamp: { ...stamp, date: stamp.date ?? new Date(now()).toISOString() },
      startedAt: now(),
      endedAt: null,
      startedBy: by,
    }
    await db
      .insertInto('pipeline_runs')
      .values({
        id: run.id,
        pipeline: pipeline.id,
        number: run.number,
        sha256: run.sha256,
        version: run.version,
        state: run.state,
        steps: JSON.stringify(run.steps),
        stamp: JSON.stringify(run.stamp),
        started_at: run.startedAt,
        ended_at: null,
        started_by: by,
      })
      .execute()
    await db
      .deleteFrom('pipeline_runs')
      .where('pipeline', '=', pipeline.id)
      .where('number', '<=', run.number - MOST_KEPT)
      .execute()
    return run
  }

  /** Keeps and tells how it goes. The database hears of each change, so that another start knows how far it came. */
  async function put(going: Active, state: RunState, endedAt: number | null): Promise<void> {
    const told = { state, steps: stepsOf(going.states) }
    going.state = state
    for (const { onEvent } of going.followers) onEvent({ run: told })
    const columns = { state, steps: JSON.stringify(told.steps), ended_at: endedAt }
    await db.updateTable('pipeline_runs').set(columns).where('id', '=', going.run.id).execute()
  }

  async function perform(going: Active): Promise<void> {
    const { abort, states, log: runLog, pipeline, run } = going
    let at: RunStep = 'check'
    let end: RunState
    const isIn = await waitForTurn(going)
    const task = work({ pipeline, run, signal: abort.signal, say: (text) => runLog.say(at, text) })
    try {
      for (const step of RUN_STEPS) {
        abort.signal.throwIfAborted()
        at = step
        if (!task.isSetUp(step)) {
          states.set(step, 'not-set-up')
          continue
        }
        states.set(step, 'running')
        await put(going, 'running', null)
        await task.perform(step)
        states.set(step, 'done')
        await put(going, 'running', null)
      }
      end = 'done'
    } catch (error) {
      end = abort.signal.aborted ? endOf(abort.signal) : 'failed'
      states.set(at, end === 'failed' ? 'failed' : 'skipped')
      runLog.say(at, end === 'failed' ? whyNot(error, run) : `The run was ${end}.`)
    } finally {
      await task.tidyUp()
      if (isIn) turns.leave()
    }
    for (const step of RUN_STEPS) if (isOpen(states.get(step) ?? 'waiting')) states.set(step, 'skipped')
    await runLog.flush()
    await put(going, end, now())
  }

  /** @returns false: it was ended while it waited */
  async function waitForTurn({ log: runLog, abort: { signal } }: Active): Promise<boolean> {
    if (active.size > AT_ONCE) runLog.say('check', 'Another run goes on: this one waits for its turn.')
    const entered = turns.enter()
    const { promise: aborted, resolve } = Promise.withResolvers<false>()
    signal.addEventListener('abort', () => resolve(false), { once: true })
    const isIn = await Promise.race([entered, aborted])
    if (!isIn) void entered.then(() => turns.leave())
    return isIn
  }

  /** What is no fault of the run's own is for the operator: its text stays in the log of the control center. */
  function whyNot(error: unknown, { id }: Run): string {
    if (error instanceof PlatformError) return error.message
    log.error({ run: id, stack: error instanceof Error ? error.stack : String(error) }, 'a pipeline run failed')
    return 'The control center failed at this step; its own log says why.'
  }

  function begin(pipeline: Pipeline, run: Run): void {
    const going: Active = {
      run,
      pipeline,
      state: 'running',
      log: createRunLog(db, run.id, log, now),
      states: new Map(),
      abort: new AbortController(),
      followers: new Set(),
      ended: Promise.resolve(),
    }
    active.set(run.id, going)
    going.ended = perform(going)
      .catch((error: Error) => log.error({ run: run.id, stack: error.stack }, 'a pipeline run could not be kept'))
      .finally(() => {
        active.delete(run.id)
        for (const { onEnd } of going.followers) onEnd()
      })
  }

  const isGoingOn = (pipeline: string) =>
    starting.has(pipeline) || [...active.values()].some((going) => going.pipeline.id === pipeline)

  async function need(pipeline: string, number: number): Promise<Run> {
    const row = await runsOf(pipeline).selectAll().where('number', '=', number).executeTakeFirst()
    if (row !== undefined) return runOf(row)
    throw new PlatformError('ERR_NOT_FOUND', `The pipeline has no run ${number}, or no longer.`)
  }

  return {
    need,
    isGoingOn,
    async start(pipeline, version, stamp, by) {
      if (isStopped)
        throw new PlatformError('ERR_STOPPING', 'The control center stops: start the run again in a moment.')
      if (isGoingOn(pipeline.id)) {
        throw new PlatformError('ERR_RUN_GOING_ON', `A run of "${pipeline.name}" goes on: wait for it, or cancel it.`)
      }
      if (active.size + starting.size > MOST_WAITING) {
        throw new PlatformError('ERR_SANDBOX_BUSY', 'Too many runs wait for their turn.', { retryAfter: 60 })
      }
      const { organisation } = pipeline
      const others = [...starting.values(), ...[...active.values()].map((going) => going.pipeline.organisation)]
      if (others.filter((one) => one === organisation).length >= MOST_OF_ORGANISATION) {
        const message = `${MOST_OF_ORGANISATION} runs of the organisation go on or wait: start this one when one of them has ended.`
        throw new PlatformError('ERR_SANDBOX_BUSY', message, { retryAfter: 60 })
      }
      starting.set(pipeline.id, organisation)
      try {
        const run = await writeDown(pipeline, version, stamp, by)
        begin(pipeline, run)
        return run
      } finally {
        starting.delete(pipeline.id)
      }
    },
    async list(pipeline) {
      return (await runsOf(pipeline).selectAll().orderBy('number', 'desc').execute()).map(runOf)
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
    async log(run, after) {
      const going = active.get(run)
      if (going === undefined) return readRunLog(db, run, after)
      const lines: RunLine[] = []
      going.log.follow(after, (line) => lines.push(line))()
      return lines
    },
    async follow(run, after, onEvent, onEnd) {
      const going = active.get(run.id)
      if (going === undefined) {
        for (const line of await readRunLog(db, run.id, after)) onEvent({ line })
        const { state, steps } = runOf(
          await db.selectFrom('pipeline_runs').selectAll().where('id', '=', run.id).executeTakeFirstOrThrow(),
        )
        onEvent({ run: { state, steps } })
        onEnd()
        return () => {}
      }
      const follower = { onEvent, onEnd }
      onEvent({ run: { state: going.state, steps: stepsOf(going.states) } })
      const unfollow = going.log.follow(after, (line) => onEvent({ line }))
      going.followers.add(follower)
      return () => {
        unfollow()
        going.followers.delete(follower)
      }
    },
    async cancel({ id, number }) {
      const going = active.get(id)
      if (going === undefined) throw new PlatformError('ERR_RUN_ENDED', `Run ${number} has ended.`)
      going.abort.abort('cancelled' satisfies RunState)
      await going.ended
    },
    uses: (organisation, name, sha256) =>
      [...active.values()].some(
        ({ pipeline, run }) =>
          pipeline.organisation === organisation && pipeline.package === name && run.sha256 === sha256,
      ),
    async stop() {
      isStopped = true
      const going = [...active.values()]
      for (const { abort } of going) abort.abort('interrupted' satisfies RunState)
      await Promise.all(going.map(({ ended }) => ended))
    },
  }
}

function isOpen(state: StepState): boolean {
  return state === 'waiting' || state === 'running'
}

function endOf(signal: AbortSignal): RunState {
  return signal.reason === 'interrupted' ? 'interrupted' : 'cancelled'
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
