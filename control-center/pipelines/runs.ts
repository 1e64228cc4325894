import type { Logger } from 'pino'
import { repeat } from '../../base/work/repeat.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { CenterDatabase } from '../database/tables.ts'
import type { GivenStamp } from '../packages/build-stamp.ts'
import type { PackageVersion } from '../packages/package-rows.ts'
import type { Pipeline } from './pipelines.ts'
import type { RunEvent } from './run-events.ts'
import { createRunLeases } from './run-leases.ts'
import { readRunLog } from './run-log.ts'
import { createRunRows, type Run, type RunRows } from './run-rows.ts'
import { type RunLine, type RunState, stepsOf } from './run-states.ts'
import type { StepWork } from './run-steps.ts'
import { createRunWaits } from './run-waits.ts'
import { createRunsElsewhere } from './runs-elsewhere.ts'
import { createRunsHere } from './runs-here.ts'

/**
 * The pipeline runs of all control centers that share a database. Each control center performs the runs that were
 * started on it.
 */
export type Runs = Pick<RunRows, 'list' | 'last' | 'need' | 'isGoingOn' | 'uses'> & {
  /** @throws ERR_STOPPING, and the errors that `RunRows.add` throws */
  start(pipeline: Pipeline, version: PackageVersion, stamp: GivenStamp, by: string): Promise<Run>
  /** The log so far, after line number `after`. */
  log(run: string, after: number): Promise<readonly RunLine[]>
  /**
   * Sends the run's log after line number `after`, and its progress. It sends the current state first, and then each
   * change. `onEnd` is called once, after the last event. For a run that has ended, it is called immediately.
   */
  follow(run: Run, after: number, onEvent: (event: RunEvent) => void, onEnd: () => void): Promise<() => void>
  /**
   * Cancels a running run on any control center. The run's remaining steps are skipped. If that control center has
   * crashed, the run may be shown as running for another minute.
   * @throws ERR_RUN_ENDED
   */
  cancel(run: Run): Promise<void>
  /** Interrupts all runs that this process performs. */
  stop(): Promise<void>
}

/** Interval in ms for renewing leases and checking for cancel requests. */
const RENEW_EVERY = 1000
/** Interval in ms for finding runs whose leases have expired. */
const LOOK_EVERY = 5000

export type RunsParts = {
  readonly db: CenterDatabase
  readonly work: StepWork
  readonly log: Pick<Logger, 'error'>
  /**
   * Whether other processes may use the database. If not, all leases at startup are left over from an earlier process,
   * and expire immediately.
   */
  readonly isShared: boolean
  /** The clock, in epoch milliseconds. */
  readonly now?: () => number
}

export async function createRuns({ db, work, log, isShared, now = Date.now }: RunsParts): Promise<Runs> {
  const leases = await createRunLeases(db, now)
  const rows = createRunRows(db, leases, now)
  const waits = createRunWaits()
  const here = createRunsHere({ db, leases, rows, waits, work, log, now })
  const elsewhere = createRunsElsewhere({ db, leases, rows, waits, now })
  let isStopped = false
  if (!isShared) await leases.endAll()
  await rows.interruptLost()
  const stops = [
    every(RENEW_EVERY, here.renew),
    every(RENEW_EVERY, here.giveUpLate),
    every(LOOK_EVERY, rows.interruptLost),
  ]

  function every(time: number, look: () => Promise<void>): () => Promise<void> {
    return repeat(time, look, (error) =>
      log.error({ stack: error.stack }, 'the state of the pipeline runs could not be updated'),
    )
  }

  return {
    ...rows,
    async start(pipeline, version, stamp, by) {
      if (isStopped)
        throw new PlatformError(
          'ERR_STOPPING',
          'The control center is stopping, so the run was not started. Try again in a moment.',
        )
      const run = await rows.add(pipeline, version, stamp, by)
      const going = here.begin(pipeline, run)
      if (isStopped) {
        going.abort.abort('interrupted' satisfies RunState)
        await going.ended
      }
      return run
    },
    async log(run, after) {
      const going = here.find(run)
      if (going === undefined) return readRunLog(db, run, after)
      const lines: RunLine[] = []
      going.log.follow(after, (line) => lines.push(line))()
      return lines
    },
    async follow(run, after, onEvent, onEnd) {
      const going = here.find(run.id)
      if (going === undefined) return elsewhere.follow(run.id, after, { onEvent, onEnd })
      const follower = { onEvent, onEnd }
      onEvent({ run: { state: going.state, steps: stepsOf(going.states) } })
      const unfollow = going.log.follow(after, (line) => onEvent({ line }))
      going.followers.add(follower)
      return () => {
        unfollow()
        going.followers.delete(follower)
      }
    },
    async cancel(run) {
      const going = here.find(run.id)
      if (going === undefined) return elsewhere.cancel(run)
      going.abort.abort('cancelled' satisfies RunState)
      await going.ended
    },
    async stop() {
      isStopped = true
      const ended = here.interruptAll()
      elsewhere.stop()
      await ended
      await Promise.all(stops.map((stop) => stop()))
    },
  }
}
