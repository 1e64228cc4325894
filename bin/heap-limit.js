// How large the heap of the host may grow. Plain JavaScript that an old Node parses, since an old Node runs it.
import { getHeapStatistics } from 'node:v8'

/** Of RUNTIME_XMX, which is for the host and all its processes. */
const PART = 1 / 2
/** In MB: with less the host would collect garbage all the time. */
const LEAST = 128
const UNITS = { k: 1 / 1024, m: 1, g: 1024 }

/**
 * The flags for a host with this environment. Node would take a quarter or half of the machine for its heap, and garbage that
 * nobody collects would cost the solutions their processes; only a container's limit makes it take less by itself.
 * @param {Record<string, string | undefined>} env
 * @param {number} [own] what Node would take without the flag, in MB
 * @returns {string[]} none where Node would take less, or where somebody has set the flag in NODE_OPTIONS
 */
export function heapFlags(env, own = getHeapStatistics().heap_size_limit / 1024 ** 2) {
  if (/--max[-_](old[-_]space|heap)[-_]size/.test(env.NODE_OPTIONS || '')) return []
  const [, number, unit] = /^(\d+)([kmg])$/.exec(env.RUNTIME_XMX || '3g') || []
  // What is no size is refused by the host.
  if (number === undefined) return []
  const limit = Math.max(LEAST, Math.floor(Number(number) * UNITS[unit] * PART))
  return limit < own ? [`--max-old-space-size=${limit}`] : []
}
