import { PlatformError } from '../../runtime/errors.ts'
import { createGate } from '../../runtime/gate.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'

/**
 * Works on a bundle once it is its turn and there is memory for what it unpacks.
 * @throws ERR_MEMORY_FULL, ERR_SANDBOX_BUSY when too many wait, and what `work` throws
 */
export type BundleTurns = <T>(packed: Uint8Array, work: () => Promise<T>) => Promise<T>

/** Each holds its unpacked files in this process (`BUNDLE_UNPACKED`), so only so many are worked on at once; others wait. */
const AT_ONCE = 2
/** In ms: several of the longest checks. */
const PATIENCE = 60_000
/** What bundles mostly grow by when they are unpacked; the rest is seen when the memory is looked at. */
const UNPACKED = 4

/** @param what they are called where one is told that there are too many */
export function createBundleTurns(
  what: 'uploads' | 'bundles',
  needRoom: Supervisor['needRoom'],
  limits: Pick<Limits, 'BUNDLE_UNPACKED'>,
): BundleTurns {
  const turns = createGate(AT_ONCE)
  return async (packed, work) => {
    if (!(await turns.enter(PATIENCE))) {
      const message = `Too many ${what} are checked: this one waited ${PATIENCE / 1000} s.`
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
