import type { Limits } from './limits.ts'
import type { Loadable } from './pending-call.ts'
import type { ProcessPool } from './process-pool.ts'
import { bringForward, setBack } from './process-priority.ts'
import type { SandboxSolution } from './protocol.ts'
import type { Quarantine } from './quarantine.ts'
import type { SandboxProcess } from './sandbox-process.ts'
import type { LogHandler } from './served-call.ts'

/** The processes of solution versions, by version key. There is one instance for logins and one for clients. */
export interface VersionWorkers<W> {
  /** The processes of the version that accept new work. */
  readonly of: (key: string) => readonly W[]
  /**
   * All processes that have not exited. This includes processes that are finishing their last calls, and killed
   * processes whose memory is not free yet.
   */
  readonly living: ReadonlySet<W>
  /** Starts another process, or waits for one that is already starting. @returns null if none could be started */
  readonly start: (version: Loadable) => Promise<W | null>
  /** Stops assigning new work to a process. */
  readonly forget: (worker: W) => void
  readonly exited: (worker: W) => void
}

export type VersionWorkersOptions<W> = {
  readonly pool: Pick<ProcessPool, 'take' | 'fillSoon'>
  readonly quarantine: Quarantine
  readonly limits: Limits
  /** Returns the part of the version's data that is sent to the process. */
  readonly solutionOf: (version: Loadable) => SandboxSolution
  /** Whether these processes run at a low priority, so that they don't slow down other groups' processes. */
  readonly staysBack?: boolean
  readonly create: (process: SandboxProcess, key: string, solution: SandboxSolution, limits: Limits) => W
}

export function createVersionWorkers<W extends { readonly key: string }>(
  options: VersionWorkersOptions<W>,
): VersionWorkers<W> {
  const { pool, quarantine, limits, solutionOf, staysBack = false, create } = options
  const workers = new Map<string, readonly W[]>()
  const living = new Set<W>()
  const starting = new Map<string, Promise<W | null>>()

  async function startWorker(version: Loadable): Promise<W | null> {
    // Call this before taking a process, since reading a plugin's settings may throw.
    const solution = solutionOf(version)
    const process = await pool.take()
    if (process === null) return null
    const worker = create(process, version.key, solution, limits)
    if (staysBack || quarantine.isSuspect(version.key)) setBack(process.pid)
    else bringForward(process.pid)
    living.add(worker)
    workers.set(version.key, [...of(version.key), worker])
    pool.fillSoon()
    return worker
  }

  function of(key: string): readonly W[] {
    return workers.get(key) ?? []
  }

  return {
    of,
    living,
    start(version) {
      const running = starting.get(version.key)
      if (running !== undefined) return running
      const started = startWorker(version).finally(() => starting.delete(version.key))
      starting.set(version.key, started)
      return started
    },
    forget(worker) {
      const others = of(worker.key).filter((one) => one !== worker)
      if (others.length === 0) workers.delete(worker.key)
      else workers.set(worker.key, others)
    },
    exited: (worker) => void living.delete(worker),
  }
}

/**
 * Records that a process was killed. If the version is paused as a result, logs the pause once for each call that
 * caused it.
 */
export function noteKill(
  quarantine: Quarantine,
  key: string,
  culprits: readonly LogHandler[],
  pauseText: (seconds: number) => string,
): void {
  const until = quarantine.killed(key)
  if (until === null) return
  const message = pauseText(Math.ceil((until - Date.now()) / 1000))
  for (const handlers of culprits) handlers.log({ level: 'error', message })
}
