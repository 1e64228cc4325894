import { type ClientCall, HUNG_TIME } from './client-calls.ts'
import type { Limits } from './limits.ts'
import type { ProcessEnd } from './process-end.ts'
import { processorTime } from './process-memory.ts'
import { bringForward, startBehind } from './process-priority.ts'
import { createProcessWatch, type ProcessWatch, WATCH } from './process-watch.ts'
import type { SandboxProcess } from './sandbox-process.ts'
import { latestStarted } from './served-call.ts'

/** If a call runs longer than this (in ms) and the process is busy, the process gets a lower priority. */
const LONG_CALL = 250

export type ClientWorkerWatch = Omit<ProcessWatch, 'grown'> & {
  readonly stopIfQuiet: () => void
  readonly watchMemory: () => void
  /** Kills the process because of work that an ended call left running. */
  readonly killHung: () => void
  /** Call this when a call has used up the isolate's memory and has ended. The isolate may still grow. */
  readonly outOfMemory: (call: ClientCall) => void
  /** Keeps watching for `milliseconds`, because work from calls that have ended may still be running in the process. */
  readonly watchFor: (milliseconds: number) => void
  /** The call that ran out of memory, if work that it left running caused the process to be killed. Otherwise null. */
  readonly blamed: () => ClientCall | null
}

/**
 * Watches a process for clients: memory, and CPU time while calls run.
 * @param calls the running calls, and whether there are any
 */
export function createClientWorkerWatch(
  process: SandboxProcess,
  limits: Limits,
  end: ProcessEnd<ClientCall>,
  calls: { readonly running: () => readonly ClientCall[]; readonly isEmpty: () => boolean },
): ClientWorkerWatch {
  const watch = createProcessWatch(process, limits, look)
  let lastMemory: ClientCall | null = null
  let blamed: ClientCall | null = null
  /** When to stop watching for leftover work, in ms on the clock `performance.now()`. */
  let watchUntil = 0
  let watchedTime = 0
  let isBehind = false

  function look(): void {
    stopIfQuiet()
    watchMemory()
    watchProcessor()
  }

  /** If several calls run, it is unknown which one caused this, so the call that began last is treated as the cause. */
  function watchMemory(): void {
    const failure = process.ended() ? null : watch.grown()
    if (failure === null) return
    if (lastMemory !== null && performance.now() < watchUntil) {
      killHung()
      return
    }
    const culprit = latestStarted(calls.running())
    if (culprit === null) end.kill('error')
    else end.killFor(culprit, { ...failure, milliseconds: culprit.clock.elapsed() })
  }

  /** The call has ended, but work that it started is still running. */
  function killHung(): void {
    if (end.killed() !== null) return
    blamed = lastMemory
    end.kill('error')
  }

  /**
   * One solution's long handlers must not slow down other solutions’ logins. The priority is lower only while they run.
   */
  function watchProcessor(): void {
    const time = processorTime(process.pid)
    const isBusy = time - watchedTime >= WATCH / 2
    watchedTime = time
    const isLong = isBusy && calls.running().some(({ clock }) => clock.elapsed() > LONG_CALL)
    if (isLong === isBehind) return
    isBehind = isLong
    if (isLong) startBehind(process.pid)
    else bringForward(process.pid)
  }

  function stopIfQuiet(): void {
    if (calls.isEmpty() && performance.now() > watchUntil) stop()
  }

  function stop(): void {
    watch.stop()
    if (isBehind && !process.ended()) bringForward(process.pid)
    isBehind = false
  }

  return {
    ...watch,
    stop,
    stopIfQuiet,
    watchMemory,
    killHung,
    outOfMemory(call) {
      lastMemory = call
      watchUntil = performance.now() + HUNG_TIME
    },
    watchFor(milliseconds) {
      watchUntil = performance.now() + milliseconds
    },
    blamed: () => blamed,
  }
}
