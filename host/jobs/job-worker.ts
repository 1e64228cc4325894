import { availableParallelism } from 'node:os'
import type { Logger } from 'pino'
import { jobsOf } from '../../base/bundles/job-table.ts'
import { createNews } from '../../base/work/news.ts'
import { repeat } from '../../base/work/repeat.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'
import { type AttemptEnd, type ClaimedRun, type DueJob, type JobRuns, type Run, WaitingTooMany } from './job-runs.ts'
import type { Pauses } from './pauses.ts'
import type { RunJob } from './run-job.ts'
import type { Schedules } from './schedules.ts'

export type JobWorkerParts = {
  readonly limits: Pick<Limits, 'JOBS_AT_ONCE'>
  readonly catalog: Pick<Catalog, 'active'>
  readonly runs: JobRuns
  readonly schedules: Pick<Schedules, 'tick'>
  readonly pauses: Pick<Pauses, 'paused'>
  readonly runJob: RunJob
  /** Whether this host may start runs. It may not during maintenance, or while it is stopping. */
  readonly mayStart: () => Promise<boolean>
  readonly solutionLog: Pick<SolutionLog, 'write'>
  readonly log: Pick<Logger, 'error'>
  /** Called for each run that has failed and won't be retried. */
  readonly failed?: (run: Run) => void
  /** Epoch ms. */
  readonly now: () => number
  /** Whether the worker adds a run when a job is due. Default: true. */
  readonly hasSchedules?: boolean
  /**
   * Maximum number of runs in progress for all solutions together. Default: the number of processor cores minus one.
   */
  readonly atOnce?: number
}

/** Runs jobs on this host. */
export interface JobWorker {
  /** Checks for due runs now, not only at the next interval. */
  wake(): void
  /**
   * Handles due times, ends attempts whose host is gone, and starts due runs. `start` calls this repeatedly; tests call
   * it directly.
   */
  work(): Promise<void>
  /** Renews the leases of running attempts. `start` calls this repeatedly; tests call it directly. */
  renew(): Promise<void>
  start(): void
  /**
   * Stops starting runs, and kills running ones. It returns their leases, so other hosts can start these runs
   * immediately.
   */
  stop(): Promise<void>
  /** Resolves when no run is in progress on this host. */
  settled(): Promise<void>
}

/** Intervals in ms for starting waiting runs, handling due times, and renewing leases. */
const LOOK = 1000
const TICK = 5000
const RENEW = 10_000
/**
 * An attempt is killed if its lease couldn't be renewed for this time, in ms. This is shorter than a lease, so no other
 * host can have started the run yet.
 */
const UNRENEWED = 30_000
/** Delay before the host tries again to record how a run ended, in ms. */
const RECORD_AGAIN = 1000

type Running = {
  readonly run: ClaimedRun
  readonly abort: AbortController
  why: 'lost' | 'cancelled' | 'stopping' | null
  /** When the lease was last renewed, on the clock of `performance.now()`. */
  renewedAt: number
  done: Promise<void>
}

/** Runs attempts, and records how they ended. */
function createAttempts(parts: JobWorkerParts, isStopping: () => boolean) {
  const { runs, runJob, solutionLog, log, now } = parts
  const isNews = createNews()

  async function serve(one: Running): Promise<void> {
    const { run, abort } = one
    let ended: AttemptEnd
    try {
      ended = await runJob(run, abort.signal)
    } catch (error) {
      // The script isn't responsible for this error. For example, the database was unreachable when the version was
      // loaded.
      report(error as Error)
      ended = { kind: 'returned', dueAt: now() + TICK }
    }
    if (one.why === 'lost') return
    if (one.why === 'cancelled') ended = { kind: 'cancelled' }
    else if (one.why === 'stopping') ended = { kind: 'returned', dueAt: now() }
    await record(one, ended)
  }

  /**
   * Records how an attempt ended. If the database is unreachable, retries until another host could have started the
   * run.
   */
  async function record(one: Running, ended: AttemptEnd): Promise<void> {
    for (;;) {
      try {
        const isRecorded = await runs.end(one.run, ended)
        if (isRecorded && ended.kind === 'failed' && ended.retryAt === null) {
          reportFailed({ ...one.run, failure: ended.failure })
        }
        return
      } catch (error) {
        if (ended.kind === 'succeeded' && ended.queued.length > 0 && isTooMany(error)) {
          const failure = { code: 'script_quota', message: (error as Error).message }
          ended = { kind: 'failed', failure, retryAt: null }
          continue
        }
        report(error as Error)
        if (isStopping() || performance.now() - one.renewedAt > UNRENEWED) return
        await new Promise((resolve) => setTimeout(resolve, RECORD_AGAIN))
      }
    }
  }

  function reportFailed(run: Run): void {
    const { solution, job, id, attempt, failure } = run
    parts.failed?.(run)
    const message = `the job "${job}" failed after attempt ${attempt}: ${failure?.message ?? ''}`
    solutionLog.write(solution, { level: 'error', message, correlationId: id })
  }

  function end(one: Running, why: NonNullable<Running['why']>): void {
    one.why ??= why
    one.abort.abort()
  }

  async function renewOne(one: Running): Promise<void> {
    const asked = performance.now()
    const state = await runs.renew(one.run)
    if (state === 'lost') end(one, 'lost')
    else one.renewedAt = asked
    if (state === 'cancelled') end(one, 'cancelled')
  }

  function report(error: Error): void {
    if (isNews(error.message))
      log.error({ err: error }, 'jobs could not be processed because of an error; the host will try again')
  }

  return { serve, end, renewOne, report, reportFailed }
}

