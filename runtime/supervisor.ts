import { CALL_KINDS, type ProcessGroup } from './call-kinds.ts'
import { createCheckProcesses } from './check-processes.ts'
import type { Probe, UploadCheck } from './check-upload.ts'
import { createClientProcesses } from './client-processes.ts'
import type { DebugListener, DebugSession } from './debug-sessions.ts'
import type { Limits } from './limits.ts'
import { createLoginProcesses, type LoginProcesses } from './login-processes.ts'
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
  /** Runs one entry function. Never rejects because of a script: errors in scripts are outcomes too. */
  call(version: Loadable, call: SandboxCall, handlers: CallHandlers): Promise<Outcome>
  /**
   * Opens a client in a process for clients of this version. A client is a context with the scripts of unit `main`, and
   * persists until it is closed. Never rejects because of a script.
   *
   * The process runs as long as it has clients. The exception: if RUNTIME_XMX is exceeded and no idle process is left,
   * the supervisor ends the least recently used process and notifies its clients.
   * @param handlers receive the lines that the scripts log while they load
   * @returns the client, or why it could not be opened
   */
  openClient(version: Loadable, handlers: LogHandler): Promise<SandboxClient | Failed>
  /**
   * Checks an upload in a separate process, which ends with the check. Scripts are loaded only if the files have no
   * errors.
   * @throws ERR_MEMORY_FULL
   */
  checkUpload(
    files: UploadFiles,
    prepare: (checked: CheckedFiles) => Promise<SandboxSolution>,
    probes: readonly Probe[],
  ): Promise<UploadCheck>
  /**
   * Ends the processes of a solution version. Processes with running calls or open clients end when these have ended.
   */
  retire(key: string): void
  /**
   * Returns when the version's logins or clients may run again, in epoch ms; null if they are not paused. Repeated
   * kills of their processes cause a pause.
   */
  retryAt(key: string): number | null
  /** Like `retryAt`, for the version's endpoints or jobs, which are paused separately. */
  retryAtOf(group: 'requests' | 'jobs', key: string): number | null
  /**
   * Attaches a debugger to the isolate of a version's unit, and starts its process if necessary. This property is null
   * unless the supervisor was created with `debugNode`.
   * @returns null if no process could be started
   */
  readonly debug: ((version: Loadable, unit: Unit, listener: DebugListener) => Promise<DebugSession | null>) | null
  /**
   * Returns the memory used by the host and all its processes, and the memory limits. Used for health, telemetry and
   * tests. Takes about 1 ms.
   */
  memory(): MemoryState
  /**
   * Whether running work has used up the memory. If so, the supervisor refuses new work, and its callers must do the
   * same.
   */
  isFull(): boolean
  /** Waits briefly if the memory is full. @returns false if new work must be refused */
  whenRoom(): Promise<boolean>
  /** Ends idle processes until this many bytes are free. @throws ERR_MEMORY_FULL if not enough can be freed */
  needRoom(bytes: number): void
  /** Returns all processes that have not exited, including killed ones. Used for health and tests. */
  processes(): readonly RunningProcess[]
  /** Kills every process immediately. Running calls fail with `script_crashed`. */
  stop(): void
}

export type RunningProcess = {
  readonly pid: number
  /** The key of the version that the process serves. */
  readonly key: string | null
  readonly calls: number
  /** The number of open clients; absent unless the process is for clients. */
  readonly clients?: number
}

/**
 * `hung`: the process did not respond while no call was running. `client`: the host ended the process because of a
 * script in an open client.
 */
export type KillReason = Failed['code'] | 'hung' | 'client'

export type SupervisorOptions = {
  readonly limits: Limits
  readonly trusted: Trusted
  readonly timeZone: string
  /** In bytes; see `ProcessPoolOptions`. */
  readonly memory?: { readonly minimum: number; readonly maximum: number }
  /** See `ProcessPoolOptions`. */
  readonly bound?: MemoryBound | undefined
  /**
   * Enables debugging; see `SandboxProcessOptions`. A version gets only one process for logins, so that debuggers can
   * attach to it.
   */
  readonly debugNode?: string | undefined
  /** See `ProcessPoolOptions`. */
  readonly notStarted?: (reason: string) => void
  /** Called after a process has ended because of a script. Must not throw. */
  readonly killed?: (reason: KillReason) => void
  /** See `createCheckProcesses`. Default: false. */
  readonly keepsCheckReady?: boolean
  /** See `ProcessPoolOptions`. */
  readonly keepsSpare?: boolean
}

