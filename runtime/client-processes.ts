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
 * The sandbox processes of open clients. A version's clients don't share processes with its logins, since a login
 * blocks its process while it runs. If the clients' processes are killed repeatedly, only the clients are paused, not
 * the logins.
 */
export interface ClientProcesses {
  /**
   * Opens a client: a persistent context with the scripts of unit `main`. Never rejects because of what a script does.
   * @returns the client, or the reason why it could not be opened: an error in the scripts, or `sandbox_busy`. While
   * the version's clients are paused, the result also contains `retryAt`.
   */
  open(version: Loadable, handlers: LogHandler): Promise<SandboxClient | Failed>
  /** Assigns no new clients to the version's current processes, and ends those processes that have no clients. */
  retire(key: string): void
  /** When the pause of the version's clients ends, in epoch ms; null if they are not paused. */
  retryAt(key: string): number | null
  /** The process for new clients of the version; null if none could be started. */
  workerFor(version: Loadable): Promise<ClientWorker | null>
  /** All processes that have not exited. Killed processes are included until their memory is free. */
  readonly living: () => readonly ClientWorker[]
  /**
   * Among the processes without clients, ends the one that has been unused for the longest time.
   * @param isUrgent whether a process with clients may be ended if every process has some. Its clients are notified.
   * @returns the process id; null if no process could be ended
   */
  makeRoom(isUrgent: boolean): number | null
  /** Ends a process even if its clients are active. The clients are notified. */
  readonly end: (worker: ClientWorker) => void
  /** Ends processes without clients that have been unused for `SANDBOX_IDLE`, and pings the others. */
  sweep(): void
  stop(): void
}

/** Maximum number of clients per process. They share its memory, and all of them are lost if a script crashes it. */
const CLIENTS_PER_PROCESS = 300
/** Maximum number of attempts to open a client: other clients may crash the process in the meantime. */
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

  /** Chooses the process with the most clients that can accept another one, to keep the number of processes low. */
  async function workerWithRoom(version: Loadable): Promise<ClientWorker | null> {
    for (;;) {
      const open = workers.of(version.key).filter((one) => !one.isEnding() && one.clientCount() < CLIENTS_PER_PROCESS)
      const [best] = open.sort((a, b) => b.clientCount() - a.clientCount())
      if (best !== undefined) return best
      // Other clients may have waited for the same process, so it may be full by now.
      if (stopped || (await workers.start(version)) === null) return null
    }
  }

  async function open(version: Loadable, handlers: LogHandler): Promise<SandboxClient | Failed> {
    for (let tries = 0; tries < TRIES; tries++) {
      const retryAt = quarantine.retryAt(version.key)
      if (retryAt !== null) return paused(retryAt)
      if (!(await pool.whenRoom())) return busy(MEMORY_FULL)
      const worker = await workerWithRoom(version)
      if (stopped) return busy('the host is stopping; try again in a moment')
      if (worker === null) return busy('no sandbox process could be started; try again later')
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
        // The host failed, for example in an operator's plugin. The solution's author can't fix this, but needs to know
        // about it.
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
      // A process chosen earlier must not be chosen again while it is still exiting.
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

/** Whether a debugger is attached to the process. */
export function isDebugged({ debug }: Pick<ClientWorker, 'debug'>): boolean {
  return debug !== null && debug.count() > 0
}

function pauseText(seconds: number): string {
  return `the sandbox processes for the solution’s clients failed repeatedly, so new clients are blocked for ${seconds} s`
}

function busy(message: string): Failed {
  return { code: 'sandbox_busy', message, milliseconds: 0 }
}

function paused(retryAt: number): Failed {
  const message =
    'new clients of this solution are blocked for a while, because the sandbox processes for its clients failed repeatedly'
  return { ...busy(message), retryAt }
}
