import type { Failed } from '../../runtime/outcome.ts'

/** Retry delay in seconds if no sandbox process is free, and it isn't known when one will be. */
const BUSY_FOR = 5

/** Returns the retry delay after a failure with `sandbox_busy`, in seconds. */
export function retryAfter(failure: Failed): number {
  return failure.retryAt === undefined ? BUSY_FOR : Math.max(1, Math.ceil((failure.retryAt - Date.now()) / 1000))
}
