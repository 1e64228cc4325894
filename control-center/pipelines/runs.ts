import type { Logger } from 'pino'
import { repeat } from '../../base/work/repeat.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { CenterDatabase } from '../database/tables.ts'
import type { GivenStamp } from '../packages/build-stamp.ts'
import type { PackageVersion } from '../packages/package-rows.ts'
import type { Pipeline } from './pipelines.ts'
import { type Follower, followStored, type RunEvent } from './run-events.ts'
import { createRunLeases, LEASE } from './run-leases.ts'
import { createRunLog, readRunLog } from './run-log.ts'
import { createRunRows, type Run, type RunRows } from './run-rows.ts'
import { type RunLine, type RunState, stepsOf } from './run-states.ts'
import type { StepWork } from './run-steps.ts'
import { performRun, type RunAtWork } from './run-work.ts'

/**
 * The pipeline runs of all control centers on a database. Each control center performs the runs that were started on
 * it.
 */
export type Runs = Pick<RunRows, 'list' | 'last' | 'need' | 'isGoingOn' | 'uses'> & {
  /** @throws as `add` of `RunRows`, and ERR_STOPPING */
  start(pipeline: Pipeline, version: PackageVersion, stamp: GivenStamp, by: string): Promise<Run>
  /** The log so far, after line number `after`. */
  log(run: string, after: number): Promise<readonly RunLine[]>
  /**
   * Passes the log after line number `after` and the run's progress, now and on each change. `onEnd` is called once,
   * after the last event; immediately for a run that has ended.
   */
  follow(run: Run, after: number, onEvent: (event: RunEvent) => void, onEnd: () => void): Promise<() => void>
  /**
   * Cancels a running run on any control center; its remaining steps are skipped. If that control center has died, the
   * run may show as running for another minute.
   * @throws ERR_RUN_ENDED
   */
  cancel(run: Run): Promise<void>
  /** Interrupts all runs of this process. */
  stop(): Promise<void>
}

/** Interval in ms for renewing leases and checking for cancel requests. */
const RENEW_EVERY = 1000
/**
 * In ms. A run whose lease wasn't renewed for this long is aborted: other processes may be about to mark it as
 * interrupted.
 */
const GIVEN_UP = LEASE * 0.75
/** Poll interval for runs with expired leases, in ms. */
const LOOK_EVERY = 5000
/** Poll interval in ms while a run is queued, or while another control center cancels one. */
const WAIT_EVERY = 500
/** Maximum wait in ms for another control center to cancel a run; if that one has died, its lease expires later. */
const CANCEL_TIME = 20_000

type Active = RunAtWork & {
  state: RunState
  readonly abort: AbortController
  readonly followers: Set<Follower>
  renewedAt: number
  /** Resolves when the run has ended and everything is stored. */
  ended: Promise<void>
}

export type RunsParts = {
  readonly db: CenterDatabase
  readonly work: StepWork
  readonly log: Pick<Logger, 'error'>
  /**
   * Whether other processes may use the database; if not, leases left by an earlier process are expired at the start.
   */
  readonly isShared: boolean
  /** The clock, in epoch milliseconds. */
  readonly now?: () => number
}

