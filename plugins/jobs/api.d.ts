interface Plugins {
  /** Runs functions later, in the background. `solution.json` lists them under `jobs`. */
  readonly jobs: {
    /**
     * Queues a run of a job. The run is queued only if the call succeeds or, in a sign-in, only if the login is
     * accepted. If the run can't be stored, the call fails with the status 503, and none of its effects apply.
     *
     *     plugins.jobs.enqueue('mail', { to: 'anna@example.org' }, { key: 'welcome anna' })
     *
     * @param name the name of a job in the solution or its modules
     * @param data JSON that is passed to the job as `job.data`. It is deleted once the run has succeeded.
     * @returns the run's id. If there is already a run with the same `key`, no run is added, and the returned id
     * belongs to no run.
     * @throws TypeError for an unknown job and for arguments of the wrong type
     */
    enqueue(name: string, data?: unknown, options?: EnqueueOptions | null): string
  }
}

/** When a run of a job starts, and for which tenant. */
interface EnqueueOptions {
  /** The earliest start, in milliseconds from now; at most 366 days. */
  after?: number | null
  /** The earliest start, as a Date or in milliseconds since 1970. */
  at?: Date | number | null
  /**
   * Prevents duplicates. A run is not added if another run of the job with this key is waiting, is running, or
   * succeeded within the last `JOB_KEY`. At most 200 characters.
   */
  key?: string | null
  /** The tenant of the run. Only jobs can set it. By default, the tenant of the call that queues the run. */
  tenant?: (string | number)[] | null
}

/** A job's run, as it is passed to the job's function. */
interface JobRun {
  /** The run's id. All attempts of a run have the same id. */
  readonly id: string
  /** The job's name. */
  readonly name: string
  /** The data passed to `plugins.jobs.enqueue`; null if there is none. */
  readonly data: any
  /** The number of this attempt, starting at 1. */
  readonly attempt: number
  /**
   * When the run was due according to the job's schedule, in milliseconds since 1970; null if a script queued the run.
   */
  readonly scheduledFor: number | null
  /** The number of earlier due times that were missed because no host could start the job. */
  readonly missed: number
}
