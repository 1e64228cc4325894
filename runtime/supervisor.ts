import { createCheckProcesses } from './check-processes.ts'
import type { Probe, UploadCheck } from './check-upload.ts'
import { createClientProcesses } from './client-processes.ts'
import type { DebugListener, DebugSession } from './debug-sessions.ts'
import type { Limits } from './limits.ts'
import { createLoginProcesses } from './login-processes.ts'
import type { MemoryBound, MemoryState } from './memory-bound.ts'
import { memoryFull } from './memory-full.ts'
import type { Failed, Outcome } from './outcome.ts'
import type { CallHandlers, Loadable } from './pending-call.ts'
import { memoryOf } from './process-memory.ts'
import { createProcessPool } from './process-pool.ts'
import type { CheckedFiles, SandboxCall, SandboxSolution, Trusted, Unit, UploadFiles } from './protocol.ts'
import type { SandboxClient } from './sandbox-client.ts'
import type { LogHandler } from './served-call.ts'

export type { Probe, UploadCheck } from './check-upload.ts'
export type { DebugListener, DebugSession } from './debug-sessions.ts'
export type { CallHandlers, Loadable } from './pending-call.ts'
export type { ClientGone, ClientOutcome, SandboxClient } from './sandbox-client.ts'
export type { LogHandler } from './served-call.ts'

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
const NO_BOUND = { minimum: 0, maximum: Number.POSITIVE_INFINITY }

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { limits, trusted, timeZone, memory = NO_BOUND, bound, debugNode, keepsCheckReady = false } = options
  const pool = createProcessPool({
    sandbox: { timeZone, trusted, debugNode },
    keepsSpare: options.keepsSpare,
    memory,
    bound,
    inUse: () => [...logins.living(), ...clients.living(), ...checks.living()].map(({ pid }) => pid),
    makeRoom: (isUrgent) => logins.makeRoom() ?? clients.makeRoom(isUrgent),
    endLargest,
  })
  const isDebugging = debugNode !== undefined
  const logins = createLoginProcesses({ limits, pool, isDebugging, killed: (reason) => options.killed?.(reason) })
  const clients = createClientProcesses(limits, pool, () => options.killed?.('client'))
  const checks = createCheckProcesses(limits, pool, keepsCheckReady)
  const sweep = setInterval(sweepIdle, SWEEP)
  sweep.unref()

  function sweepIdle(): void {
    logins.sweep()
    clients.sweep()
    pool.fill()
  }

  async function attach(version: Loadable, unit: Unit, listener: DebugListener): Promise<DebugSession | null> {
    const worker = await (unit === 'main' ? clients : logins).workerFor(version)
    return worker?.debug?.open(unit, listener) ?? null
  }

  /** Chosen here: the largest, since its scripts asked for most; what it served is told to try again. */
  function endLargest(): number | null {
    const ends = [
      ...logins.living().map((worker) => ({ pid: worker.pid, end: worker.endForRoom })),
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

  pool.fill()
  return {
    call: logins.call,
    openClient: clients.open,
    checkUpload: checks.check,
    retire(key) {
      logins.retire(key)
      clients.retire(key)
    },
    debug: isDebugging ? attach : null,
    memory: pool.memory,
    isFull: pool.isFull,
    whenRoom: pool.whenRoom,
    needRoom(bytes) {
      if (!pool.makeRoomFor(bytes)) throw memoryFull()
    },
    retryAt: (key) => Math.max(logins.retryAt(key) ?? 0, clients.retryAt(key) ?? 0) || null,
    processes: () => [
      ...logins.living().map(({ pid, key, callCount }) => ({ pid, key, calls: callCount() })),
      ...clients.living().map(({ pid, key, callCount, clientCount }) => {
        return { pid, key, calls: callCount(), clients: clientCount() }
      }),
      ...pool.spares().map(({ pid }) => ({ pid, key: null, calls: 0 })),
      ...checks.living().map(({ pid, calls }) => ({ pid, key: null, calls })),
    ],
    stop() {
      clearInterval(sweep)
      pool.stop()
      logins.stop()
      clients.stop()
      checks.stop()
    },
  }
}
