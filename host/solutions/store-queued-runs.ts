import type { HostCall } from '../../base/bundles/host-call.ts'
import type { Failed } from '../../runtime/outcome.ts'

/**
 * Stores the job runs that a call has queued.
 * @returns null if they were stored; otherwise the error that the call fails with
 * @throws if the database is unreachable
 */
export type StoreQueuedRuns = (call: HostCall) => Promise<Failed | null>

/**
 * Stores the job runs that a call queued, except those queued by a job: they are stored together with the job's result.
 */
export async function storeQueued(call: HostCall, store: StoreQueuedRuns | undefined): Promise<Failed | null> {
  const { effects, kind } = call
  if (store === undefined || kind === 'job' || (effects.queued ?? []).length === 0) return null
  return store(call)
}
