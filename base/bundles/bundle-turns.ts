import { PlatformError } from '../../runtime/errors.ts'
import { createGate } from '../../runtime/gate.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'

/**
 * Queues work on a bundle. Runs the work once a slot is free and there is enough memory for the unpacked files.
 * @throws ERR_MEMORY_FULL, ERR_SANDBOX_BUSY if the work waited too long, and the errors of `work`
 */
export type BundleTurns = <T>(packed: Pick<Uint8Array, 'length'>, work: () => Promise<T>) => Promise<T>

/**
 * Maximum number of bundles that are processed in parallel. Each one's unpacked files are in this process's memory
 * (`BUNDLE_UNPACKED`). Further bundles are queued.
 */
const AT_ONCE = 2
/** Maximum time in the queue, in ms: enough for several of the longest checks. */
const PATIENCE = 60_000
/** Typical ratio of unpacked to packed size. If the ratio of a bundle is higher, memory checks stop it. */
export const UNPACKED = 4

/** @param what a word for the queued bundles, used in the error message */
export function createBundleTurns(
  what: 'uploads' | 'bundles',
  needRoom: Supervisor['needRoom'],
  limits: Pick<Limits, 'BUNDLE_UNPACKED'>,
): BundleTurns {
  const turns = createGate(AT_ONCE)
  return async (packed, work) => {
    if (!(await turns.enter(PATIENCE))) {
      const message = `Too many ${what} are being checked. Yours waited for ${PATIENCE / 1000} s and was not checked. Try again later.`
      throw new PlatformError('ERR_SANDBOX_BUSY', message, { retryAfter: 30 })
    }
    try {
      needRoom(Math.min(packed.length * UNPACKED, limits.BUNDLE_UNPACKED))
      return await work()
    } finally {
      turns.leave()
    }
  }
}
