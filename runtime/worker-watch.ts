import type { Limits } from './limits.ts'
import type { PendingCall, Run } from './pending-call.ts'
import type { ProcessEnd } from './process-end.ts'
import { processorTime, residentSize } from './process-memory.ts'
import { setBack } from './process-priority.ts'
import { createProcessWatch, type ProcessWatch } from './process-watch.ts'
import type { SandboxProcess } from './sandbox-process.ts'
import { DEADLINE_GRACE } from './served-call.ts'

/** If a call uses more CPU time than this, in ms, its process runs at a lower priority from then on. */
const LONG_CALL = 40
/**
 * The minimum interval between size checks of an idle process, in ms. More frequent checks would make logins wait for
 * the file system.
 */
const IDLE_MEASURE = 250

export type WorkerWatchOptions = {
  readonly process: SandboxProcess
  readonly limits: Limits
  readonly end: ProcessEnd<PendingCall>
  readonly running: () => Run | null
  readonly isIdle: () => boolean
  /**
   * When top-level code may have started to run in advance of a call, by `performance.now()`. Null if no such code is
   * running.
   */
  readonly unsettledSince: () => number | null
  readonly killHung: () => void
  readonly isLong: (pending: PendingCall) => void
}

export type WorkerWatch = Pick<ProcessWatch, 'start' | 'stop' | 'answered' | 'isSilent' | 'ask'> & {
  /** Whether the process uses more memory than is allowed for an idle one. */
  readonly isTooLarge: () => boolean
  /** Call this when the last running call has ended. */
  readonly rest: () => void
}

/** Watches a process that serves logins: memory, CPU time, and scripts that run in advance of a call. */
export function createWorkerWatch(options: WorkerWatchOptions): WorkerWatch {
  const { process, limits, end, running, isIdle, unsettledSince, killHung, isLong } = options
  const watch = createProcessWatch(process, limits, look)
  /** The call that was running at the last check, and the CPU time at that point. */
  let watched: { readonly pending: PendingCall; readonly time: number; isLong: boolean } | null = null
  let isSetBack = false
  let lastMeasured = 0

  /**
   * Checks the process. Stops the watch here, not after each call, since another call may follow before the next check.
   */
  function look(): void {
    if (isIdle()) {
      watch.stop()
      return
    }
    watchMemory()
    if (isUnsettledFor(limits.LOAD_TIME + DEADLINE_GRACE)) killHung()
    watchProcessor()
  }

  function watchMemory(): void {
    const failure = watch.grown()
    if (failure === null) return
    const culprit = running()
    if (culprit !== null) end.killFor(culprit.pending, { ...failure, milliseconds: culprit.clock.elapsed() })
    else if (unsettledSince() !== null) killHung()
  }

  /**
   * Whether code has been running in advance of a call for longer than `milliseconds`. A call that was already sent has
   * its own deadline.
   */
  function isUnsettledFor(milliseconds: number): boolean {
    const since = unsettledSince()
    return since !== null && running() === null && performance.now() - since > milliseconds
  }

  /** An endless loop in one solution must not slow down other solutions' logins. */
  function watchProcessor(): void {
    const run = running()
    if (run === null) return
    const { pending } = run
    const time = processorTime(process.pid)
    if (watched?.pending !== pending) watched = { pending, time, isLong: false }
    else if (!watched.isLong && time - watched.time >= LONG_CALL) {
      watched.isLong = true
      isLong(pending)
      if (!isSetBack) setBack(process.pid)
      isSetBack = true
    }
  }

  return {
    ...watch,
    isTooLarge() {
      if (Date.now() - lastMeasured < IDLE_MEASURE) return false
      lastMeasured = Date.now()
      return residentSize(process.pid) > limits.PROCESS_MEMORY / 2
    },
    rest() {
      watched = null
    },
  }
}
