import { LEAST_MEMORY } from '../../base/config/properties.ts'
import { groupLimitFor, type MemoryState, wholeMegabytes } from '../../runtime/memory-bound.ts'

/** Warns once at startup if RUNTIME_XMX exceeds the container's limit, and logs which limit applies. */
export function sayMemory(
  { maximum, configured, groupLimit }: MemoryState,
  log: { readonly warn: (line: string) => void },
): void {
  if (groupLimit === null || configured <= maximum) return
  const [asked, limit, inForce] = [configured, groupLimit, maximum].map(wholeMegabytes)
  // Settings validation already rejects a RUNTIME_XMX below LEAST_MEMORY.
  const advice =
    maximum < LEAST_MEMORY
      ? `A host needs at least ${wholeMegabytes(LEAST_MEMORY)} MB: raise the cgroup’s limit to ${wholeMegabytes(groupLimitFor(LEAST_MEMORY))} MB or more, and set RUNTIME_XMX to at least ${wholeMegabytes(LEAST_MEMORY)}m.`
      : `Set RUNTIME_XMX=${inForce}m, or raise the cgroup’s limit.`
  log.warn(
    `RUNTIME_XMX is ${asked} MB, but the cgroup of this process (for example, its container) allows only ${limit} MB. ` +
      `The host keeps itself and its sandbox processes below ${inForce} MB. ${advice}`,
  )
}
