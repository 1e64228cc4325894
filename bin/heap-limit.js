// The host's heap limit. Plain JavaScript in old syntax, since an old Node.js may run it.
import { getHeapStatistics } from 'node:v8'

/** The heap's share of RUNTIME_XMX. The rest is for the host's other memory and for all its processes. */
const PART = 1 / 2
/** The minimum, in MB. With less, the host would spend most of its time on garbage collection. */
const LEAST = 128
const UNITS = { k: 1 / 1024, m: 1, g: 1024 }

/**
 * Returns the flags for a host with this environment. By default, Node.js uses a quarter or half of the machine's
 * memory for its heap, and only a container's limit lowers that. Uncollected garbage would leave less memory for the
 * solutions' processes.
 * @param {Record<string, string | undefined>} env
 * @param {number} [own] the default heap limit of Node.js, in MB
 * @returns {string[]} empty if the default is lower, or if the flag is set in NODE_OPTIONS
 */
export function heapFlags(env, own = getHeapStatistics().heap_size_limit / 1024 ** 2) {
  if (/--max[-_](old[-_]space|heap)[-_]size/.test(env.NODE_OPTIONS || '')) return []
  const [, number, unit] = /^(\d+)([kmg])$/.exec(env.RUNTIME_XMX || '3g') || []
  // Set no limit for an invalid size: the host rejects the setting when it starts.
  if (number === undefined) return []
  const limit = Math.max(LEAST, Math.floor(Number(number) * UNITS[unit] * PART))
  return limit < own ? [`--max-old-space-size=${limit}`] : []
}
