import type { Limits } from './limits.ts'
import type { Failed } from './outcome.ts'

/**
 * Limits for one call that the host itself enforces. The guest enforces them too, with an error that names the limit,
 * but a compromised sandbox process might not.
 */
export interface CallCounts {
  /** @returns the call's failure if it made too many requests; null if this request may be handled */
  request(milliseconds: number): Failed | null
  /** @returns false if the log line must be dropped */
  logLine(): boolean
}

/** One more line is allowed, in which the guest reports that it drops further lines. */
const LAST_LINE = 1

export function createCallCounts({ CALL_REQUESTS, LOG_LINES }: Limits): CallCounts {
  let requests = 0
  let lines = 0
  return {
    request(milliseconds) {
      if (++requests <= CALL_REQUESTS) return null
      const limit = { name: 'CALL_REQUESTS', allowed: CALL_REQUESTS, used: requests }
      const message = 'the call made more requests than CALL_REQUESTS allows, so the host terminated its process'
      return { code: 'script_quota', message, limit, milliseconds }
    },
    logLine: () => ++lines <= LOG_LINES + LAST_LINE,
  }
}
