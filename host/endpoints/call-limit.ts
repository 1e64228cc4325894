import { createGates } from '../../runtime/gate.ts'
import type { Limits } from '../../runtime/limits.ts'

/** How long a call waits for a free slot, in ms. */
const PATIENCE = 1000
/** Maximum number of waiting calls for each running call. The request body of each waiting call is in memory. */
const WAITING_EACH = 16

/**
 * Limits the concurrent calls of each solution's endpoints on this host.
 * @returns a function that waits for a free slot, then runs the work. If the wait is too long or too many calls are
 *   waiting, it returns null without running the work
 */
export function createCallLimit({ REQUESTS_AT_ONCE: width }: Pick<Limits, 'REQUESTS_AT_ONCE'>, patience = PATIENCE) {
  const inTurn = createGates(width, width * (WAITING_EACH + 1))
  return <T>(solution: string, work: () => Promise<T>): Promise<T | null> =>
    inTurn(solution, patience, work, () => null)
}
