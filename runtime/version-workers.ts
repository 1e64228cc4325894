import type { Limits } from './limits.ts'
import type { Loadable } from './pending-call.ts'
import type { ProcessPool } from './process-pool.ts'
import { bringForward, setBack } from './process-priority.ts'
import type { SandboxSolution } from './protocol.ts'
import type { Quarantine } from './quarantine.ts'
import type { SandboxProcess } from './sandbox-process.ts'
import type { LogHandler } from './served-call.ts'

/** The processes of solution versions, by the version's key: those for logins, or those for clients. */
export interface VersionWorkers<W> {
  /** Those of the version that take new work. */
  readonly of: (key: string) => readonly W[]
  /** All that are not gone yet: those too that only end their last calls, and killed ones, whose memory is not free. */
  readonly living: ReadonlySet<W>
  /** Starts a further one, or waits for the one that is on its way. @returns null when none could be started */
  readonly start: (version: Loadable) => Promise<W | null>
  /** It takes no new work any more. */
  readonly forget: (worker: W) => void
  readonly exited: (worker: W) => void
}

export type VersionWorkersOptions<W> = {
  readonly pool: Pick<ProcessPool, 'take' | 'fillSoon'>
  readonly quarantine: Quarantine
  readonly limits: Limits
  /** What the process gets of the version. */
  readonly solutionOf: (version: Loadable) => SandboxSolution
  readonly create: (process: SandboxProcess, key: string, solution: SandboxSolution, limits: Limits) => W
}

export function createVersionWorkers<W extends { readonly key: string }>(
  options: VersionWorkersOptions<W>,
): VersionWorkers<W> {
  const { pool, quarantine, limits, solutionOf, create } = options
  const workers = new Map<string, readonly W[]>()
  const living = new Set<W>()
  const starting = new Map<string, Promise<W | null>>()

  async function startWorker(version: Loadable): Promise<W | null> {
    // Made before a process is taken: a plugin's settings may throw.
    const solution = solutionOf(version)
    const process = await pool.take()
    if (process === null) return null
    const worker = create(process, version.key, solution, limits)
    if (quarantine.isSuspect(version.key)) setBack(process.pid)
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

/** Notes that a process had to be killed. Those that it went through read in their logs of a pause that this leads to. */
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
