import { PlatformError } from '../../runtime/errors.ts'
import type { CenterDatabase } from '../database/tables.ts'
import { type Follower, followStored } from './run-events.ts'
import type { RunLeases } from './run-leases.ts'
import type { Run, RunRows } from './run-rows.ts'
import type { RunWaits } from './run-waits.ts'

/** Runs that another control center performs, or that have ended. */
export interface RunsElsewhere {
  /**
   * Requests that a run be cancelled. The process that performs the run sees the request when it next renews the lease.
   * If that process has exited, the lease expires.
   * @throws ERR_RUN_ENDED
   */
  cancel(run: Run): Promise<void>
  /** Follows a run in the database. @returns a function that stops following, without calling `onEnd` */
  follow(run: string, after: number, follower: Follower): Promise<() => void>
  /** Stops all followers. Followers that are added afterwards stop immediately. */
  stop(): void
}

export type RunsElsewhereParts = {
  readonly db: CenterDatabase
  readonly leases: Pick<RunLeases, 'askToCancel'>
  readonly rows: Pick<RunRows, 'find'>
  readonly waits: RunWaits
  readonly now: () => number
}

/**
 * Maximum wait in ms for another control center to cancel a run. If that control center has crashed, its lease takes
 * longer than this to expire.
 */
const CANCEL_TIME = 20_000

export function createRunsElsewhere({ db, leases, rows, waits, now }: RunsElsewhereParts): RunsElsewhere {
  /** Keys are the functions that stop following; values are the `end` callbacks. */
  const following = new Map<() => void, () => void>()
  let isStopped = false

  function endAll(): void {
    for (const [unfollow, ended] of following) {
      unfollow()
      ended()
    }
  }

  return {
    async cancel({ id, number }) {
      if (!(await leases.askToCancel(id))) throw new PlatformError('ERR_RUN_ENDED', `Run ${number} has already ended.`)
      const { signal } = new AbortController()
      const until = now() + CANCEL_TIME
      while (!isStopped && now() < until && (await rows.find(id))?.state === 'running') await waits.wait(signal)
    },
    async follow(run, after, { onEvent, onEnd }) {
      let isOver = false
      const ended = () => {
        isOver = true
        following.delete(unfollow)
        onEnd()
      }
      let unfollow = () => {}
      unfollow = await followStored({ db, rows }, run, after, { onEvent, onEnd: ended })
      if (!isOver) following.set(unfollow, ended)
      if (isStopped) endAll()
      return () => {
        unfollow()
        following.delete(unfollow)
      }
    },
    stop() {
      isStopped = true
      endAll()
    },
  }
}
