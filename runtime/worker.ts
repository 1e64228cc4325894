import type { Limits } from './limits.ts'
import type { Failed } from './outcome.ts'
import type { PendingCall, Run } from './pending-call.ts'
import { createProcessEnd } from './process-end.ts'
import { residentSize } from './process-memory.ts'
import { megabytes } from './process-watch.ts'
import type { FromSandbox, SandboxOutcome, SandboxSolution } from './protocol.ts'
import type { SandboxProcess } from './sandbox-process.ts'
import { DEADLINE_GRACE, latestStarted, outcomeOf, servedCall, takeLine, takeRequest, timedOut } from './served-call.ts'
import { createWorkerWatch } from './worker-watch.ts'

export type WorkerEvents = {
  /**
   * The process is killed or gone, and these calls with it. `failed` names those that it went through, with their outcome.
   */
  readonly gone: (worker: Worker, lost: readonly PendingCall[], failed: ReadonlyMap<PendingCall, Failed>) => void
  /** The process is gone, and its memory is free. */
  readonly exited: (worker: Worker) => void
  /** The call turned out to need the processor for long. Told once for each such call. */
  readonly isLong: (pending: PendingCall) => void
}

/** One sandbox process that serves one solution version. */
export interface Worker {
  readonly key: string
  readonly pid: number
  readonly callCount: () => number
  /** Epoch ms of the last start or end of a call. */
  readonly lastUsed: () => number
  /** When the last call ended, by `performance.now()`. */
  readonly lastEnded: () => number
  /** How many calls came alone, one after the other, without a pause in which the context for the next could be made. */
  readonly callsInARow: () => number
  /** @param isSuspect whether a process of the solution had to be killed lately: then each call is announced */
  readonly run: (pending: PendingCall, isSuspect: boolean) => void
  /** Ends it once it has no calls; at once when it has none. */
  readonly retire: () => void
  /** Ends it since the host's memory is used up: the call that runs fails as `sandbox_busy`, those that wait run again. */
  readonly endForRoom: () => void
  readonly isEndedForRoom: () => boolean
  /** The call after which it had to be killed, since its scripts hung or grew while no call ran; null if it was not. */
  readonly hungAfter: () => PendingCall | null
  readonly kill: () => void
  /** It was killed or is gone: nothing more is to be given to it. */
  readonly isEnding: () => boolean
  /** Kills a process that did not answer the last time it was asked, or grew too large. Called for idle ones only. */
  readonly checkHeartbeat: () => void
  /** Null unless it was started for debugging. */
  readonly debug: SandboxProcess['debug']
}

/** How long a call may wait behind others for its start, in ms. */
const QUEUE_TIME = 10_000
/** A call that comes so soon after another one, in ms, has to wait for its context. */
const SETTLE_TIME = 2
/** A process that served so many calls makes room for a fresh one, whatever it may have gathered. */
const CALLS_SERVED = 20_000

