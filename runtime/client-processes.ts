import { type ClientWorker, createClientWorker } from './client-worker.ts'
import type { Limits } from './limits.ts'
import { MEMORY_FULL } from './memory-full.ts'
import type { Failed } from './outcome.ts'
import type { Loadable } from './pending-call.ts'
import { CRASHED } from './process-end.ts'
import type { ProcessPool } from './process-pool.ts'
import { createQuarantine } from './quarantine.ts'
import type { SandboxClient } from './sandbox-client.ts'
import type { LogHandler } from './served-call.ts'
import { createVersionWorkers, noteKill } from './version-workers.ts'

/**
 * The sandbox processes of open clients. A version's clients have processes of their own, since a login holds its process
 * while it runs, and a pause of their own when these have to be killed again and again.
 */
export interface ClientProcesses {
  /**
   * Opens a client: a kept context with the scripts of unit `main`. Never rejects for what a script does.
   * @returns why not: the scripts' own fault, `sandbox_busy` (with `retryAt` while the version's clients are paused)
   */
  open(version: Loadable, handlers: LogHandler): Promise<SandboxClient | Failed>
  /** New clients of the version find other processes; one without clients ends. */
  retire(key: string): void
  /** Until when the version's clients are paused, in epoch ms; null: they are not. */
  retryAt(key: string): number | null
  /** The process that new clients of the version get; null when none could be started. */
  workerFor(version: Loadable): Promise<ClientWorker | null>
  /** The processes that are not gone yet, those too that were killed: their memory is not free. */
  readonly living: () => readonly ClientWorker[]
  /**
   * Ends the longest unused process without clients. @param isUrgent whether one with clients has to go if there is no
   * other: they hear that they are gone. @returns its id; null when none is left
   */
  makeRoom(isUrgent: boolean): number | null
  /** Ends a process, whatever its clients do: they hear that they are gone. */
  readonly end: (worker: ClientWorker) => void
  /** Ends processes without clients that were not used for `SANDBOX_IDLE`, asks the others for a sign of life. */
  sweep(): void
  stop(): void
}

/** Their memory is one process's, and so is their end when a script brings it about. */
const CLIENTS_PER_PROCESS = 300
/** One whose process ended through others while it was opened is opened once more. */
const TRIES = 2

export function createClientProcesses(
  limits: Limits,
  pool: Pick<ProcessPool, 'take' | 'fillSoon' | 'whenRoom'>,
  killed: () => void = () => {},
): ClientProcesses {
  const quarantine = createQuarantine()
  const workers = createVersionWorkers<ClientWorker>({
    pool,
    quarantine,
    limits,
    solutionOf: (version) => version.solution(),
    create: (...given) => createClientWorker(...given, { gone, exited: (worker) => workers.exited(worker) }),
  })
  const { living } = workers
  let stopped = false

  function gone(worker: ClientWorker, wentWell: boolean, culprits: readonly LogHandler[]): void {
    workers.forget(worker)
    if (wentWell || stopped) return
    killed()
    noteKill(quarantine, worker.key, culprits, pauseText)
  }

  /** The fullest with room, so that few processes serve all. */
  async function workerWithRoom(version: Loadable): Promise<ClientWorker | null> {
    for (;;) {
      const open = workers.of(version.key).filter((one) => !one.isEnding() && one.clientCount() < CLIENTS_PER_PROCESS)
      const [best] = open.sort((a, b) => b.clientCount() - a.clientCount())
      if (best !== undefined) return best
      // Others may have waited for the same process, and filled it by now.
      if (stopped || (await workers.start(version)) === null) return null
    }
  }

  async function open(version: Loadable, handlers: LogHandler): Promise<SandboxClient | Failed> {
    for (let tries = 0; tries < TRIES; tries++) {
      const retryAt = quarantine.retryAt(version.key)
      if (retryAt !== null) return paused(retryAt)
      if (!(await pool.whenRoom())) return busy(MEMORY_FULL)
      const worker = await workerWithRoom(version)
      if (stopped) return { ...CRASHED, message: 'the host is stopping' }
      if (worker === null) return busy('no sandbox process could be started')
      const opened = await worker.open(handlers)
      if (opened !== null) return opened
    }
    return CRASHED
  }

  function longestUnused(candidates: readonly ClientWorker[]): ClientWorker | undefined {
    return candidates.toSorted((a, b) => a.lastUsed() - b.lastUsed())[0]
  }

  function end(worker: ClientWorker): number {
    workers.forget(worker)
    worker.kill()
    return worker.pid
  }

  return {
    async open(version, handlers) {
      try {
        return await open(version, handlers)
      } catch (error) {
        // Our own side failed, such as a plugin of the operator: the author cannot help it, but must hear of it.
        const message = `the solution could not be loaded: ${error instanceof Error ? error.message : 'unknown error'}`
        return { ...CRASHED, message }
      }
    },
    workerFor: workerWithRoom,
    retire(key) {
      for (const worker of workers.of(key)) {
        workers.forget(worker)
        worker.retire()
      }
    },
    retryAt: (key) => quarantine.retryAt(key),
    living: () => [...living],
    end,
    makeRoom(isUrgent) {
      // One that was chosen before must not be chosen again and again until it is gone.
      const all = [...living].filter((one) => !one.isEnding())
      const empty = longestUnused(all.filter((one) => one.clientCount() === 0))
      const chosen = empty ?? (isUrgent ? longestUnused(all) : undefined)
      return chosen === undefined ? null : end(chosen)
    },
    sweep() {
      quarantine.sweep()
      const oldest = Date.now() - limits.SANDBOX_IDLE
      for (const worker of living) {
        if (worker.clientCount() === 0 && worker.lastUsed() < oldest && !isDebugged(worker)) end(worker)
        else worker.checkHeartbeat()
      }
    },
    stop() {
      stopped = true
      for (const worker of living) worker.kill()
    },
  }
}

/** A debugger is attached to it. */
export function isDebugged({ debug }: Pick<ClientWorker, 'debug'>): boolean {
  return debug !== null && debug.count() > 0
}

function pauseText(seconds: number): string {
  return `the processes of the solution’s clients had to be ended again and again; no client opens for ${seconds} s`
}

function busy(message: string): Failed {
  return { code: 'sandbox_busy', message, milliseconds: 0 }
}

function paused(retryAt: number): Failed {
  const message = 'the solution’s clients are paused, since their sandbox processes had to be ended again and again'
  return { ...busy(message), retryAt }
}
