import { availableParallelism } from 'node:os'
import { createCheckProcesses } from './check-processes.ts'
import type { Probe, UploadCheck } from './check-upload.ts'
import { createClientProcesses, isDebugged } from './client-processes.ts'
import type { LogHandler, SandboxClient } from './client-worker.ts'
import type { DebugListener, DebugSession } from './debug-sessions.ts'
import { createGate } from './gate.ts'
import type { Limits } from './limits.ts'
import type { MemoryBound, MemoryState } from './memory-bound.ts'
import { MEMORY_FULL, memoryFull } from './memory-full.ts'
import type { Failed, Outcome } from './outcome.ts'
import { memoryOf } from './process-memory.ts'
import { createProcessPool } from './process-pool.ts'
import { bringForward, setBack } from './process-priority.ts'
import type { CheckedFiles, SandboxCall, SandboxSolution, Trusted, Unit, UploadFiles } from './protocol.ts'
import { createQuarantine } from './quarantine.ts'
import { type CallHandlers, CRASHED, createWorker, type Loadable, type PendingCall, type Worker } from './worker.ts'

export type { Probe, UploadCheck } from './check-upload.ts'
export type { ClientGone, ClientOutcome, LogHandler, SandboxClient } from './client-worker.ts'
export type { DebugListener, DebugSession } from './debug-sessions.ts'
export type { CallHandlers, Loadable } from './worker.ts'

export interface Supervisor {
  /** Runs one entry function. Never rejects for what a script does: every end is an outcome. */
  call(version: Loadable, call: SandboxCall, handlers: CallHandlers): Promise<Outcome>
  /**
   * Opens a client: a context with the scripts of unit `main` that is kept until it is closed, in a process for clients of
   * this version. Never rejects for what a script does. Such a process stays while it has clients, unless RUNTIME_XMX is
   * passed and nothing idle is left to end: then the longest unused one goes, and its clients hear that they are gone.
   * @param handlers get what the scripts log while they load. @returns why the client could not be opened
   */
  openClient(version: Loadable, handlers: LogHandler): Promise<SandboxClient | Failed>
  /**
   * Checks an upload in a process of its own, which ends with it. Its scripts are loaded only if nothing is at fault.
   * @throws ERR_MEMORY_FULL
   */
  checkUpload(
    files: UploadFiles,
    prepare: (checked: CheckedFiles) => Promise<SandboxSolution>,
    probes: readonly Probe[],
  ): Promise<UploadCheck>
  /** Ends the processes of a solution version, those with running calls or clients after their last one. */
  retire(key: string): void
  /**
   * When a version whose logins or clients are paused for killing their processes may run again, in epoch ms; null when
   * it may now.
   */
  retryAt(key: string): number | null
  /**
   * Attaches a debugger to the isolate of a version's unit, whose process is started if it does not run; null unless the
   * supervisor was made with `debugNode`. @returns null when no process could be started
   */
  readonly debug: ((version: Loadable, unit: Unit, listener: DebugListener) => Promise<DebugSession | null>) | null
  /** What host and all its processes hold, and may: for health, telemetry and tests. It takes about a millisecond. */
  memory(): MemoryState
  /** Whether the memory is used up by work that runs: new work is refused, here and by whoever takes it. */
  isFull(): boolean
  /** Waits a moment where it is full. @returns false: new work is refused */
  whenRoom(): Promise<boolean>
  /** Ends what is idle until so many bytes are free. @throws ERR_MEMORY_FULL when not enough is */
  needRoom(bytes: number): void
  /** The processes that live or are killed and not gone yet, for health and tests. */
  processes(): readonly RunningProcess[]
  /** Kills every process at once. Running calls end as `script_crashed`. */
  stop(): void
}

export type RunningProcess = {
  readonly pid: number
  /** Of the version that it serves. */
  readonly key: string | null
  readonly calls: number
  /** Only in a process for clients: how many are open. */
  readonly clients?: number
}

/** `hung`: it did not answer while no call ran; `client`: an open client’s script, whatever it did. */
export type KillReason = Failed['code'] | 'hung' | 'client'

