import { readFileSync } from 'node:fs'
import { getHeapStatistics } from 'node:v8'
import { type CgroupMemory, createCgroupMemory } from './memory-cgroup.ts'
import { memoryOf } from './process-memory.ts'

/** In bytes. */
export type MemoryState = {
  /** In force: the lower of `RUNTIME_XMX` and what the control groups leave. */
  readonly maximum: number
  /** `RUNTIME_XMX`. */
  readonly configured: number
  /** The lowest limit of the control groups that the host is in; null: none has one. */
  readonly groupLimit: number | null
  /** Of `maximum`: what the host and all its processes hold, or more where a control group counts more. */
  readonly used: number
}

/** How much host and all its processes may hold together, and do. */
export interface MemoryBound {
  /** @param processes those of the pool that count for more or less than they hold, see there */
  measure(processes: PoolProcesses): MemoryState
  /** Whether the host's own heap, which nothing can be taken from, is about to be too small: Node ends the process then. */
  isHeapFull(): boolean
}

export type PoolProcesses = {
  /** All that the supervisor knows; the host's other children are found by the system. */
  readonly known: readonly number[]
  /** They begin: they are small still, and will not stay so. */
  readonly begun: readonly number[]
  /** Killed, and not gone yet: what is started in their place grows later than they go. */
  readonly leaving: readonly number[]
}

export type MemoryBoundOptions = {
  /** `RUNTIME_XMX` in bytes. */
  readonly configured: number
  readonly groups?: CgroupMemory
  readonly memory?: typeof memoryOf
  readonly children?: () => readonly number[]
  readonly heap?: () => { readonly used: number; readonly limit: number }
}

/** What a process that serves nobody yet is counted as, in bytes (19 MB measured for one in use). */
export const NEW_PROCESS = 24 * 1024 ** 2
/**
 * The part of a control group’s limit that is left free, and at least so many bytes. Chosen here: beyond RUNTIME_XMX nothing
 * is killed at once, but at the group’s limit the kernel kills, and it counts what no process shows: page tables, sockets, files
 * in memory. A command in the container needs some, too. With it no process was killed in `npm run long -- memory`.
 */
const RESERVED = 1 / 16
const LEAST_RESERVED = 32 * 1024 ** 2
/** Above this part of its limit V8 collects garbage again and again to stay below it. */
const HEAP_FULL = 0.9

export function createMemoryBound(options: MemoryBoundOptions): MemoryBound {
  const {
    configured,
    groups = createCgroupMemory(),
    memory = memoryOf,
    children = ownChildren,
    heap = ownHeap,
  } = options

  /** Host and all its processes together; see `memoryOf` for what they share. */
  function held({ known, begun, leaving }: PoolProcesses): number {
    const apart = new Set([...begun, ...leaving])
    const others = [...new Set([process.pid, ...known, ...children()])].filter((pid) => !apart.has(pid))
    const working = others.map(memory)
    const starting = begun.map(memory)
    const own = total(working.map((one) => one.own)) + total(starting.map((one) => Math.max(one.own, NEW_PROCESS)))
    return own + Math.max(...[...working, ...starting].map(({ shared }) => shared))
  }

  /** What a control group's count will change by when those that leave are gone and those that begin have grown. */
  function change({ begun, leaving }: PoolProcesses): number {
    const grown = begun.map((pid) => Math.max(0, NEW_PROCESS - memory(pid).own))
    return total(grown) - total(leaving.map((pid) => memory(pid).own))
  }

  return {
    measure(processes) {
      const limited = groups().map(({ limit, used }) => ({ limit: less(limit), used, whole: limit }))
      const maximum = Math.min(configured, ...limited.map(({ limit }) => limit))
      const changes = limited.length === 0 ? 0 : change(processes)
      // Others in a group, such as a pod's second container, take from what it leaves to the host.
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

/** Of a limit, as operators write it: never more than it is. */
export function wholeMegabytes(bytes: number): number {
  return Math.floor(bytes / 1024 ** 2)
}

/** What of a control group's limit the host uses, in bytes. */
function less(limit: number): number {
  return limit - Math.max(limit * RESERVED, LEAST_RESERVED)
}

/** The limit of a control group that leaves the host so much, in bytes. */
export function groupLimitFor(maximum: number): number {
  return Math.ceil(Math.max(maximum + LEAST_RESERVED, maximum / (1 - RESERVED)))
}

/**
 * The processes that the main thread of this one started, those of embedded databases included; none where the kernel does
 * not tell. @see proc_tid_children(5)
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