export function createWorker(
  process: SandboxProcess,
  key: string,
  solution: SandboxSolution,
  limits: Limits,
  events: WorkerEvents,
): Worker {
  const runs = new Map<number, Run>()
  const end = createProcessEnd<PendingCall>(process)
  const use = createUse()
  /** Answered, since they waited too long for their start. */
  const givenUp = new WeakSet<PendingCall>()
  let retiring = false
  let lastEnded: PendingCall | null = null
  /** When the last call returned well, by `performance.now()`, and no sign since that the context for the next is made. */
  let unsettledSince: number | null = null
  let isEndedForRoom = false
  /** The call after which it hung. */
  let hungAfter: PendingCall | null = null
  const watch = createWorkerWatch({
    process,
    limits,
    end,
    running,
    isIdle,
    unsettledSince: () => unsettledSince,
    killHung,
    isLong: events.isLong,
  })

  process.onMessage = receive
  process.onEnd = lose
  process.onExit = () => events.exited(made)
  process.send({ kind: 'load', solution, ...(process.debug === null ? {} : { debug: true }) })

  function receive(message: FromSandbox): void {
    if (message.kind === 'pong') watch.answered()
    else if (message.kind === 'settled') settled()
    const run = 'id' in message ? runs.get(message.id) : undefined
    if (run === undefined) return
    if (message.kind === 'started') started(run)
    else if (message.kind === 'log') takeLine(run, message, run.pending.handlers)
    else if (message.kind === 'request') answer(run, message)
    else if (message.kind === 'ended') ended(run, message.outcome)
    // Only a process that is debugged says it: it watches the time of its calls itself.
    else if (message.kind === 'hung') end.killFor(run.pending, timedOut(run))
  }

  function answer(run: Run, message: Extract<FromSandbox, { kind: 'request' }>): void {
    const { pending } = run
    const failure = takeRequest(run, process, message, pending.handlers.request, () => {
      pending.changedSomething = true
    })
    if (failure !== null) end.killFor(pending, failure)
  }

  function started(run: Run): void {
    // A compromised process may report this repeatedly: the deadline stays.
    if (run.clock.startedAt() !== null) return
    unsettledSince = null
    begin(run)
  }

  function begin(run: Run): void {
    const { pending, clock } = run
    clock.begin()
    pending.handlers.began?.()
    if (process.debug !== null) return
    clock.alarm(limits.LOAD_TIME + clock.allowed + DEADLINE_GRACE, () => end.killFor(pending, timedOut(run)))
  }

  /** Inside a sandbox process calls run one after the other, so the one that started last is the one that runs. */
  function running(): Run | null {
    return latestStarted(runs.values())
  }

  function ended(run: Run, outcome: SandboxOutcome): void {
    // The isolate is gone after it ran out of memory, and what a call that was cut off left in the isolate's queue would
    // run inside the next one: neither serves anybody any more.
    if (!outcome.ok && (outcome.code === 'script_memory' || outcome.cutOff)) {
      end.killFor(run.pending, outcomeOf(outcome) as Failed)
      return
    }
    // After a call that failed no context is made ahead.
    unsettledSince = outcome.ok ? performance.now() : null
    lastEnded = run.pending
    run.clock.stop()
    runs.delete(run.pending.id)
    use.ended()
    if (isIdle()) becomeIdle()
    run.pending.settle(outcomeOf(outcome))
  }

  function settled(): void {
    unsettledSince = null
    if (isIdle()) becomeIdle()
  }

  /** Top-level code that runs ahead of a call has no call that could fail for it. */
  function killHung(): void {
    hungAfter = lastEnded
    end.kill('for fault')
  }

  /**
   * It has not started: the process is busy with others, which have deadlines of their own. Should it start all the
   * same, before the process reads that it is not to, it has its deadline like any other.
   */
  function giveUpWaiting(pending: PendingCall): void {
    givenUp.add(pending)
    pending.settle(waitedTooLong())
    // Nothing runs that has a deadline, and yet nothing starts: the process hangs.
    if (running() === null) end.kill('for fault')
    else process.send({ kind: 'cancel', id: pending.id })
  }

  function isIdle(): boolean {
    return runs.size === 0 && unsettledSince === null
  }

  function becomeIdle(): void {
    watch.rest()
    if (retiring || use.served() >= CALLS_SERVED || watch.isTooLarge()) end.kill('well')
  }

  /** @param byOthers whether something else killed the process, such as the system when its memory runs out */
  function lose(byOthers: boolean): void {
    watch.stop()
    const open = [...runs.values()]
    runs.clear()
    for (const { clock } of open) clock.stop()
    const lost = open.filter(({ pending }) => !givenUp.has(pending))
    const begun = lost.filter(({ clock }) => clock.startedAt() !== null)
    const [only] = begun
    if (end.killed() === null && only !== undefined && begun.length === 1 && isCulprit(only, byOthers)) {
      end.crashedThrough(only.pending)
    }
    events.gone(
      made,
      lost.map(({ pending }) => pending),
      end.failed,
    )
  }

  const made: Worker = {
    key,
    pid: process.pid,
    ...use.facts,
    callCount: () => runs.size,
    isEndedForRoom: () => isEndedForRoom,
    hungAfter: () => hungAfter,
    run(pending, isSuspect) {
      const announced = isSuspect || pending.replayed || runs.size > 0
      const run = { ...servedCall(pending.call.timeLimit, limits), pending, announced }
      runs.set(pending.id, run)
      use.began(runs.size === 1)
      watch.start()
      if (!announced) begin(run)
      // Where scripts are debugged a call may wait behind one that is held.
      else if (process.debug === null) run.clock.alarm(QUEUE_TIME, () => giveUpWaiting(pending))
      process.send({ kind: 'call', id: pending.id, call: pending.call, announce: announced })
    },
    retire() {
      retiring = true
      if (runs.size === 0) end.kill('well')
    },
    endForRoom() {
      isEndedForRoom = true
      const run = running()
      const message = endedForRoom(megabytes(residentSize(process.pid)))
      if (run === null) end.kill('well')
      else end.killFor(run.pending, { code: 'sandbox_busy', message, milliseconds: run.clock.elapsed() })
    },
    kill: () => end.kill('well'),
    isEnding: process.ended,
    debug: process.debug,
    checkHeartbeat() {
      if (runs.size > 0) return
      if (watch.isSilent()) killHung()
      else if (watch.isTooLarge()) end.kill('well')
      else watch.ask()
    },
  }
  return made
}

/** What the supervisor chooses processes by. */
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

/** A process that ended while one call ran ended through that call, as far as anybody can know; twice is no chance. */
function isCulprit({ pending, announced }: Run, byOthers: boolean): boolean {
  return pending.replayed || (!byOthers && (announced || pending.changedSomething))
}

/** @param held by the process that was ended, in MB */
function endedForRoom(held: number): string {
  return `the memory of the host (RUNTIME_XMX) was used up, and of all sandbox processes this one was the largest: ${held} MB`
}

function waitedTooLong(): Failed {
  return { code: 'sandbox_busy', message: `the call waited ${QUEUE_TIME} ms for its sandbox process`, milliseconds: 0 }
}
