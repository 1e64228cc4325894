import { PlatformError } from '../../runtime/errors.ts'
import type { Environment } from '../environments/environments.ts'

/** The ids of the environment and organisation that send the telemetry. */
export type Owner = Pick<Environment, 'id' | 'organisation'>

/**
 * Limits the memory that telemetry uses, in bytes. Neither a single environment nor a single organisation can use all
 * of it.
 */
export interface Shares {
  /**
   * @throws ERR_THROTTLED if the environment or organisation uses too much
   * @throws ERR_TELEMETRY_BUSY if all of them together use too much
   */
  need(owner: Owner, bytes: number): void
  /** @param bytes negative to release memory */
  count(owner: Owner, bytes: number): void
}

export type MostOf = { readonly environment: number; readonly organisation: number; readonly all: number }

export function createShares(most: MostOf): Shares {
  /** Keyed by id. Environments and organisations can share the map, because their ids are UUIDs. */
  const used = new Map<string, number>()
  let all = 0

  function add(id: string, bytes: number): void {
    const sum = (used.get(id) ?? 0) + bytes
    if (sum === 0) used.delete(id)
    else used.set(id, sum)
  }

  return {
    need({ id, organisation }, bytes) {
      for (const [name, owner, bound] of [
        ['environment', id, most.environment],
        ['organisation', organisation, most.organisation],
      ] as const) {
        if ((used.get(owner) ?? 0) + bytes <= bound) continue
        throw new PlatformError(
          'ERR_THROTTLED',
          `The control center is still processing earlier telemetry from this ${name}. Wait a moment, then try again.`,
        )
      }
      if (all + bytes > most.all) {
        throw new PlatformError(
          'ERR_TELEMETRY_BUSY',
          'The control center receives more telemetry than it can store. Wait a moment, then try again.',
        )
      }
    },
    count({ id, organisation }, bytes) {
      all += bytes
      add(id, bytes)
      add(organisation, bytes)
    },
  }
}
