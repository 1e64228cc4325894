import type { HostCall } from '../../base/bundles/host-call.ts'
import type { Failed } from '../../runtime/outcome.ts'

/**
 * Stores the runs of jobs that a call has queued.
 * @returns null if they were stored; otherwise why the call fails
 * @throws if the database is unreachable
 */
export type StoreQueuedRuns = (call: HostCall) => Promise<Failed | null>

/** Stores the runs that the call queued, if any. Runs that a job queued are stored together with the job's result. */
export async function storeQueued(call: HostCall, store: StoreQueuedRuns | undefined): Promise<Failed | null> {
  const { effects, kind } = call
  if (store === undefined || kind === 'job' || (effects.queued ?? []).length === 0) return null
  return store(call)
}