export type SupervisorOptions = {
  readonly limits: Limits
  readonly trusted: Trusted
  readonly timeZone: string
  /** Bytes, see `ProcessPoolOptions`. */
  readonly memory?: { readonly minimum: number; readonly maximum: number }
  /** See `ProcessPoolOptions`. */
  readonly bound?: MemoryBound | undefined
  /** Scripts can be debugged: see `SandboxProcessOptions`. A version gets one process for logins, which debuggers attach to. */
  readonly debugNode?: string | undefined
  /** Told why a process was ended for what a script did. Must not throw. */
  readonly killed?: (reason: KillReason) => void
  /** See `createCheckProcesses`; not unless set. */
  readonly keepsCheckReady?: boolean
  /** See `ProcessPoolOptions`. */
  readonly keepsSpare?: boolean
}

/** How often idle processes are looked for and asked for a sign of life, in ms. */
const SWEEP = 5_000
/** A version gets a further process when so many calls are with each that it has. One core is left to the host. */
const HOT = 2
const MOST_PROCESSES = Math.max(1, availableParallelism() - 1)
/**
 * Solutions whose processes had to be killed lately start a call only when no more than so many of theirs and other long
 * calls run. However low their priority: what wants the processor while such a script uses it waits until the kernel looks
 * again, some milliseconds, at each of a login's steps.
 */
