import type { Logger } from 'pino'
import type { CenterDatabase } from '../database/tables.ts'
import type { Pipeline } from './pipelines.ts'
import type { Follower } from './run-events.ts'
import { LEASE, type RunLeases } from './run-leases.ts'
import { createRunLog } from './run-log.ts'
import type { Run, RunRows } from './run-rows.ts'
import { type RunState, stepsOf } from './run-states.ts'
import type { StepWork } from './run-steps.ts'
import type { RunWaits } from './run-waits.ts'
import { performRun, type RunAtWork } from './run-work.ts'

/** The runs that this control center performs. */
export interface RunsHere {
  /** Finds a run; undefined if another control center performs it, or it has ended. */
  find(run: string): ActiveRun | undefined
  begin(pipeline: Pipeline, run: Run): ActiveRun
  /** Renews the leases, and aborts runs that have lost their lease or were cancelled. */
  renew(): Promise<void>
  /** Aborts runs whose leases could not be renewed. This works even if the database doesn't respond at all. */
  giveUpLate(): Promise<void>
  /** Aborts all runs. Resolves when they have ended. */
  interruptAll(): Promise<void>
}

export type ActiveRun = RunAtWork & {
  state: RunState
  readonly abort: AbortController
  readonly followers: Set<Follower>
  renewedAt: number
  /** Resolves when the run has ended and its result and log are stored. */
  ended: Promise<void>
}

export type RunsHereParts = {
  readonly db: CenterDatabase
  readonly leases: RunLeases
  readonly rows: RunRows
  readonly waits: RunWaits
  readonly work: StepWork
  readonly log: Pick<Logger, 'error'>
  readonly now: () => number
}

/**
 * If a lease isn't renewed for this long, in ms, its run is aborted. Other processes may soon mark that run as
 * interrupted.
 */
const GIVEN_UP = LEASE * 0.75

export function createRunsHere({ db, leases, rows, waits, work, log, now }: RunsHereParts): RunsHere {
  const active = new Map<string, ActiveRun>()

  async function waitForTurn({ run, signal, log: runLog }: RunAtWork): Promise<void> {
    let isLogged = false
    while (!signal.aborted && !(await leases.takePlace(run.id))) {
      if (!isLogged) runLog.say('check', 'Another run is in progress. This run is waiting.')
      isLogged = true
      await waits.wait(signal)
    }
  }

  /** Notify local followers. Followers on other control centers poll the database. */
  function notify(going: ActiveRun): void {
    for (const { onEvent } of going.followers) onEvent({ run: { state: going.state, steps: stepsOf(going.states) } })
  }

  async function perform(going: ActiveRun): Promise<void> {
    const onStep = async () => {
      notify(going)
      await rows.note(going.run.id, stepsOf(going.states))
    }
    going.state = await performRun(going, { work, log, waitForTurn, onStep })
    notify(going)
    await rows.end(going.run.id, going.state, stepsOf(going.states))
  }

  return {
    find: (run) => active.get(run),
    begin(pipeline, run) {
      const abort = new AbortController()
      const going: ActiveRun = {
        ...{ run, pipeline, abort, signal: abort.signal, state: 'running', renewedAt: now() },
        log: createRunLog(db, run.id, log, now),
        states: new Map(),
        followers: new Set(),
        ended: Promise.resolve(),
      }
      active.set(run.id, going)
      going.ended = perform(going)
        .catch((error: Error) =>
          log.error({ run: run.id, stack: error.stack }, 'a pipeline run’s state could not be stored'),
        )
        .finally(() => {
          active.delete(run.id)
          for (const { onEnd } of going.followers) onEnd()
          waits.wake()
        })
      return going
    },
    async renew() {
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
    },
    async giveUpLate() {
      for (const { renewedAt, abort } of active.values()) {
        if (now() - renewedAt > GIVEN_UP) abort.abort('interrupted' satisfies RunState)
      }
    },
    async interruptAll() {
      const going = [...active.values()]
      for (const { abort } of going) abort.abort('interrupted' satisfies RunState)
      await Promise.all(going.map(({ ended }) => ended))
    },
  }
}
