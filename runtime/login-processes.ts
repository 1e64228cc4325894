import { availableParallelism } from 'node:os'
import { isDebugged } from './client-processes.ts'
import { createGate, type Gate } from './gate.ts'
import type { Limits } from './limits.ts'
import { MEMORY_FULL } from './memory-full.ts'
import type { Failed, Outcome } from './outcome.ts'
import type { CallHandlers, Loadable, PendingCall } from './pending-call.ts'
import { CRASHED } from './process-end.ts'
import type { ProcessPool } from './process-pool.ts'
import type { SandboxCall, SandboxSolution } from './protocol.ts'
import { createQuarantine } from './quarantine.ts'
import { createVersionWorkers, noteKill } from './version-workers.ts'
import { createWorker, type Worker } from './worker.ts'

/**
 * The sandbox processes for logins, and for other calls that don't need a client. Endpoints and jobs each have separate
 * processes and a separate quarantine, so that they can't block sign-ins.
 */
export interface LoginProcesses {
  /** Runs one entry function. Never rejects because of what a script does: every result is an outcome. */
  call(version: Loadable, call: SandboxCall, handlers: CallHandlers): Promise<Outcome>
  retire(key: string): void
  /** When the pause of the version's calls ends, in epoch ms; null if they are not paused. */
  retryAt(key: string): number | null
  /** A process of the version; null if none could be started. */
  workerFor(version: Loadable): Promise<Worker | null>
  /** All processes that have not exited. */
  readonly living: () => readonly Worker[]
  /** Ends the process that has been idle for the longest time. @returns its id; null if none is idle */
  makeRoom(): number | null
  /** Ends processes that were unused for `SANDBOX_IDLE`, and pings the other idle ones. */
  sweep(): void
  stop(): void
}

export type LoginProcessesOptions = {
  readonly limits: Limits
  readonly pool: Pick<ProcessPool, 'take' | 'fillSoon' | 'isFull' | 'whenRoom'>
  /** Whether a version has at most one process, so that debuggers can attach to it. */
  readonly isDebugging: boolean
  readonly killed: (reason: Failed['code'] | 'hung') => void
  /**
   * Set for endpoints and jobs, whose processes have a low priority. `largestAnswer` is the maximum size of a call's
   * result, in bytes.
   */
  readonly forOthers?: {
    readonly largestAnswer: number
    /**
     * For jobs: each call gets its own built-in objects. It also gets its own process, unless no more processes can be
     * started.
     */
    readonly areApart?: boolean
  }
}

/** A version gets another process once each of its processes has this many calls. One core is left for the host. */
const HOT = 2
const MOST_PROCESSES = Math.max(1, availableParallelism() - 1)
/**
 * Maximum number of long calls that may be running when a suspect solution starts a call. A solution is suspect if one
 * of its processes was killed recently; all of its calls count as long.
 *
 * A low priority is not enough: while such a script uses the CPU, each step of another login waits some milliseconds
 * until the kernel reschedules.
 */
const LONG_CALLS = MOST_PROCESSES
/** How long a call waits for its turn if its solution's processes were killed recently, in ms. */
const TURN_TIME = 10_000
/**
 * A version gets a second process after this many consecutive calls that arrive before their context is ready, even if
 * they don't overlap.
 */
const HOT_IN_A_ROW = 30
const MOST_IN_TURN = Math.min(2, availableParallelism())