function keyIn(group: ProcessGroup, key: string): string {
  return group === 'logins' ? key : `${key} ${group}`
}

const GROUPS: readonly ProcessGroup[] = ['logins', 'requests', 'jobs']
/** The interval in ms at which idle processes are checked. They are pinged, or ended after a long idle time. */
const SWEEP = 5_000
const NO_BOUND = { minimum: 0, maximum: Number.POSITIVE_INFINITY }

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { limits, trusted, timeZone, memory = NO_BOUND, bound, debugNode, keepsCheckReady = false } = options
  const pool = createProcessPool({
    sandbox: { timeZone, trusted, debugNode },
    keepsSpare: options.keepsSpare,
    notStarted: options.notStarted,
    memory,
    bound,
    inUse: () => [...living(), ...clients.living(), ...checks.living()].map(({ pid }) => pid),
    makeRoom: (isUrgent) =>
      groups.jobs.makeRoom() ?? groups.requests.makeRoom() ?? groups.logins.makeRoom() ?? clients.makeRoom(isUrgent),
    endLargest,
  })
  const isDebugging = debugNode !== undefined
  const killed = (reason: KillReason) => options.killed?.(reason)
  const common = { limits, pool, isDebugging, killed }
  const groups: Readonly<Record<ProcessGroup, LoginProcesses>> = {
    logins: createLoginProcesses(common),
    requests: createLoginProcesses({ ...common, forOthers: { largestAnswer: limits.ANSWER_SIZE } }),
    jobs: createLoginProcesses({ ...common, forOthers: { largestAnswer: limits.RESULT_SIZE, areApart: true } }),
  }
  const allGroups = Object.values(groups)
  const living = () => allGroups.flatMap((group) => group.living())
  const clients = createClientProcesses(limits, pool, () => killed('client'))
  const checks = createCheckProcesses(limits, pool, keepsCheckReady)
  // Use an immediate, so that pending responses to pings are read first if this thread was busy.
  const sweep = setInterval(() => setImmediate(sweepIdle), SWEEP)
  sweep.unref()

  function sweepIdle(): void {
    for (const group of allGroups) group.sweep()
    clients.sweep()
    pool.fill()
  }

  async function attach(version: Loadable, unit: Unit, listener: DebugListener): Promise<DebugSession | null> {
    const worker = await (unit === 'main' ? clients : groups.logins).workerFor(version)
    return worker?.debug?.open(unit, listener) ?? null
  }

  /**
   * Chosen here: end the largest process, since its scripts used the most memory. Its callers get an error that asks
   * them to try again.
   */
  function endLargest(): number | null {
    const ends = [
      ...living().map((worker) => ({ pid: worker.pid, end: worker.endForRoom })),
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
    call(version, call, handlers) {
      const group = CALL_KINDS[call.kind ?? 'login'].processes
      return groups[group].call({ ...version, key: keyIn(group, version.key) }, call, handlers)
    },
    openClient: clients.open,
    checkUpload: checks.check,
    retire(key) {
      for (const group of GROUPS) groups[group].retire(keyIn(group, key))
      clients.retire(key)
    },
    debug: isDebugging ? attach : null,
    memory: pool.memory,
    isFull: pool.isFull,
    whenRoom: pool.whenRoom,
    needRoom(bytes) {
      if (!pool.makeRoomFor(bytes)) throw memoryFull()
    },
    retryAtOf: (group, key) => groups[group].retryAt(keyIn(group, key)),
    retryAt: (key) => Math.max(groups.logins.retryAt(key) ?? 0, clients.retryAt(key) ?? 0) || null,
    processes: () => [
      ...living().map(({ pid, key, callCount }) => ({ pid, key, calls: callCount() })),
      ...clients.living().map(({ pid, key, callCount, clientCount }) => {
        return { pid, key, calls: callCount(), clients: clientCount() }
      }),
      ...pool.spares().map(({ pid }) => ({ pid, key: null, calls: 0 })),
      ...checks.living().map(({ pid, calls }) => ({ pid, key: null, calls })),
    ],
    stop() {
      clearInterval(sweep)
      pool.stop()
      for (const group of allGroups) group.stop()
      clients.stop()
      checks.stop()
    },
  }
}
