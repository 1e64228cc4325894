import { readFileSync } from 'node:fs'
import { getHeapStatistics } from 'node:v8'
import { type CgroupMemory, createCgroupMemory } from './memory-cgroup.ts'
import { memoryOf } from './process-memory.ts'

/** All sizes are in bytes. */
export type MemoryState = {
  /** The effective limit: the lower of `RUNTIME_XMX` and the limits of the control groups. */
  readonly maximum: number
  /** The limit in `RUNTIME_XMX`. */
  readonly configured: number
  /** The lowest limit of the control groups that the host is in; null if none has one. */
  readonly groupLimit: number | null
  /**
   * The memory used by the host and all its processes, to compare with `maximum`. The value is higher if a control
   * group is closer to its own limit.
   */
  readonly used: number
}

/** Measures how much memory the host and all its processes may use in total, and how much they use. */
export interface MemoryBound {
  /**
   * @param processes the processes in the pool. Processes that are starting or exiting are not counted at their current
   * size.
   */
  measure(processes: PoolProcesses): MemoryState
  /**
   * Whether the host's own heap is nearly full. Ending processes does not free any of it, and Node exits when it is
   * full.
   */
  isHeapFull(): boolean
}

export type PoolProcesses = {
  /**
   * The processes that serve solutions or check uploads. The host's other child processes are found through the
   * operating system.
   */
  readonly known: readonly number[]
  /** Processes that have just started: small, but about to grow. */
  readonly begun: readonly number[]
  /**
   * Processes that were killed but have not exited yet. Not counted, because they will exit before their replacements
   * have grown.
   */
  readonly leaving: readonly number[]
}

export type MemoryBoundOptions = {
  /** The limit in `RUNTIME_XMX`, in bytes. */
  readonly configured: number
  readonly groups?: CgroupMemory
  readonly memory?: typeof memoryOf
  readonly children?: () => readonly number[]
  readonly heap?: () => { readonly used: number; readonly limit: number }
}

/** The assumed size of a process that does not serve anything yet, in bytes (19 MB measured for one in use). */
export const NEW_PROCESS = 24 * 1024 ** 2
/**
 * The part of a control group’s limit that is left free, and its minimum in bytes.
 *
 * Chosen here: the host can exceed RUNTIME_XMX for a moment, but at the group's limit, the kernel kills processes. The
 * kernel also counts memory that no process reports, such as page tables, sockets and files in memory. Commands in the
 * container, such as a shell, need memory too. With this reserve, no process was killed in `npm run long -- memory`.
 */
const RESERVED = 1 / 16
const LEAST_RESERVED = 32 * 1024 ** 2
/**
 * The heap is treated as nearly full above this fraction of its limit, because V8 then spends its time collecting
 * garbage.
 */
const HEAP_FULL = 0.9

export function createMemoryBound(options: MemoryBoundOptions): MemoryBound {
  const {
    configured,
    groups = createCgroupMemory(),
    memory = memoryOf,
    children = ownChildren,
    heap = ownHeap,
  } = options

  /** The memory of the host and all its processes together; see `memoryOf` for shared memory. */
  function held({ known, begun, leaving }: PoolProcesses): number {
    const apart = new Set([...begun, ...leaving])
    const others = [...new Set([process.pid, ...known, ...children()])].filter((pid) => !apart.has(pid))
    const working = others.map(memory)
    const starting = begun.map(memory)
    const own = total(working.map((one) => one.own)) + total(starting.map((one) => Math.max(one.own, NEW_PROCESS)))
    return own + Math.max(...[...working, ...starting].map(({ shared }) => shared))
  }

  /**
   * Returns the expected change in a control group's usage, in bytes: killed processes will exit, and new ones will
   * grow.
   */
  function change({ begun, leaving }: PoolProcesses): number {
    const grown = begun.map((pid) => Math.max(0, NEW_PROCESS - memory(pid).own))
    return total(grown) - total(leaving.map((pid) => memory(pid).own))
  }

  return {
    measure(processes) {
      const limited = groups().map(({ limit, used }) => ({ limit: less(limit), used, whole: limit }))
      const maximum = Math.min(configured, ...limited.map(({ limit }) => limit))
      const changes = limited.length === 0 ? 0 : change(processes)
      // Other processes in the group, such as a pod's second container, reduce the memory that is left for the host.
      const left = limited.map(({ limit, used }) => limit - used - changes)
      const used = maximum - Math.min(maximum - held(processes), ...left)
      const groupLimit = limited.length === 0 ? null : Math.min(...limited.map(({ whole }) => whole))
      return { maximum, configured, groupLimit, used: Number.isFinite(used) ? used : held(processes) }
    },
    isHeapFull() {
      const { used, limit } = heap()
      return used > limit * HEAP_FULL
    },
  }
}

/** Rounds a limit down to whole MB, the unit that operators use. */
export function wholeMegabytes(bytes: number): number {
  return Math.floor(bytes / 1024 ** 2)
}

/** Returns the part of a control group's limit that the host may use, in bytes. */
function less(limit: number): number {
  return limit - Math.max(limit * RESERVED, LEAST_RESERVED)
}

/** Returns the control group limit that leaves `maximum` for the host, in bytes. */
export function groupLimitFor(maximum: number): number {
  return Math.ceil(Math.max(maximum + LEAST_RESERVED, maximum / (1 - RESERVED)))
}

/**
 * Returns the child processes started by this process's main thread, including embedded databases; empty if the kernel
 * does not list them.
 * @see proc_tid_children(5)
 */
export function ownChildren(): readonly number[] {
  try {
    const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'latin1')
    return children.split(' ').map(Number).filter(Boolean)
  } catch {
    return []
  }
}

function ownHeap(): { readonly used: number; readonly limit: number } {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  return { used, limit }
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