export function createLoginProcesses(options: LoginProcessesOptions): LoginProcesses {
  const { limits, pool, isDebugging, forOthers } = options
  const quarantine = createQuarantine()
  const suspectTurns = createGate(LONG_CALLS)
  const events = {
    gone,
    exited: (worker: Worker) => workers.exited(worker),
    isLong: (pending: PendingCall) => void countLong(suspectTurns, pending),
  }
  const workers = createVersionWorkers<Worker>({
    pool,
    quarantine,
    limits,
    solutionOf: (version) => forLogins(version.solution(), forOthers?.areApart === true),
    staysBack: forOthers !== undefined,
    create: (...given) => createWorker(...given, events, forOthers?.largestAnswer),
  })
  let lastId = 0
  let stopped = false

  async function dispatch(pending: PendingCall): Promise<void> {
    try {
      if (quarantine.isSuspect(pending.version.key) && !pending.hasTurn) await takeTurn(pending)
      else await findWorker(pending)
    } catch (error) {
      // The host failed, for example in an operator's plugin. The author can't fix this, but needs to know about it.
      const message = `the solution could not be loaded: ${error instanceof Error ? error.message : 'unknown error'}`
      pending.settle({ ...CRASHED, message })
    }
  }

  async function takeTurn(pending: PendingCall): Promise<void> {
    if (!(await suspectTurns.enter(TURN_TIME))) {
      pending.settle(busy(`the call could not start within ${TURN_TIME} ms because too many long calls are running`))
      return
    }
    pending.hasTurn = true
    try {
      await findWorker(pending)
      await pending.outcome
    } finally {
      suspectTurns.leave()
    }
  }

  async function findWorker(pending: PendingCall): Promise<void> {
    const { version, handlers } = pending
    const retryAt = quarantine.retryAt(version.key)
    if (retryAt !== null) return pending.settle(quarantined(retryAt))
    // A retried call was admitted before its first attempt.
    const mayBegin = pending.replayed || !pool.isFull() || (await pool.whenRoom())
    if (!mayBegin) return pending.settle(busy(MEMORY_FULL))
    const serving = workers.of(version.key)
    const best = serving.reduce<Worker | null>(
      (least, one) => (least === null || isLess(one, least) ? one : least),
      null,
    )
    if (best !== null && !isDebugging && isHot(best, serving.length)) void workers.start(version).catch(() => {})
    const needsOther = forOthers?.areApart === true && best !== null && best.callCount() > 0
    const mayStart = needsOther && !isDebugging && serving.length < MOST_PROCESSES
    const worker = best === null || mayStart ? await workers.start(version) : best
    if (handlers.signal?.aborted) return
    if (stopped) pending.settle(busy('the host is stopping; try again in a moment'))
    else if (worker === null) pending.settle(busy('no sandbox process could be started; try again later'))
    else if (!worker.isEnding()) worker.run(pending, quarantine.isSuspect(version.key))
    else replayOrFail(pending)
  }

  /** The call that caused the process to be killed fails. Calls that only shared the process with it are retried. */
  function gone(worker: Worker, lost: readonly PendingCall[], failed: ReadonlyMap<PendingCall, Failed>): void {
    workers.forget(worker)
    const hungAfter = worker.hungAfter()
    const culprits = hungAfter === null ? [...failed.keys()] : [...failed.keys(), hungAfter]
    if (culprits.length > 0 && !stopped) {
      options.killed([...failed.values()][0]?.code ?? 'hung')
      noteKill(
        quarantine,
        worker.key,
        culprits.map(({ handlers }) => handlers),
        pauseText,
      )
    }
    for (const pending of lost) {
      const failure = failed.get(pending)
      if (failure) pending.settle(failure)
      else replayOrFail(pending, worker.isEndedForRoom() ? busy(MEMORY_FULL) : CRASHED)
    }
  }

  /** @param failure the call's failure if it can't be retried */
  function replayOrFail(pending: PendingCall, failure: Failed = CRASHED): void {
    if (stopped || pending.replayed || pending.changedSomething) {
      pending.settle(failure)
      return
    }
    pending.replayed = true
    void dispatch(pending)
  }

  function retire(worker: Worker): void {
    workers.forget(worker)
    worker.retire()
  }

  /** Returns the processes without calls. The one that has been unused for the longest time is first. */
  function idle(): Worker[] {
    const found = [...workers.living].filter((one) => one.callCount() === 0 && workers.of(one.key).includes(one))
    return found.sort((a, b) => a.lastUsed() - b.lastUsed())
  }

  return {
    call(version, call, handlers) {
      const { promise: outcome, resolve: settle } = Promise.withResolvers<Outcome>()
      const state = { changedSomething: false, replayed: false, hasTurn: false }
      const pending = { id: ++lastId, version, call, handlers, outcome, settle, ...state }
      void dispatch(pending)
      return endedOnAbort(pending, workers.living)
    },
    retire(key) {
      for (const worker of workers.of(key)) retire(worker)
    },
    retryAt: (key) => quarantine.retryAt(key),
    workerFor: async (version) => workers.of(version.key)[0] ?? (await workers.start(version)),
    living: () => [...workers.living],
    makeRoom() {
      const [oldest] = idle()
      if (oldest === undefined) return null
      retire(oldest)
      return oldest.pid
    },
    sweep() {
      quarantine.sweep()
      const oldest = Date.now() - limits.SANDBOX_IDLE
      for (const worker of idle()) {
        if (worker.lastUsed() < oldest && !isDebugged(worker)) retire(worker)
        else worker.checkHeartbeat()
      }
    },
    stop() {
      stopped = true
      for (const worker of workers.living) worker.kill()
    },
  }
}

/** Doesn't read `clients`, which is computed only when it is read. */
function forLogins(
  { scripts, units, settings, tables, isHardened }: SandboxSolution,
  areApart: boolean,
): SandboxSolution {
  const solution = { scripts, units, settings, tables }
  return isHardened === undefined || areApart ? solution : { ...solution, isHardened }
}

/** Counts a call that turned out to be long. It is already running, so it does not wait for its turn. */
async function countLong(turns: Gate, pending: PendingCall): Promise<void> {
  if (pending.hasTurn) return
  turns.force()
  // If the call is retried, it keeps this turn. Otherwise it would wait for itself.
  pending.hasTurn = true
  await pending.outcome
  turns.leave()
}

/** Ends the call when its signal is aborted. Other calls of the same process are retried. */
function endedOnAbort(pending: PendingCall, living: ReadonlySet<Worker>): Promise<Outcome> {
  const { outcome, handlers, settle } = pending
  const { signal } = handlers
  if (signal === undefined) return outcome
  function abort(): void {
    pending.replayed = true
    settle({ ...CRASHED, message: 'the call was cancelled' })
    for (const worker of living) if (worker.has(pending)) worker.kill()
  }
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return outcome.finally(() => signal.removeEventListener('abort', abort))
}

function pauseText(seconds: number): string {
  return `the solution’s sandbox processes failed repeatedly, so its scripts are paused for ${seconds} s`
}

/**
 * @param worker the least busy of the version's processes
 * @param count the number of these processes
 */
function isHot(worker: Worker, count: number): boolean {
  if (worker.callCount() >= HOT) return count < MOST_PROCESSES
  return worker.callsInARow() >= HOT_IN_A_ROW && count < MOST_IN_TURN
}

/** If two processes are equally busy, prefer the one that has had more time to create the context for its next call. */
function isLess(one: Worker, other: Worker): boolean {
  const difference = one.callCount() - other.callCount()
  return difference < 0 || (difference === 0 && one.lastEnded() < other.lastEnded())
}

function busy(message: string): Failed {
  return { code: 'sandbox_busy', message, milliseconds: 0 }
}

function quarantined(retryAt: number): Failed {
  return { ...busy('the solution is paused because its sandbox processes failed repeatedly'), retryAt }
}