export function createJobWorker(parts: JobWorkerParts): JobWorker {
  const { limits, catalog, runs, schedules, pauses, mayStart, now } = parts
  const { atOnce = Math.max(1, availableParallelism() - 1), hasSchedules = true } = parts
  const running = new Map<string, Running>()
  /**
   * When this host last started a run, as a sequence number for each solution and each job. Solutions and jobs take
   * turns.
   */
  const lastStarted = new Map<string, number>()
  const { serve, end, renewOne, report, reportFailed } = createAttempts(parts, () => isStopping)
  let starts = 0
  let isStopping = false
  let looking: Promise<void> | null = null
  let looksAgain = false
  let stopRepeating: readonly (() => Promise<void>)[] = []

  function countOf(solution: string): number {
    return [...running.values()].filter(({ run }) => run.solution === solution).length
  }

  function isFull(solution: string): boolean {
    return running.size >= atOnce || countOf(solution) >= limits.JOBS_AT_ONCE
  }

  async function look(): Promise<void> {
    if (isStopping || !(await mayStart())) return
    const paused = await pauses.paused()
    const due = (await runs.due(now())).filter(({ solution }) => !paused.has(solution))
    let left = due
    while (!isStopping && left.length > 0) {
      const [one] = left.toSorted(byTurn) as [DueJob]
      if (isFull(one.solution) || !(await startOne(one))) left = left.filter((other) => other !== one)
    }
  }

  function byTurn(one: DueJob, other: DueJob): number {
    const turn = (place: (due: DueJob) => string) =>
      (lastStarted.get(place(one)) ?? 0) - (lastStarted.get(place(other)) ?? 0)
    return turn(({ solution }) => solution) || turn(placeOf) || one.dueAt - other.dueAt
  }

  async function startOne({ solution, job }: DueJob): Promise<boolean> {
    const active = await catalog.active(solution)
    if (active === null) {
      await runs.cancelAll(solution)
      return false
    }
    const declared = jobsOf(active).find(({ name }) => name === job)
    const run = await runs.claim(solution, job, declared?.declaration.atOnce ?? 1)
    if (run === null) return false
    lastStarted.set(solution, ++starts).set(placeOf({ solution, job }), starts)
    const one: Running = {
      run,
      abort: new AbortController(),
      why: null,
      renewedAt: performance.now(),
      done: Promise.resolve(),
    }
    running.set(run.lease, one)
    one.done = serve(one).finally(() => {
      running.delete(run.lease)
      wake()
    })
    if (isStopping) end(one, 'stopping')
    return true
  }

  async function renew(): Promise<void> {
    await Promise.all([...running.values()].map((one) => renewOne(one).catch(report)))
  }

  function endUnrenewed(): void {
    for (const one of running.values()) if (performance.now() - one.renewedAt > UNRENEWED) end(one, 'lost')
  }

  async function attemptsOf(solution: string, job: string): Promise<number> {
    const active = await catalog.active(solution)
    return (active && jobsOf(active).find(({ name }) => name === job)?.declaration.attempts) ?? 1
  }

  async function endDeleted(): Promise<void> {
    for (const one of running.values()) {
      if ((await catalog.active(one.run.solution)) === null) end(one, 'cancelled')
    }
  }

  async function tick(): Promise<void> {
    await endDeleted()
    for (const run of await runs.loseExpired(attemptsOf)) reportFailed(run)
    if (hasSchedules && !isStopping && (await mayStart())) await schedules.tick()
    await runs.trim()
  }

  /** Checks for due runs, one check at a time. If `wake` is called during a check, another check follows. */
  function lookOnce(): Promise<void> {
    looksAgain = true
    looking ??= (async () => {
      try {
        while (looksAgain) {
          looksAgain = false
          await look()
        }
      } finally {
        // Don't await anything between the last check of `looksAgain` and this line. Otherwise, a caller could get the
        // promise of a check that has already ended.
        looking = null
      }
    })()
    return looking
  }

  function wake(): void {
    if (!isStopping) lookOnce().catch(report)
  }

  return {
    wake,
    async work() {
      await tick()
      await lookOnce()
    },
    renew,
    start() {
      stopRepeating = [
        repeat(TICK, tick, report),
        repeat(LOOK, lookOnce, report),
        repeat(RENEW, renew, report),
        repeat(LOOK, endUnrenewed, report),
      ]
    },
    async stop() {
      isStopping = true
      for (const one of running.values()) end(one, 'stopping')
      await Promise.all([
        ...[...running.values()].map(({ done }) => done),
        ...stopRepeating.map((stop) => stop()),
        looking?.catch(() => {}),
      ])
    },
    async settled() {
      while (running.size > 0) await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}

function isTooMany(error: unknown): boolean {
  return error instanceof WaitingTooMany
}

function placeOf({ solution, job }: Pick<DueJob, 'solution' | 'job'>): string {
  return `${solution} ${job}`
}
