import { type HostCall, tenantOf } from '../../base/bundles/host-call.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { StoreQueuedRuns } from '../solutions/store-queued-runs.ts'
import { type JobRuns, WaitingTooMany } from './job-runs.ts'
import { newRun } from './run-job.ts'

/** Stores the runs that a call queued, before the call's response is sent. @param stored called after storing them */
export function createStoreRuns(
  runs: Pick<JobRuns, 'add'>,
  limits: Pick<Limits, 'JOBS_WAITING'>,
  now: () => number,
  stored: () => void,
): StoreQueuedRuns {
  return async (call: HostCall) => {
    const { queued = [], tenant } = call.effects
    try {
      await runs.add(queued.map((run) => newRun(call.solution.name, run, tenant ?? tenantOf(call), now())))
    } catch (error) {
      if (!(error instanceof WaitingTooMany)) throw error
      const limit = { name: 'JOBS_WAITING', allowed: limits.JOBS_WAITING, used: error.used }
      return { code: 'script_quota', message: error.message, limit, milliseconds: 0 }
    }
    stored()
    return null
  }
}
