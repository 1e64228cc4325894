import { LEAST_MEMORY } from '../base/config/properties.ts'
import { groupLimitFor, type MemoryState, wholeMegabytes } from '../runtime/memory-bound.ts'

/**
 * Checks whether RUNTIME_XMX fits the machine. A lower cgroup limit is reported but is not an error, since the host
 * adapts to it automatically.
 * @param machine the machine's memory in bytes
 */
export function memoryFinding(
  { configured, groupLimit, maximum }: Pick<MemoryState, 'configured' | 'groupLimit' | 'maximum'>,
  machine: number,
): { readonly ok: boolean; readonly found: string; readonly advice?: string } {
  const asked = `RUNTIME_XMX is ${wholeMegabytes(configured)} MB`
  if (groupLimit !== null && maximum < configured) {
    const group = `the cgroup (container) allows ${wholeMegabytes(groupLimit)} MB`
    return {
      ok: maximum >= LEAST_MEMORY,
      found: `${asked}, but ${group}, so the host uses at most ${wholeMegabytes(maximum)} MB`,
      advice: `Raise the container’s memory limit to ${wholeMegabytes(groupLimitFor(LEAST_MEMORY))} MB or more. docs/operating.md describes how much memory a host needs.`,
    }
  }
  if (configured < machine) return { ok: true, found: `${asked}, and the machine has ${wholeMegabytes(machine)} MB` }
  return {
    ok: false,
    found: `${asked}, but the machine has only ${wholeMegabytes(machine)} MB and can run out of memory`,
    advice: `Set RUNTIME_XMX to less than ${wholeMegabytes(machine)}m. Leave room for other programs on this machine.`,
  }
}
