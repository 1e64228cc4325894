import type { QueuedRun } from '../../plugins/jobs/host.ts'
import type { Tenant } from '../../plugins/security/host.ts'

/**
 * `skipped` means that the run did not start, because the job's previous scheduled run was still waiting or running.
 */
export const RUN_STATES = ['waiting', 'running', 'succeeded', 'failed', 'cancelled', 'skipped'] as const
export type RunState = (typeof RUN_STATES)[number]

/** Why the last attempt failed. */
export type RunFailure = { readonly code: string; readonly message: string }

/** A run of a job. Times are in epoch ms. */
export type Run = {
  readonly id: string
  readonly solution: string
  readonly job: string
  readonly state: RunState
  readonly tenant: Tenant | null
  /** The run's data as JSON. */
  readonly data: string | null
  readonly result: string | null
  readonly failure: RunFailure | null
  /** Number of attempts so far, including a running one. */
  readonly attempt: number
  readonly missed: number
  /** When the run was due according to its job's schedule; null if a script queued the run. */
  readonly scheduledFor: number | null
  /** The earliest time when the next attempt may start. */
  readonly dueAt: number
  readonly createdAt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** Whether someone has cancelled the run while it is in progress. */
  readonly isCancelled: boolean
}

/** A run to add. */
export type NewRun = Pick<QueuedRun, 'id' | 'job' | 'data' | 'key'> & {
  readonly solution: string
  readonly tenant: Tenant | null
  readonly dueAt: number
}

/** A run that this host has started. `lease` identifies the attempt. */
export type ClaimedRun = Run & { readonly lease: string }

/** How an attempt ended. */
export type AttemptEnd =
  | { readonly kind: 'succeeded'; readonly result: string | null; readonly queued: readonly NewRun[] }
  /** `retryAt` is null if there are no attempts left. */
  | { readonly kind: 'failed'; readonly failure: RunFailure; readonly retryAt: number | null }
  | { readonly kind: 'cancelled' }
  /** The run was returned to the queue. The attempt isn't counted. */
  | { readonly kind: 'returned'; readonly dueAt: number }

export type RunFilter = {
  readonly job?: string | undefined
  readonly state?: RunState | undefined
  /** The id of a run. Only older runs are listed. */
  readonly before?: string | undefined
}

/** A job with waiting runs that are due. */
export type DueJob = { readonly solution: string; readonly job: string; readonly dueAt: number }

/**
 * Stores the runs of jobs. Only one host at a time has the lease for a run, which expires after 45 s unless it is
 * renewed. After that, `loseExpired` lets another host start the run again.
 */
export interface JobRuns {
  /**
   * Adds all of these runs or none. Runs whose key is already in use are left out.
   * @throws WaitingTooMany if the solution would then have more waiting runs than `JOBS_WAITING`
   */
  add(runs: readonly NewRun[]): Promise<void>
  /**
   * Adds the run for a due time. Its state is `skipped` if the job's previous scheduled run hasn't ended.
   * @returns false if the run was added before
   */
  addDue(run: NewRun & { readonly scheduledFor: number; readonly missed: number }): Promise<boolean>
  /** Makes the job's waiting runs due now if a host whose clock was ahead added them for due times after `later`. */
  bringForward(solution: string, job: string, later: number): Promise<void>
  due(now: number): Promise<readonly DueJob[]>
  /** Starts the job's next waiting run, unless `atOnce` runs are already running on all hosts together. */
  claim(solution: string, job: string, atOnce: number): Promise<ClaimedRun | null>
  /** Renews a run's lease, unless the lease was lost or the run was cancelled. */
  renew(run: ClaimedRun): Promise<'renewed' | 'lost' | 'cancelled'>
  /** Records how an attempt ended. @returns false if nothing was recorded, because the lease was lost */
  end(run: ClaimedRun, end: AttemptEnd): Promise<boolean>
  /**
   * Ends attempts whose host did not renew the lease.
   * @param attemptsOf returns the maximum number of attempts for a job
   * @returns the runs that failed because no attempts were left
   */
  loseExpired(attemptsOf: (solution: string, job: string) => Promise<number>): Promise<readonly Run[]>
  /** @returns the previous state, or null if there is no such run */
  cancel(solution: string, id: string): Promise<RunState | null>
  /** Cancels all runs of a solution that have not ended. */
  cancelAll(solution: string): Promise<void>
  /** Queues a failed or cancelled run again. @returns the previous state, or null if there is no such run */
  again(solution: string, id: string): Promise<RunState | null>
  find(solution: string, id: string): Promise<Run | null>
  /** Lists the newest runs, newest first. */
  list(solution: string, filter: RunFilter, limit: number): Promise<readonly Run[]>
  /** Returns the last run of each job that has started or was skipped, by job. */
  last(solution: string, jobs: readonly string[]): Promise<ReadonlyMap<string, Run>>
  /**
   * Deletes the oldest ended runs of solutions that have more than `JOB_RECORDS`. Looks only at solutions of which many
   * runs have ended on this host. `sweep` looks at all solutions.
   */
  trim(): Promise<void>
  /** Deletes runs that ended longer than `JOB_KEPT` ago, and the oldest ended runs beyond `JOB_RECORDS`. */
  sweep(): Promise<void>
  /** Deletes all ended runs of a solution. */
  eraseEnded(solution: string): Promise<void>
}

/** Lifetime of a lease, in ms. */
export const LEASE_TIME = 45_000

export class WaitingTooMany extends Error {
  readonly used: number

  constructor(solution: string, used: number) {
    super(`the solution "${solution}" has too many waiting job runs`)
    this.used = used
  }
}
