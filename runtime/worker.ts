import { answerRequest, type RequestHandler } from './answer-request.ts'
import { type CallCounts, createCallCounts } from './call-counts.ts'
import type { Limits } from './limits.ts'
import type { Failed, GuestLogLine, Outcome } from './outcome.ts'
import { processorTime, residentSize } from './process-memory.ts'
import { setBack } from './process-priority.ts'
import type { FromSandbox, SandboxCall, SandboxOutcome, SandboxSolution } from './protocol.ts'
import type { SandboxProcess } from './sandbox-process.ts'

/** A solution version as the supervisor needs it: `solution` is asked for only when a process has to load it. */
export type Loadable = { readonly key: string; readonly solution: () => SandboxSolution }

export type CallHandlers = {
  readonly log: (line: GuestLogLine) => void
  readonly request: RequestHandler
  /** Told when a process begins with the call; again when another one does, since the first was lost. Must not throw. */
  readonly began?: () => void
}

export type PendingCall = {
  readonly id: number
  readonly version: Loadable
  readonly call: SandboxCall
  readonly handlers: CallHandlers
  readonly settle: (outcome: Outcome) => void
  readonly outcome: Promise<Outcome>
  timer: NodeJS.Timeout | null
  /** Whether it made a request that can change something: then it is never run again. */
  changedSomething: boolean
  replayed: boolean
  /** Of the process that runs it now. */
  counts: CallCounts | null
  /** Whether it was let in as one of the calls of suspects that may run at once. */
  hasTurn: boolean
  /**
   * By `performance.now()`; null until the process said that it began, or for one that is not announced when it was sent.
   * A call that is lost before it began cannot be what its process died of and runs again.
   */
  startedAt: number | null
  /**
   * Whether the process says when it begins. The first call of an idle process begins at once, so it is not said; should
   * the process be lost, such as one that had died already, the call runs again, announced.
   */
  announced: boolean
}

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

/** Beyond a limit that the sandbox process watches itself, the host waits this long before it kills, in ms. */
export const DEADLINE_GRACE = 250
/** How long a call may wait behind others for its start, in ms. */
const QUEUE_TIME = 10_000
/** How often the resident size and the processor time are looked at while a call runs, in ms. */
const WATCH = 50
/** A process whose call used more processor time than this, in ms, runs behind all others from then on. */
const LONG_CALL = 40
/** A call that comes so soon after another one, in ms, has to wait for its context. */
const SETTLE_TIME = 2
/** An idle process's size is looked at no oftener than this, in ms: a login should not wait for the file system. */
const IDLE_MEASURE = 250
/** A process that served so many calls makes room for a fresh one, whatever it may have gathered. */
const CALLS_SERVED = 20_000

export const CRASHED: Failed = {
  code: 'script_crashed',
  message: 'the sandbox process ended while the script ran',
  milliseconds: 0,
}

