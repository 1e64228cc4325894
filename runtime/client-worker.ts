import { answerRequest } from './answer-request.ts'
import { type CallCounts, createCallCounts } from './call-counts.ts'
import type { Limits } from './limits.ts'
import type { Failed, GuestLogLine, Outcome } from './outcome.ts'
import { processorTime, residentSize } from './process-memory.ts'
import { bringForward, startBehind } from './process-priority.ts'
import type { FromSandbox, SandboxCall, SandboxSolution, ToSandbox } from './protocol.ts'
import { MAX_CALL_FRAME, type SandboxProcess } from './sandbox-process.ts'
import { type CallHandlers, CRASHED, DEADLINE_GRACE, megabytes, outcomeOf } from './worker.ts'

/** A call of a client that ended without being at fault, or before it began. What it commanded is lost. */
export type ClientGone = {
  readonly code: 'client_gone'
  readonly message: string
  /** Whether it had begun. */
  readonly started: boolean
  /** Whether it made a request that can change something: then it must not be made again. */
  readonly changedSomething: boolean
  readonly milliseconds: number
}

export type ClientOutcome = Outcome | ClientGone

/** An open client: one kept context, in which what scripts remember lasts from call to call. */
export interface SandboxClient {
  /**
   * Runs one entry function when the client's calls before it have ended. Never rejects. `sandbox_busy` when too many
   * wait already. A call that fails has no effect by commands, and the client goes on.
   */
  call(call: SandboxCall, handlers: CallHandlers): Promise<ClientOutcome>
  /** Forgets its context. Calls that run or wait end as `client_gone`. */
  close(): void
  /** Resolves when the client is no more: its process or isolate ended, or it was closed. */
  readonly gone: Promise<void>
}

export type ClientWorkerEvents = {
  /**
   * The process is killed or gone, and its clients with it. `culprits` tells whom of those that it went through, if it
   * did not go well: it may have done so through nobody's call.
   */
  readonly gone: (worker: ClientWorker, wentWell: boolean, culprits: readonly LogHandler[]) => void
  /** The process is gone, and its memory is free. */
  readonly exited: (worker: ClientWorker) => void
}

export type LogHandler = Pick<CallHandlers, 'log'>

/** One sandbox process that serves clients of one solution version. */
export interface ClientWorker {
  readonly key: string
  readonly pid: number
  /** Those that are being opened included. */
  readonly clientCount: () => number
  /** How many calls run or wait to. */
  readonly callCount: () => number
  /** Epoch ms of the last start or end of a call or client. */
  readonly lastUsed: () => number
  /** @returns null when the process ended meanwhile, through others */
  readonly open: (handlers: LogHandler) => Promise<SandboxClient | Failed | null>
  /** Ends it once it has no clients. */
  readonly retire: () => void
  readonly kill: () => void
  /** It was killed or is gone: nothing more is to be given to it. */
  readonly isEnding: () => boolean
  /** Kills a process that did not answer the last time it was asked. */
  readonly checkHeartbeat: () => void
  /** Null unless it was started for debugging. */
  readonly debug: SandboxProcess['debug']
}

/** So many calls of one client may wait; who clicks more often than that is no person. */
const MOST_WAITING = 100
/**
 * How long a call may wait to begin, and then in total behind other clients' steps, in ms. client-isolate.ts ends a call that
 * waits longer.
 */
const QUEUE_TIME = 10_000
/** What the process itself takes to find that a step cannot be interrupted, and some more, in ms. */
const HUNG_TIME = 3000
/** How often the resident size and the processor time are looked at while calls run, in ms. */
const WATCH = 50
/** While a call runs for longer than this, in ms, and the process uses the processor, it runs behind all others. */
const LONG_CALL = 250

type Entry = {
  readonly id: number
  readonly message: ToSandbox
  readonly handlers: LogHandler & Partial<CallHandlers>
  readonly limit: 'LOAD_TIME' | SandboxCall['timeLimit']
  readonly settle: (outcome: ClientOutcome) => void
  timer: NodeJS.Timeout | null
  /** By `performance.now()`; null until the process said that it began. */
  startedAt: number | null
  changedSomething: boolean
  readonly counts: CallCounts
}

