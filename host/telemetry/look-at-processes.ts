import { solutionOfKey } from '../../base/bundles/active-solution.ts'
import { repeat } from '../../base/work/repeat.ts'
import { memoryOf } from '../../runtime/process-memory.ts'
import type { RunningProcess, Supervisor } from '../../runtime/supervisor.ts'
import type { Figures, Gauges } from './figures.ts'

/** The state of a sandbox process. `memory` is its private memory, in bytes. */
export type SeenProcess = {
  readonly pid: number
  /** Null if the process is idle, waits for a solution, or checks an upload. */
  readonly solution: string | null
  readonly calls: number
  /** Null if the process does not run clients. */
  readonly clients: number | null
  readonly memory: number
}

export type Seen = Gauges & { readonly list: readonly SeenProcess[] }

/** Polling interval in ms, which is the step of the finest series. */
const LOOK_EVERY = 10_000

/** Returns the state and memory of the sandbox processes and the host. Reads one `/proc` file per process. */
export function lookAtProcesses(
  processes: readonly RunningProcess[],
  memory: typeof memoryOf = memoryOf,
  ownPid: number = process.pid,
): Seen {
  let shared = 0
  const list = processes.map(({ pid, key, calls, clients }) => {
    const held = memory(pid)
    shared = Math.max(shared, held.shared)
    return {
      pid,
      solution: key === null ? null : solutionOfKey(key),
      calls,
      clients: clients ?? null,
      memory: held.own,
    }
  })
  const host = memory(ownPid)
  return {
    list,
    processes: list.length,
    // Count memory that the processes share only once: see `memoryOf`.
    processMemory: list.reduce((sum, one) => sum + one.memory, shared),
    hostMemory: host.own + host.shared,
    clients: list.reduce((sum, one) => sum + (one.clients ?? 0), 0),
  }
}

/**
 * Polls the processes immediately, then every ten seconds.
 * @returns a function that stops polling
 */
export function keepLooking(
  figures: Pick<Figures, 'looked'>,
  { processes }: Pick<Supervisor, 'processes'>,
): () => Promise<void> {
  const look = () => {
    const { list: _, ...gauges } = lookAtProcesses(processes())
    figures.looked(gauges)
  }
  look()
  return repeat(LOOK_EVERY, look)
}
