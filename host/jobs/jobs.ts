import type { Logger } from 'pino'
import type { Limits } from '../../runtime/limits.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { Maintenance } from '../maintenance/maintenance.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { EntryRunner } from '../solutions/run-entry.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'
import type { StoreQueuedRuns } from '../solutions/store-queued-runs.ts'
import { createDatabaseRuns } from './database-runs.ts'
import type { JobRuns, Run } from './job-runs.ts'
import { createJobWorker, type JobWorker } from './job-worker.ts'
import { createPauses, type Pauses } from './pauses.ts'
import { createRunJob } from './run-job.ts'
import { createSchedules, type Schedules } from './schedules.ts'
import { createStoreRuns } from './store-runs.ts'

/** Stores the runs of jobs in the database. Scripts can queue runs in all kinds of calls. */
export type JobStore = {
  readonly runs: JobRuns
  readonly pauses: Pauses
  readonly storeRuns: StoreQueuedRuns
  /** `wake` is called after this host has added runs. */
  onAdded(wake: () => void): void
}

export function createJobStore(db: HostDatabase, limits: Limits, now: () => number): JobStore {
  const runs = createDatabaseRuns(db, limits, now)
  let added = () => {}
  return {
    runs,
    pauses: createPauses(db, now),
    storeRuns: createStoreRuns(runs, limits, now, () => added()),
    onAdded(wake) {
      added = wake
    },
  }
}

export type JobsParts = {
  readonly jobStore: JobStore
  readonly db: HostDatabase
  readonly limits: Limits
  readonly catalog: Catalog
  readonly runEntry: EntryRunner
  readonly maintenance: Pick<Maintenance, 'isOn'>
  readonly isDraining: () => boolean
  readonly solutionLog: Pick<SolutionLog, 'write'>
  readonly log: Pick<Logger, 'error'>
  readonly serverUrlOf: (solution: string) => string
  readonly timeZone: string
  readonly hasSchedules: boolean
  readonly failed: (run: Run) => void
  readonly now: () => number
}

/** Creates the parts that run jobs on this host. */
export function createJobs(parts: JobsParts): { readonly worker: JobWorker; readonly schedules: Schedules } {
  const { jobStore, maintenance, isDraining } = parts
  const { runs, pauses } = jobStore
  const schedules = createSchedules({ ...parts, runs, pauses })
  const mayStart = async () => !isDraining() && !(await maintenance.isOn())
  const worker = createJobWorker({ ...parts, runs, pauses, schedules, runJob: createRunJob(parts), mayStart })
  jobStore.onAdded(worker.wake)
  return { worker, schedules }
}