export async function createRuns({ db, work, log, isShared, now = Date.now }: RunsParts): Promise<Runs> {
  const leases = await createRunLeases(db, now)
  const rows = createRunRows(db, leases, now)
  const active = new Map<string, Active>()
  /** Followers of runs on other control centers: unsubscribe function to end callback. */
  const elsewhere = new Map<() => void, () => void>()
  /** Resolve functions of the waits in `orSooner`; called when a run ends here. */
  const waiting = new Set<() => void>()
  let isStopped = false
  if (!isShared) await leases.endAll()
  await rows.interruptLost()
  const stops = [every(RENEW_EVERY, renew), every(RENEW_EVERY, giveUpLate), every(LOOK_EVERY, rows.interruptLost)]

  function every(time: number, look: () => Promise<void>): () => Promise<void> {
    return repeat(time, look, (error) =>
      log.error({ stack: error.stack }, 'the state of the pipeline runs could not be updated'),
    )
  }

  async function renew(): Promise<void> {
    const mine = [...active.values()]
    if (mine.length === 0) return
    const at = now()
    const held = await leases.renew(mine.map(({ run }) => run.id))
    for (const going of mine) {
      const lease = held.get(going.run.id)
      if (lease === undefined) going.abort.abort('interrupted' satisfies RunState)
      else going.renewedAt = at
      if (lease?.isCancelled) going.abort.abort('cancelled' satisfies RunState)
    }
  }

  /** Also works if the database doesn't answer at all. */
  async function giveUpLate(): Promise<void> {
    for (const { renewedAt, abort } of active.values()) {
      if (now() - renewedAt > GIVEN_UP) abort.abort('interrupted' satisfies RunState)
    }
  }

  async function waitForTurn({ run, signal, log: runLog }: RunAtWork): Promise<void> {
    let isLogged = false
    while (!signal.aborted && !(await leases.takePlace(run.id))) {
      if (!isLogged) runLog.say('check', 'Another run is in progress. This run is waiting.')
      isLogged = true
      await orSooner(WAIT_EVERY, signal)
    }
  }

  /** Waits until a run ends here, `signal` aborts, or `time` ms have passed. */
  async function orSooner(time: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, time)
    const wake = () => resolve()
    waiting.add(wake)
    signal.addEventListener('abort', wake, { once: true })
    await promise
    clearTimeout(timer)
    waiting.delete(wake)
    signal.removeEventListener('abort', wake)
  }

  /** Notifies local followers; those on other control centers poll the database. */
  function notify(going: Active): void {
    for (const { onEvent } of going.followers) onEvent({ run: { state: going.state, steps: stepsOf(going.states) } })
  }

  async function perform(going: Active): Promise<void> {
    const onStep = async () => {
      notify(going)
      await rows.note(going.run.id, stepsOf(going.states))
    }
    going.state = await performRun(going, { work, log, waitForTurn, onStep })
    notify(going)
    await rows.end(going.run.id, going.state, stepsOf(going.states))
  }

  function begin(pipeline: Pipeline, run: Run): Active {
    const abort = new AbortController()
    const going: Active = {
      ...{ run, pipeline, abort, signal: abort.signal, state: 'running', renewedAt: now() },
      log: createRunLog(db, run.id, log, now),
      states: new Map(),
      followers: new Set(),
      ended: Promise.resolve(),
    }
    active.set(run.id, going)
    going.ended = perform(going)
      .catch((error: Error) => log.error({ run: run.id, stack: error.stack }, 'a pipeline run could not be stored'))
      .finally(() => {
        active.delete(run.id)
        for (const { onEnd } of going.followers) onEnd()
        for (const wake of waiting) wake()
      })
    return going
  }

  /**
   * The process that performs the run sees the request at its next renewal; if there is none anymore, the lease
   * expires.
   */
  async function cancelElsewhere({ id, number }: Run): Promise<void> {
    if (!(await leases.askToCancel(id))) throw new PlatformError('ERR_RUN_ENDED', `Run ${number} has already ended.`)
    const { signal } = new AbortController()
    const until = now() + CANCEL_TIME
    while (!isStopped && now() < until && (await rows.find(id))?.state === 'running') {
      await orSooner(WAIT_EVERY, signal)
    }
  }

  async function followElsewhere(run: string, after: number, { onEvent, onEnd }: Follower): Promise<() => void> {
    let isOver = false
    const ended = () => {
      isOver = true
      elsewhere.delete(unfollow)
      onEnd()
    }
    let unfollow = () => {}
    unfollow = await followStored({ db, rows }, run, after, { onEvent, onEnd: ended })
    if (!isOver) elsewhere.set(unfollow, ended)
    if (isStopped) endElsewhere()
    return () => {
      unfollow()
      elsewhere.delete(unfollow)
    }
  }

  function endElsewhere(): void {
    for (const [unfollow, ended] of elsewhere) {
      unfollow()
      ended()
    }
  }

  return {
    ...rows,
    async start(pipeline, version, stamp, by) {
      if (isStopped)
        throw new PlatformError('ERR_STOPPING', 'The control center is stopping. Start the run again in a moment.')
      const run = await rows.add(pipeline, version, stamp, by)
      const going = begin(pipeline, run)
      if (isStopped) {
        going.abort.abort('interrupted' satisfies RunState)
        await going.ended
      }
      return run
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
      if (going === undefined) return followElsewhere(run.id, after, { onEvent, onEnd })
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
      const going = active.get(run.id)
      if (going === undefined) return cancelElsewhere(run)
      going.abort.abort('cancelled' satisfies RunState)
      await going.ended
    },
    async stop() {
      isStopped = true
      const going = [...active.values()]
      for (const { abort } of going) abort.abort('interrupted' satisfies RunState)
      endElsewhere()
      await Promise.all(going.map(({ ended }) => ended))
      await Promise.all(stops.map((stop) => stop()))
    },
  }
}
