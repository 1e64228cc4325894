interface Plugins {
  /** Work that runs later, in functions that `solution.json` lists under `jobs`. */
  readonly jobs: {
    /**
     * Queues a run of a job. It has an effect only if the call succeeds; in a sign-in, only if the login is accepted.
     * If the run can't be stored, the caller gets the status 503, and nothing in the call has an effect.
     *
     *     plugins.jobs.enqueue('mail', { to: 'anna@example.org' }, { key: 'welcome anna' })
     *
     * @param name of a job in the solution or its modules
     * @param data JSON, which the job gets as `job.data`. It is erased once the run has succeeded.
     * @returns the run's id. If there is already a run with the same `key`, nothing is added, and no run has this id.
     * @throws TypeError for an unknown job and for arguments of the wrong type
     */
    enqueue(name: string, data?: unknown, options?: EnqueueOptions | null): string
  }
}

/** When a run of a job starts, and for which tenant. */
interface EnqueueOptions {
  /** Earliest start in milliseconds from now, at most 366 days. */
  after?: number | null
  /** Earliest start, as a Date or in milliseconds since 1970. */
  at?: Date | number | null
  /**
   * While a run of the job with this key waits or runs, or has succeeded within `JOB_KEY`, nothing is added. At most
   * 200 characters.
   */
  key?: string | null
  /** The tenant of the run, which only a job may set. Default: the caller's. */
  tenant?: (string | number)[] | null
}

/** A run of a job, as its function gets it. */
interface JobRun {
  /** The same for all attempts. */
  readonly id: string
  /** The job's name. */
  readonly name: string
  /** From `plugins.jobs.enqueue`, or null. */
  readonly data: any
  /** 1 for the first attempt. */
  readonly attempt: number
  /** The due time in milliseconds since 1970; null if the run was queued. */
  readonly scheduledFor: number | null
  /** The number of earlier due times at which no host could start the job. */
  readonly missed: number
}
