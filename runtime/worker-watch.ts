import type { Limits } from './limits.ts'
import type { PendingCall, Run } from './pending-call.ts'
import type { ProcessEnd } from './process-end.ts'
import { processorTime, residentSize } from './process-memory.ts'
import { setBack } from './process-priority.ts'
import { createProcessWatch, type ProcessWatch } from './process-watch.ts'
import type { SandboxProcess } from './sandbox-process.ts'
import { DEADLINE_GRACE } from './served-call.ts'

/** A process whose call used more processor time than this, in ms, runs behind all others from then on. */
const LONG_CALL = 40
/** An idle process's size is looked at no oftener than this, in ms: a login should not wait for the file system. */
const IDLE_MEASURE = 250

export type WorkerWatchOptions = {
  readonly process: SandboxProcess
  readonly limits: Limits
  readonly end: ProcessEnd<PendingCall>
  /** The call that runs. */
  readonly running: () => Run | null
  readonly isIdle: () => boolean
  /** Since when the scripts' top level may run ahead of a call, by `performance.now()`; null: it does not. */
  readonly unsettledSince: () => number | null
  readonly killHung: () => void
  readonly isLong: (pending: PendingCall) => void
}

export type WorkerWatch = Pick<ProcessWatch, 'start' | 'stop' | 'answered' | 'isSilent' | 'ask'> & {
  /** Whether what is left when nothing runs is more than an idle process may hold. */
  readonly isTooLarge: () => boolean
  /** No call runs any more. */
  readonly rest: () => void
}

/** Looks after a process that serves logins: memory, processor time, and scripts that run ahead of a call. */
export function createWorkerWatch(options: WorkerWatchOptions): WorkerWatch {
  const { process, limits, end, running, isIdle, unsettledSince, killHung, isLong } = options
  const watch = createProcessWatch(process, limits, look)
  /** The call that ran when it was last looked, and the processor time by then. */
  let watched: { readonly pending: PendingCall; readonly time: number; isLong: boolean } | null = null
  let isSetBack = false
  let lastMeasured = 0

  /** Not ended with each call: another one may come before it would look. */
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

  /** A call that was sent meanwhile has a deadline of its own. */
  function isUnsettledFor(milliseconds: number): boolean {
    const since = unsettledSince()
    return since !== null && running() === null && performance.now() - since > milliseconds
  }

  /** One solution's endless loop must not take from the others what their logins need. */
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