export function createWorker(
  process: SandboxProcess,
  key: string,
  solution: SandboxSolution,
  limits: Limits,
  events: WorkerEvents,
): Worker {
  const calls = new Map<number, PendingCall>()
  const failed = new Map<PendingCall, Failed>()
  /** Answered, since they waited too long for their start. */
  const givenUp = new WeakSet<PendingCall>()
  let lastUsed = Date.now()
  let served = 0
  let lastEndedAt = 0
  let inARow = 0
  let retiring = false
  let killed = false
  let heartbeatMissing = false
  let lastEnded: PendingCall | null = null
  /** When the last call returned well, by `performance.now()`, and no sign since that the context for the next is made. */
  let unsettledSince: number | null = null
  /** The call after which it hung. */
  let isEndedForRoom = false
  let hungAfter: PendingCall | null = null
  let watching: NodeJS.Timeout | null = null
  /** The call that ran when it was last looked, and the processor time by then. */
  let watched: { readonly pending: PendingCall; readonly time: number; isLong: boolean } | null = null
  let isSetBack = false
  let lastMeasured = 0

  process.onMessage = receive
  process.onEnd = lose
  process.onExit = () => events.exited(made)
  process.send({ kind: 'load', solution, ...(process.debug === null ? {} : { debug: true }) })

  function receive(message: FromSandbox): void {
    if (message.kind === 'pong') heartbeatMissing = false
    else if (message.kind === 'settled') settled()
    const pending = 'id' in message ? calls.get(message.id) : undefined
    if (pending === undefined) return
    if (message.kind === 'started') started(pending)
    else if (message.kind === 'log') log(pending, message)
    else if (message.kind === 'request') answer(pending, message)
    else if (message.kind === 'ended') ended(pending, message.outcome)
    // Only a process that is debugged says it: it watches the time of its calls itself.
    else if (message.kind === 'hung') killFor(pending, timedOut(pending))
  }

  function answer(pending: PendingCall, message: Extract<FromSandbox, { kind: 'request' }>): void {
    const failure = pending.counts?.request(elapsed(pending)) ?? null
    if (failure !== null) {
      killFor(pending, failure)
      return
    }
    void answerRequest(process, message, pending.handlers.request, () => {
      pending.changedSomething = true
    })
  }

  /** What goes wrong while a line is written must not end the host. */
  function log(pending: PendingCall, line: GuestLogLine): void {
    try {
      if (pending.counts?.logLine()) pending.handlers.log(line)
    } catch {
      // The line is lost; the call goes on.
    }
  }

  function started(pending: PendingCall): void {
    // A compromised process may report this repeatedly: the deadline stays.
    if (pending.startedAt !== null) return
    unsettledSince = null
    begin(pending)
  }

  function begin(pending: PendingCall): void {
    if (pending.timer) clearTimeout(pending.timer)
    pending.startedAt = performance.now()
    pending.handlers.began?.()
    if (process.debug !== null) return
    const deadline = limits.LOAD_TIME + limits[pending.call.timeLimit] + DEADLINE_GRACE
    pending.timer = setTimeout(() => killFor(pending, timedOut(pending)), deadline)
  }

  function timedOut(pending: PendingCall): Failed {
    const allowed = limits[pending.call.timeLimit]
    const used = elapsed(pending)
    const message = `the call took longer than ${allowed} ms and its process was ended`
    return {
      code: 'script_timeout',
      message,
      limit: { name: pending.call.timeLimit, allowed, used },
      milliseconds: used,
    }
  }

  /** Not ended with each call: another one may come before it would look. */
  function watch(): void {
    if (isIdle()) {
      stopWatching()
      return
    }
    watchMemory()
    if (isUnsettledFor(limits.LOAD_TIME + DEADLINE_GRACE)) killHung()
    watchProcessor()
  }

  /** A call that was sent meanwhile has a deadline of its own. */
  function isUnsettledFor(milliseconds: number): boolean {
    return unsettledSince !== null && latestStarted() === null && performance.now() - unsettledSince > milliseconds
  }

  /** One solution's endless loop must not take from the others what their logins need. */
  function watchProcessor(): void {
    const pending = latestStarted()
    if (pending === null) return
    const time = processorTime(process.pid)
    if (watched?.pending !== pending) watched = { pending, time, isLong: false }
    else if (!watched.isLong && time - watched.time >= LONG_CALL) {
      watched.isLong = true
      events.isLong(pending)
      if (!isSetBack) setBack(process.pid)
      isSetBack = true
    }
  }

  /** isolated-vm's heap limit is a trigger and not a bound, and much lies outside of the heap: so it is watched here. */
  function watchMemory(): void {
    const used = residentSize(process.pid)
    const allowed = limits.PROCESS_MEMORY
    if (used <= allowed) return
    const culprit = latestStarted()
    if (culprit === null) {
      if (unsettledSince !== null) killHung()
      return
    }
    const message = `the sandbox process grew to ${megabytes(used)} MB; ${megabytes(allowed)} MB are allowed`
    const limit = { name: 'PROCESS_MEMORY', allowed, used }
    killFor(culprit, { code: 'script_memory', message, limit, milliseconds: elapsed(culprit) })
  }

  /** Inside a sandbox process calls run one after the other, so the one that started last is the one that runs. */
  function latestStarted(): PendingCall | null {
    let latest: PendingCall | null = null
    for (const pending of calls.values()) {
      if (pending.startedAt !== null && pending.startedAt >= (latest?.startedAt ?? 0)) latest = pending
    }
    return latest
  }

  function ended(pending: PendingCall, outcome: SandboxOutcome): void {
    // The isolate is gone after it ran out of memory, and what a call that was cut off left in the isolate's queue would
    // run inside the next one: neither serves anybody any more.
    if (!outcome.ok && (outcome.code === 'script_memory' || outcome.cutOff)) {
      killFor(pending, outcomeOf(outcome) as Failed)
      return
    }
    // After a call that failed no context is made ahead.
    unsettledSince = outcome.ok ? performance.now() : null
    lastEnded = pending
    finish(pending, outcomeOf(outcome))
  }

  function settled(): void {
    unsettledSince = null
    if (isIdle()) becomeIdle()
  }

  /** Top-level code that runs ahead of a call has no call that could fail for it. */
  function killHung(): void {
    hungAfter = lastEnded
    kill()
  }

  /**
   * It has not started: the process is busy with others, which have deadlines of their own. Should it start all the
   * same, before the process reads that it is not to, it has its deadline like any other.
   */
  function giveUpWaiting(pending: PendingCall): void {
    givenUp.add(pending)
    pending.settle(waitedTooLong())
    // Nothing runs that has a deadline, and yet nothing starts: the process hangs.
    if (latestStarted() === null) kill()
    else process.send({ kind: 'cancel', id: pending.id })
  }

  function killFor(pending: PendingCall, failure: Failed): void {
    failed.set(pending, failure)
    kill()
  }

  function kill(): void {
    killed = true
    process.kill()
  }

  function finish(pending: PendingCall, outcome: Outcome): void {
    if (pending.timer) clearTimeout(pending.timer)
    calls.delete(pending.id)
    lastUsed = Date.now()
    lastEndedAt = performance.now()
    served++
    if (isIdle()) becomeIdle()
    pending.settle(outcome)
  }

  function isIdle(): boolean {
    return calls.size === 0 && unsettledSince === null
  }

  function stopWatching(): void {
    if (watching) clearInterval(watching)
    watching = null
  }

  function becomeIdle(): void {
    watched = null
    if (retiring || served >= CALLS_SERVED || isTooLarge()) kill()
  }

  /** What is left when nothing runs. */
  function isTooLarge(): boolean {
    if (Date.now() - lastMeasured < IDLE_MEASURE) return false
    lastMeasured = Date.now()
    return residentSize(process.pid) > limits.PROCESS_MEMORY / 2
  }

  /** @param byOthers whether something else killed the process, such as the system when its memory runs out */
  function lose(byOthers: boolean): void {
    stopWatching()
    const open = [...calls.values()]
    calls.clear()
    for (const pending of open) if (pending.timer) clearTimeout(pending.timer)
    const lost = open.filter((pending) => !givenUp.has(pending))
    const running = lost.filter(({ startedAt }) => startedAt !== null)
    const [only] = running
    if (!killed && only !== undefined && running.length === 1 && isCulprit(only, byOthers)) failed.set(only, CRASHED)
    events.gone(made, lost, failed)
  }

  /** A process that ended while one call ran ended through that call, as far as anybody can know; twice is no chance. */
  function isCulprit(pending: PendingCall, byOthers: boolean): boolean {
    return pending.replayed || (!byOthers && (pending.announced || pending.changedSomething))
  }

  function endForRoom(): void {
    isEndedForRoom = true
    const running = latestStarted()
    const held = megabytes(residentSize(process.pid))
    if (running === null) kill()
    else killFor(running, { code: 'sandbox_busy', message: endedForRoom(held), milliseconds: elapsed(running) })
  }

  const made: Worker = {
    key,
    pid: process.pid,
    endForRoom,
    isEndedForRoom: () => isEndedForRoom,
    callCount: () => calls.size,
    lastUsed: () => lastUsed,
    lastEnded: () => lastEndedAt,
    callsInARow: () => inARow,
    hungAfter: () => hungAfter,
    run(pending, isSuspect) {
      pending.startedAt = null
      pending.counts = createCallCounts(limits)
      pending.announced = isSuspect || pending.replayed || calls.size > 0
      calls.set(pending.id, pending)
      lastUsed = Date.now()
      const isAlone = calls.size === 1
      inARow = isAlone && performance.now() - lastEndedAt < SETTLE_TIME ? inARow + 1 : 0
      watching ??= setInterval(watch, WATCH)
      if (!pending.announced) begin(pending)
      // Where scripts are debugged a call may wait behind one that is held.
      else if (process.debug === null) pending.timer = setTimeout(() => giveUpWaiting(pending), QUEUE_TIME)
      process.send({ kind: 'call', id: pending.id, call: pending.call, announce: pending.announced })
    },
    retire() {
      retiring = true
      if (calls.size === 0) kill()
    },
    kill,
    isEnding: process.ended,
    debug: process.debug,
    checkHeartbeat() {
      if (calls.size > 0) return
      if (heartbeatMissing) return killHung()
      if (isTooLarge()) return kill()
      heartbeatMissing = true
      process.send({ kind: 'ping' })
    },
  }
  return made
}

/** @param held by the process that was ended, in MB */
function endedForRoom(held: number): string {
  return `the memory of the host (RUNTIME_XMX) was used up, and of all sandbox processes this one was the largest: ${held} MB`
}

function waitedTooLong(): Failed {
  return { code: 'sandbox_busy', message: `the call waited ${QUEUE_TIME} ms for its sandbox process`, milliseconds: 0 }
}

function elapsed(pending: PendingCall): number {
  return Math.round(performance.now() - (pending.startedAt ?? performance.now()))
}

export function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 ** 2)
}

export function outcomeOf(outcome: SandboxOutcome): Outcome {
  if (!outcome.ok) {
    const { code, message, position, limit, milliseconds } = outcome
    return { code, message, ...(position ? { position } : {}), ...(limit ? { limit } : {}), milliseconds }
  }
  const { result, odd, commands, milliseconds } = outcome
  return { code: 'returned', result, ...(odd === undefined ? {} : { oddResult: odd }), commands, milliseconds }
}