const LONG_CALLS = MOST_PROCESSES
/** How long such a call waits for its turn, in ms. */
const TURN_TIME = 10_000
/** One whose calls come alone, but so many in a row before the context for the next could be made, gets a second one. */
const HOT_IN_A_ROW = 30
const MOST_IN_TURN = Math.min(2, availableParallelism())

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { limits, trusted, timeZone, memory = NO_BOUND, bound, debugNode, keepsCheckReady = false } = options
  /** Those that take new calls, by key. */
  const workers = new Map<string, Worker[]>()
  /** All that are not gone yet: those too that only end their last calls, and killed ones, whose memory is not free. */
  const living = new Set<Worker>()
  const starting = new Map<string, Promise<Worker | null>>()
  const suspectTurns = createGate(LONG_CALLS)
  const quarantine = createQuarantine()
  const pool = createProcessPool({
    sandbox: { timeZone, trusted, debugNode },
    keepsSpare: options.keepsSpare,
    memory,
    bound,
    inUse: () => [...living, ...clients.living(), ...checks.living()].map(({ pid }) => pid),
    makeRoom: (isUrgent) => retireLongestIdle() ?? clients.makeRoom(isUrgent),
    endLargest,
  })
  const clients = createClientProcesses(limits, pool, () => options.killed?.('client'))
  const checks = createCheckProcesses(limits, pool, keepsCheckReady)
  let lastId = 0
  let stopped = false
  const sweep = setInterval(sweepIdle, SWEEP)
  sweep.unref()

  function start(version: Loadable): Promise<Worker | null> {
    const running = starting.get(version.key)
    if (running !== undefined) return running
    const started = startWorker(version).finally(() => starting.delete(version.key))
    starting.set(version.key, started)
    return started
  }

  async function startWorker(version: Loadable): Promise<Worker | null> {
    // Made before a process is taken: a plugin's settings may throw.
    const { clients: _, ...solution } = version.solution()
    const process = await pool.take()
    if (process === null) return null
    const worker = createWorker(process, version.key, solution, limits, { gone, exited, isLong })
    if (quarantine.isSuspect(version.key)) setBack(process.pid)
    else bringForward(process.pid)
    living.add(worker)
    workers.set(version.key, [...(workers.get(version.key) ?? []), worker])
    pool.fillSoon()
    return worker
  }

  async function dispatch(pending: PendingCall): Promise<void> {
    try {
      if (quarantine.isSuspect(pending.version.key) && !pending.hasTurn) await takeTurn(pending)
      else await findWorker(pending)
    } catch (error) {
      // Our own side failed, such as a plugin of the operator: the author cannot help it, but must hear of it.
      const message = `the solution could not be loaded: ${error instanceof Error ? error.message : 'unknown error'}`
      pending.settle({ ...CRASHED, message })
    }
  }

  async function takeTurn(pending: PendingCall): Promise<void> {
    if (!(await suspectTurns.enter(TURN_TIME))) {
      pending.settle(busy(`the call waited ${TURN_TIME} ms, since others like it run`))
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

  /** It runs already, so the others wait for it. */
  async function isLong(pending: PendingCall): Promise<void> {
    if (pending.hasTurn) return
    suspectTurns.force()
    await pending.outcome
    suspectTurns.leave()
  }

  async function findWorker(pending: PendingCall): Promise<void> {
    const { version } = pending
    const retryAt = quarantine.retryAt(version.key)
    if (retryAt !== null) return pending.settle(quarantined(retryAt))
    // What runs again was let in before.
    const mayBegin = pending.replayed || !pool.isFull() || (await pool.whenRoom())
    if (!mayBegin) return pending.settle(busy(MEMORY_FULL))
    const serving = workers.get(version.key) ?? []
    const best = serving.reduce<Worker | null>(
      (least, one) => (least === null || isLess(one, least) ? one : least),
      null,
    )
    if (best !== null && debugNode === undefined && isHot(best, serving.length)) void start(version).catch(() => {})
    const worker = best ?? (await start(version))
    if (stopped) pending.settle({ ...CRASHED, message: 'the host is stopping' })
    else if (worker === null) pending.settle(busy('no sandbox process could be started'))
    else if (!worker.isEnding()) worker.run(pending, quarantine.isSuspect(version.key))
    else replayOrFail(pending)
  }

  async function attach(version: Loadable, unit: Unit, listener: DebugListener): Promise<DebugSession | null> {
    const worker = unit === 'main' ? await clients.workerFor(version) : await loginWorker(version)
    return worker?.debug?.open(unit, listener) ?? null
  }

  async function loginWorker(version: Loadable): Promise<Worker | null> {
    return workers.get(version.key)?.[0] ?? (await start(version))
  }

  /** The call that a process was killed for fails; those that only shared it with that call run once more. */
  function gone(worker: Worker, lost: readonly PendingCall[], failed: ReadonlyMap<PendingCall, Failed>): void {
    forget(worker)
    const hungAfter = worker.hungAfter()
    const culprits = hungAfter === null ? [...failed.keys()] : [...failed.keys(), hungAfter]
    if (culprits.length > 0 && !stopped) {
      options.killed?.([...failed.values()][0]?.code ?? 'hung')
      noteKill(worker.key, culprits)
    }
    for (const pending of lost) {
      const failure = failed.get(pending)
      if (failure) pending.settle(failure)
      else replayOrFail(pending, worker.isEndedForRoom() ? busy(MEMORY_FULL) : CRASHED)
    }
  }

  function exited(worker: Worker): void {
    living.delete(worker)
  }

  function noteKill(key: string, culprits: readonly PendingCall[]): void {
    const until = quarantine.killed(key)
    if (until === null) return
    const seconds = Math.ceil((until - Date.now()) / 1000)
    const message = `the solution’s sandbox processes had to be ended again and again; its scripts pause for ${seconds} s`
    for (const { handlers } of culprits) handlers.log({ level: 'error', message })
  }

  /** @param failure how the call ends if it cannot run again */
  function replayOrFail(pending: PendingCall, failure: Failed = CRASHED): void {
    if (stopped || pending.replayed || pending.changedSomething) {
      pending.settle(failure)
      return
    }
    pending.replayed = true
    void dispatch(pending)
  }

  function forget(worker: Worker): void {
    const others = (workers.get(worker.key) ?? []).filter((one) => one !== worker)
    if (others.length === 0) workers.delete(worker.key)
    else workers.set(worker.key, others)
  }

  function retire(worker: Worker): void {
    forget(worker)
    worker.retire()
  }

  function idleWorkers(): Worker[] {
    const idle = [...living].filter((worker) => worker.callCount() === 0 && isServing(worker))
    return idle.sort((a, b) => a.lastUsed() - b.lastUsed())
  }

  function isServing(worker: Worker): boolean {
    return workers.get(worker.key)?.includes(worker) ?? false
  }

  function retireLongestIdle(): number | null {
    const [oldest] = idleWorkers()
    if (oldest === undefined) return null
    retire(oldest)
    return oldest.pid
  }

  /** Chosen here: the largest, since its scripts asked for most; what it served is told to try again. */
  function endLargest(): number | null {
    const ends = [
      ...[...living].map((worker) => ({ pid: worker.pid, end: worker.endForRoom })),
      ...clients.living().map((worker) => ({ pid: worker.pid, end: () => clients.end(worker) })),
      ...checks.living().map(({ pid }) => ({ pid, end: () => checks.endForRoom(pid) })),
    ]
    const [largest] = ends
      .map((one) => ({ ...one, size: memoryOf(one.pid).own }))
      .filter(({ size }) => size > 0)
      .sort((a, b) => b.size - a.size)
    largest?.end()
    return largest?.pid ?? null
  }

  function sweepIdle(): void {
    quarantine.sweep()
    const oldest = Date.now() - limits.SANDBOX_IDLE
    for (const worker of idleWorkers()) {
      if (worker.lastUsed() < oldest && !isDebugged(worker)) retire(worker)
      else worker.checkHeartbeat()
    }
    clients.sweep()
    pool.fill()
  }

  pool.fill()
  return {
    call(version, call, handlers) {
      const { promise: outcome, resolve: settle } = Promise.withResolvers<Outcome>()
      const state = {
        timer: null,
        changedSomething: false,
        replayed: false,
        counts: null,
        hasTurn: false,
        startedAt: null,
        announced: true,
      }
      void dispatch({ id: ++lastId, version, call, handlers, outcome, settle, ...state })
      return outcome
    },
    openClient: clients.open,
    checkUpload: checks.check,
    retire(key) {
      for (const worker of workers.get(key) ?? []) retire(worker)
      clients.retire(key)
    },
    debug: debugNode === undefined ? null : attach,
    memory: pool.memory,
    isFull: pool.isFull,
    whenRoom: pool.whenRoom,
    needRoom(bytes) {
      if (!pool.makeRoomFor(bytes)) throw memoryFull()
    },
    retryAt: (key) => Math.max(quarantine.retryAt(key) ?? 0, clients.retryAt(key) ?? 0) || null,
    processes: () => [
      ...[...living].map(({ pid, key, callCount }) => ({ pid, key, calls: callCount() })),
      ...clients.living().map(({ pid, key, callCount, clientCount }) => {
        return { pid, key, calls: callCount(), clients: clientCount() }
      }),
      ...pool.spares().map(({ pid }) => ({ pid, key: null, calls: 0 })),
      ...checks.living().map(({ pid, calls }) => ({ pid, key: null, calls })),
    ],
    stop() {
      stopped = true
      clearInterval(sweep)
      pool.stop()
      for (const worker of living) worker.kill()
      clients.stop()
      checks.stop()
    },
  }
}

/** @param worker the one with the least to do, of `count` */
function isHot(worker: Worker, count: number): boolean {
  if (worker.callCount() >= HOT) return count < MOST_PROCESSES
  return worker.callsInARow() >= HOT_IN_A_ROW && count < MOST_IN_TURN
}

/** Of two that have as little to do, the one that had longer to make the context for its next call. */
function isLess(one: Worker, other: Worker): boolean {
  const difference = one.callCount() - other.callCount()
  return difference < 0 || (difference === 0 && one.lastEnded() < other.lastEnded())
}

const NO_BOUND = { minimum: 0, maximum: Number.POSITIVE_INFINITY }

function busy(message: string): Failed {
  return { code: 'sandbox_busy', message, milliseconds: 0 }
}

function quarantined(retryAt: number): Failed {
  return { ...busy('the solution is paused, since its sandbox processes had to be ended again and again'), retryAt }
}
