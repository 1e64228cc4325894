import type { Limits } from './limits.ts'
import type { Failed } from './outcome.ts'
import type { PendingCall } from './pending-call.ts'
import { createProcessEnd } from './process-end.ts'
import { residentSize } from './process-memory.ts'
import { megabytes } from './process-watch.ts'
import type { FromSandbox, SandboxSolution } from './protocol.ts'
import { MAX_CALL_FRAME, type SandboxProcess } from './sandbox-process.ts'
import { createWorkerCalls } from './worker-calls.ts'
import { createWorkerWatch } from './worker-watch.ts'

export type WorkerEvents = {
  /**
   * The process was killed or has exited, and these calls are lost. `failed` contains the calls that caused it, with
   * their outcome.
   */
  readonly gone: (worker: Worker, lost: readonly PendingCall[], failed: ReadonlyMap<PendingCall, Failed>) => void
  /** The process has exited, and its memory is free. */
  readonly exited: (worker: Worker) => void
  /** Reports a call that uses a lot of CPU time, once per call. */
  readonly isLong: (pending: PendingCall) => void
}

/** One sandbox process that serves one solution version. */
export interface Worker {
  readonly key: string
  readonly pid: number
  readonly callCount: () => number
  /** When a call last started or ended, in epoch ms. */
  readonly lastUsed: () => number
  /** When the last call ended, by `performance.now()`. */
  readonly lastEnded: () => number
  /**
   * The number of consecutive calls that did not overlap, but arrived before the next context could be created.
   */
  readonly callsInARow: () => number
  /** @param isSuspect whether one of the solution's processes was killed recently; if so, each call is announced */
  readonly run: (pending: PendingCall, isSuspect: boolean) => void
  /** Ends the process when its last call has ended, or immediately if it has no calls. */
  readonly retire: () => void
  /**
   * Ends the process because the host's memory is used up. The running call fails with `sandbox_busy`; queued calls are
   * retried.
   */
  readonly endForRoom: () => void
  readonly isEndedForRoom: () => boolean
  /**
   * The last call before the process was killed, if scripts hung or used too much memory while no call was running.
   * Otherwise null.
   */
  readonly hungAfter: () => PendingCall | null
  readonly kill: () => void
  /** Whether the call is running or queued in the process. */
  readonly has: (pending: PendingCall) => boolean
  /** Whether the process was killed or has exited, so that nothing more may be sent to it. */
  readonly isEnding: () => boolean
  /**
   * Kills the process if it has not responded to the last ping, or has grown too large. Called only for idle processes.
   */
  readonly checkHeartbeat: () => void
  /** Null unless the process was started for debugging. */
  readonly debug: SandboxProcess['debug']
}

/** A call that follows another call within this time, in ms, has to wait until its context has been created. */
const SETTLE_TIME = 2
/** After this many calls, a process is replaced by a fresh one, in case it leaks memory. */
const CALLS_SERVED = 20_000

/** A character takes at most this many bytes as JSON inside JSON: \u0001 becomes \\u0001. */
const ESCAPED = 8

/** @param largestAnswer the maximum size of a call's result in bytes, if it is more than an ordinary frame */
export function createWorker(
  process: SandboxProcess,
  key: string,
  solution: SandboxSolution,
  limits: Limits,
  events: WorkerEvents,
  largestAnswer = 0,
): Worker {
  const end = createProcessEnd<PendingCall>(process)
  const use = createUse()
  const calls = createWorkerCalls(process, limits, end, { started: callStarted, ended: callEnded })
  let retiring = false
  let lastEnded: PendingCall | null = null
  /**
   * When the last call succeeded, by `performance.now()`; null once the process has reported that it created the next
   * context.
   */
  let unsettledSince: number | null = null
  let isEndedForRoom = false
  /** The call after which the process hung. */
  let hungAfter: PendingCall | null = null
  const watch = createWorkerWatch({
    process,
    limits,
    end,
    running: calls.running,
    isIdle,
    unsettledSince: () => unsettledSince,
    killHung,
    isLong: events.isLong,
  })

  if (largestAnswer > 0) process.allowLargeFrames(MAX_CALL_FRAME + ESCAPED * largestAnswer)
  process.onMessage = receive
  process.onEnd = lose
  process.onExit = () => events.exited(created)
  process.send({ kind: 'load', solution, ...(process.debug === null ? {} : { debug: true }) })

  function receive(message: FromSandbox): void {
    if (message.kind === 'pong') watch.answered()
    else if (message.kind === 'settled') settled()
    else if ('id' in message) calls.receive(message)
  }

  function callStarted(): void {
    unsettledSince = null
  }

  function callEnded(pending: PendingCall, returnedWell: boolean): void {
    // After a failed call, no context is created in advance.
    unsettledSince = returnedWell ? performance.now() : null
    lastEnded = pending
    use.ended()
    if (isIdle()) becomeIdle()
  }

  function settled(): void {
    unsettledSince = null
    if (isIdle()) becomeIdle()
  }

  /** Kills the process when top-level code hangs in advance of a call. There is no call that could fail because of it. */
  function killHung(): void {
    hungAfter = lastEnded
    end.kill('error')
  }

  function isIdle(): boolean {
    return calls.count() === 0 && unsettledSince === null
  }

  function becomeIdle(): void {
    watch.rest()
    if (retiring || use.served() >= CALLS_SERVED || watch.isTooLarge()) end.kill('well')
  }

  function lose(byOthers: boolean): void {
    watch.stop()
    events.gone(created, calls.lose(byOthers), end.failed)
  }

  const created: Worker = {
    key,
    pid: process.pid,
    ...use.facts,
    callCount: calls.count,
    isEndedForRoom: () => isEndedForRoom,
    hungAfter: () => hungAfter,
    run(pending, isSuspect) {
      use.began(calls.count() === 0)
      watch.start()
      calls.run(pending, isSuspect)
    },
    retire() {
      retiring = true
      if (calls.count() === 0) end.kill('well')
    },
    endForRoom() {
      isEndedForRoom = true
      const run = calls.running()
      const message = endedForRoom(megabytes(residentSize(process.pid)))
      if (run === null) end.kill('well')
      else end.killFor(run.pending, { code: 'sandbox_busy', message, milliseconds: run.clock.elapsed() })
    },
    kill: () => end.kill('well'),
    has: calls.has,
    isEnding: process.ended,
    debug: process.debug,
    checkHeartbeat() {
      if (calls.count() > 0) return
      if (watch.isSilent()) killHung()
      else if (watch.isTooLarge()) end.kill('well')
      else watch.ask()
    },
  }
  return created
}

/** Records how a process is used. The host uses these facts to choose a process for a call. */
function createUse() {
  let lastUsed = Date.now()
  let lastEnded = 0
  let inARow = 0
  let served = 0
  return {
    facts: { lastUsed: () => lastUsed, lastEnded: () => lastEnded, callsInARow: () => inARow },
    served: () => served,
    began(isAlone: boolean): void {
      lastUsed = Date.now()
      inARow = isAlone && performance.now() - lastEnded < SETTLE_TIME ? inARow + 1 : 0
    },
    ended(): void {
      lastUsed = Date.now()
      lastEnded = performance.now()
      served++
    },
  }
}

/** @param held the memory that the terminated process used, in MB */
function endedForRoom(held: number): string {
  return `the host had used all its memory (RUNTIME_XMX), so it terminated this sandbox process, which used the most: ${held} MB`
}
