import type { Failed } from '../../runtime/outcome.ts'

/** Seconds that a browser is asked to wait when no sandbox process was free and nobody knows when one will be. */
const BUSY_FOR = 5

/** When it is worth trying again after `sandbox_busy`, in seconds from now. */
export function retryAfter(failure: Failed, now: number = Date.now()): number {
  return failure.retryAt === undefined ? BUSY_FOR : Math.max(1, Math.ceil((failure.retryAt - now) / 1000))
}
