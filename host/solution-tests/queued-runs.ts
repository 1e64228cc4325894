import type { QueuedRun } from '../../plugins/jobs/host.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { StoreQueuedRuns } from '../solutions/store-queued-runs.ts'

type Added = Pick<QueuedRun, 'job' | 'data' | 'key'> & Partial<Pick<QueuedRun, 'after' | 'at'>>

/** Stores the job runs that scripts queue in a test. They don't run automatically: tests call `solution.runJob`. */
export function createQueuedRuns() {
  let all: Added[] = []
  const store: StoreQueuedRuns = async ({ effects }) => {
    all.push(...(effects.queued ?? []))
    return null
  }
  return {
    store,
    add(runs: readonly Added[]): void {
      all.push(...runs)
    },
    list: (): readonly Json[] =>
      all.map(({ job, data, key, after = null, at = null }) => ({
        name: job,
        data: data === null ? null : (JSON.parse(data) as Json),
        key,
        after,
        at,
      })),
    clear(): void {
      all = []
    },
  }
}