type HeldClient = {
  readonly id: number
  readonly waiting: Entry[]
  running: Entry | null
  isGone: boolean
  readonly leave: () => void
}

export function createClientWorker(
  process: SandboxProcess,
  key: string,
  solution: SandboxSolution,
  limits: Limits,
  events: ClientWorkerEvents,
): ClientWorker {
  const clients = new Map<number, HeldClient>()
  /** Those that were sent, with their client. */
  const calls = new Map<number, { readonly entry: Entry; readonly client: HeldClient }>()
  /** What the process was killed for. */
  const failed = new Map<Entry, Failed>()
  let lastId = 0
  let lastUsed = Date.now()
  let retiring = false
  let over = false
  /** `well`: nobody is to blame. */
  let killed: 'well' | 'for fault' | null = null
  let heartbeatMissing = false
  /** The last call that ran out of memory: until `watchUntil` its isolate may grow on for all that. */
  let lastMemory: Entry | null = null
  /** Whose fault it was that no call can be told of any more. */
  let blamed: Entry | null = null
  /** What has ended for the host may still run in the process, so that is watched until then, by `performance.now()`. */
  let watchUntil = 0
  let watching: NodeJS.Timeout | null = null
  let watchedTime = 0
  let isBehind = false

  // The limit counts characters, which take at most three bytes each.
  process.allowLargeFrames(MAX_CALL_FRAME + 3 * limits.CLIENT_COMMANDS_SIZE)
  process.onMessage = receive
  process.onEnd = lose
  process.onExit = () => events.exited(made)
  process.send({ kind: 'serve', solution, ...(process.debug === null ? {} : { debug: true }) })

  function receive(message: FromSandbox): void {
    if (message.kind === 'pong') heartbeatMissing = false
    else if (message.kind === 'gone') isolateGone(message.clients)
    if (!('id' in message)) return
    const call = calls.get(message.id)
    if (message.kind === 'hung') killHung(call?.entry)
    if (call === undefined) return
    if (message.kind === 'started') started(call.entry)
    else if (message.kind === 'log') log(call.entry, message)
    else if (message.kind === 'request') request(call.entry, message)
    else if (message.kind === 'ended') ended(call.client, call.entry, outcomeOf(message.outcome))
  }

  function isolateGone(lost: readonly number[]): void {
    // The next isolate of a process may hang under a debugger when one has ended for its memory (isolated-vm 7.0.1).
    if (process.debug !== null) kill('well')
    for (const id of lost) loseClient(id)
  }

  // --- calls of a client, one after the other --------------------------------------------------------------------------------

  function add(client: HeldClient, entry: Entry): void {
    client.waiting.push(entry)
    sendNext(client)
  }

  function sendNext(client: HeldClient): void {
    const next = client.running === null ? client.waiting.shift() : undefined
    if (next === undefined) return
    client.running = next
    calls.set(next.id, { entry: next, client })
    lastUsed = Date.now()
    watching ??= setInterval(watch, WATCH)
    endBy(next, QUEUE_TIME)
    process.send(next.message)
  }

  /** A compromised process may report this repeatedly: the deadline stays. */
  function started(entry: Entry): void {
    if (entry.startedAt !== null) return
    entry.startedAt = performance.now()
    // A wait that is too long is only found when its turn comes, after another client's step.
    const step = Math.max(limits.LOAD_TIME, limits.CALL_TIME, limits.AUTHENTICATOR_TIME)
    endBy(entry, QUEUE_TIME + limits[entry.limit] + step)
  }

  /** The process ends its calls itself; one that does not is no longer trusted. */
  function endBy(entry: Entry, milliseconds: number): void {
    if (entry.timer) clearTimeout(entry.timer)
    // One that is debugged watches its calls itself, while no debugger holds them.
    if (process.debug !== null) return
    entry.timer = setTimeout(() => killHung(entry), milliseconds + HUNG_TIME + DEADLINE_GRACE)
  }

  /** What goes wrong while a line is written must not end the host. */
  function log(entry: Entry, line: GuestLogLine): void {
    try {
      if (entry.counts.logLine()) entry.handlers.log(line)
    } catch {
      // The line is lost; the call goes on.
    }
  }

  function request(entry: Entry, message: Extract<FromSandbox, { kind: 'request' }>): void {
    const failure = entry.counts.request(elapsed(entry))
    if (failure !== null) {
      failed.set(entry, failure)
      kill('for fault')
      return
    }
    const refuse = () => {
      throw new TypeError('there are no requests while a client opens')
    }
    void answerRequest(process, message, entry.handlers.request ?? refuse, () => {
      entry.changedSomething = true
    })
  }

  function ended(client: HeldClient, entry: Entry, outcome: Outcome): void {
    if (outcome.code === 'script_memory') {
      lastMemory = entry
      watchUntil = performance.now() + HUNG_TIME
    }
    finish(entry)
    client.running = null
    lastUsed = Date.now()
    stopWatchingIfQuiet()
    entry.settle(outcome)
    sendNext(client)
  }

  function finish(entry: Entry): void {
    if (entry.timer) clearTimeout(entry.timer)
    calls.delete(entry.id)
  }

  // --- clients ---------------------------------------------------------------------------------------------------------------

  function loseClient(id: number, message = 'the client ended, since what it shares its memory with did'): void {
    const client = clients.get(id)
    if (client === undefined) return
    clients.delete(id)
    client.isGone = true
    for (const entry of [client.running ?? [], client.waiting.splice(0)].flat()) {
      finish(entry)
      entry.settle(failed.get(entry) ?? goneOutcome(entry, message))
    }
    client.running = null
    client.leave()
    if (clients.size === 0 && retiring) kill('well')
  }

  function createClient(client: HeldClient, gone: Promise<void>): SandboxClient {
    return {
      gone,
      call(call, handlers) {
        const { promise, resolve } = Promise.withResolvers<ClientOutcome>()
        const id = ++lastId
        const message = { kind: 'enter', client: client.id, id, call } as const
        const entry = entryOf(message, handlers, call.timeLimit, resolve, limits)
        if (client.isGone) resolve(goneOutcome(entry, 'the client is gone'))
        else if (client.waiting.length >= MOST_WAITING) resolve(tooMany())
        else add(client, entry)
        return promise
      },
      close() {
        if (client.isGone) return
        process.send({ kind: 'close', client: client.id })
        // A call that runs is left to its limit.
        if (client.running) watchUntil = performance.now() + limits[client.running.limit] + HUNG_TIME
        loseClient(client.id, 'the client was closed')
        stopWatchingIfQuiet()
      },
    }
  }

  async function open(handlers: LogHandler): Promise<SandboxClient | Failed | null> {
    const { promise: opened, resolve } = Promise.withResolvers<ClientOutcome>()
    const { promise: gone, resolve: leave } = Promise.withResolvers<void>()
    const client: HeldClient = { id: ++lastId, waiting: [], running: null, isGone: false, leave }
    const id = ++lastId
    clients.set(client.id, client)
    add(client, entryOf({ kind: 'open', client: client.id, id }, handlers, 'LOAD_TIME', resolve, limits))
    const outcome = await opened
    if (outcome.code === 'client_gone') return null
    if (outcome.code === 'returned') return createClient(client, gone)
    loseClient(client.id)
    return outcome
  }

  // --- watching --------------------------------------------------------------------------------------------------------------

  function watch(): void {
    stopWatchingIfQuiet()
    watchMemory()
    watchProcessor()
  }

  /**
   * isolated-vm's heap limit is a trigger and not a bound, and much lies outside of the heap. Whose call it was cannot be known
   * when several run: the one that began last is taken.
   */
  function watchMemory(): void {
    const used = residentSize(process.pid)
    const allowed = limits.PROCESS_MEMORY
    if (used <= allowed || over || killed !== null) return
    if (lastMemory !== null && performance.now() < watchUntil) {
      killHung(undefined)
      return
    }
    const culprit = runningCalls().sort((a, b) => (b.startedAt ?? 0) - (a.startedAt ?? 0))[0]
    const message = `the sandbox process grew to ${megabytes(used)} MB; ${megabytes(allowed)} MB are allowed`
    const limit = { name: 'PROCESS_MEMORY', allowed, used }
    if (culprit) failed.set(culprit, { code: 'script_memory', message, limit, milliseconds: elapsed(culprit) })
    kill('for fault')
  }

  /** One solution's long handlers must not take from others what their logins need, and only while they run. */
  function watchProcessor(): void {
    const time = processorTime(process.pid)
    const isBusy = time - watchedTime >= WATCH / 2
    watchedTime = time
    const isLong = isBusy && runningCalls().some((entry) => elapsed(entry) > LONG_CALL)
    if (isLong === isBehind) return
    isBehind = isLong
    if (isLong) startBehind(process.pid)
    else bringForward(process.pid)
  }

  function stopWatchingIfQuiet(): void {
    if (calls.size === 0 && performance.now() > watchUntil) stopWatching()
  }

  function stopWatching(): void {
    if (watching) clearInterval(watching)
    watching = null
    if (isBehind && !over) bringForward(process.pid)
    isBehind = false
  }

  function runningCalls(): Entry[] {
    return [...calls.values()].flatMap(({ entry }) => (entry.startedAt === null ? [] : entry))
  }

  // --- the end of the process --------------------------------------------------------------------------------------------------

  /** @param entry undefined: the call has ended, and what it began goes on */
  function killHung(entry: Entry | undefined): void {
    if (killed !== null) return
    if (entry === undefined) blamed = lastMemory
    if (entry?.startedAt != null) failed.set(entry, timedOut(entry))
    kill('for fault')
  }

  function timedOut(entry: Entry): Failed {
    const allowed = limits[entry.limit]
    const used = elapsed(entry)
    const message = `the call took longer than ${allowed} ms and its process was ended`
    return { code: 'script_timeout', message, limit: { name: entry.limit, allowed, used }, milliseconds: used }
  }

  function kill(why: 'well' | 'for fault'): void {
    killed ??= why
    process.kill()
  }

  /** @param byOthers whether something else killed the process, such as the system when its memory runs out */
  function lose(byOthers: boolean): void {
    over = true
    stopWatching()
    const running = runningCalls()
    const [only] = running
    if (killed === null && !byOthers && only !== undefined && running.length === 1) failed.set(only, CRASHED)
    const wentWell = killed === 'well' || (killed === null && byOthers)
    const culprits = failed.size > 0 ? [...failed.keys()] : suspects(running)
    for (const id of [...clients.keys()]) loseClient(id, 'the sandbox process of the client ended')
    events.gone(
      made,
      wentWell,
      culprits.map(({ handlers }) => handlers),
    )
  }

  /** When nobody can know which call it was, all hear of it. */
  function suspects(running: readonly Entry[]): readonly Entry[] {
    return blamed === null ? running : [blamed]
  }

  const made: ClientWorker = {
    key,
    pid: process.pid,
    clientCount: () => clients.size,
    callCount: () =>
      [...clients.values()].reduce((sum, { waiting, running }) => sum + waiting.length + (running ? 1 : 0), 0),
    lastUsed: () => lastUsed,
    open: async (handlers) => (over ? null : open(handlers)),
    retire() {
      retiring = true
      if (clients.size === 0) kill('well')
    },
    kill: () => kill('well'),
    isEnding: process.ended,
    debug: process.debug,
    checkHeartbeat() {
      if (heartbeatMissing) return kill('for fault')
      watchMemory()
      heartbeatMissing = true
      process.send({ kind: 'ping' })
    },
  }
  return made
}

function entryOf(
  message: ToSandbox & { readonly id: number },
  handlers: Entry['handlers'],
  limit: Entry['limit'],
  settle: Entry['settle'],
  limits: Limits,
): Entry {
  const state = { timer: null, startedAt: null, changedSomething: false, counts: createCallCounts(limits) }
  return { id: message.id, message, handlers, limit, settle, ...state }
}

function elapsed({ startedAt }: Entry): number {
  return startedAt === null ? 0 : Math.round(performance.now() - startedAt)
}

function goneOutcome(entry: Entry, message: string): ClientGone {
  const { startedAt, changedSomething } = entry
  return { code: 'client_gone', message, started: startedAt !== null, changedSomething, milliseconds: elapsed(entry) }
}

function tooMany(): Failed {
  return { code: 'sandbox_busy', message: `${MOST_WAITING} calls of the client wait already`, milliseconds: 0 }
}
