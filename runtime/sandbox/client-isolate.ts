import type { Position } from '../outcome.ts'
import type { SandboxCall, SandboxFormScript, SandboxScript } from '../protocol.ts'
import {
  brokenOff,
  type CallEnd,
  callText,
  cutOffAt,
  describeFault,
  endOf,
  type FailedEnd,
  isLoadFault,
  type LoadFault,
  loadFailure,
  loadTimedOut,
  memoryText,
  outOfMemory,
  timedOut,
  toldFault,
} from './call-end.ts'
import {
  type Callback,
  type Context,
  compileBeside,
  compileForm,
  finderSource,
  type Isolate,
  type Loading,
  type Reference,
  type Script,
  START,
  scopeText,
  TRUSTED,
} from './isolate.ts'
import { createLane } from './lane.ts'

/** One client's kept context, from its opening to its close. */
export type Client = {
  readonly id: number
  /** What the context calls itself when it asks. */
  readonly number: number
  /** The call that it serves, also while it waits for an answer; the opening is one. */
  call: OpenCall | null
  /** The last call that returned well: the guest counts on what it commanded from then on. 0: none. */
  counted: number
  closed: boolean
  loaded: LoadedClient | null
}

type Compiled = { readonly scripts: readonly Script[]; readonly forms: readonly Script[] }

type LoadedClient = {
  readonly context: Context
  readonly enter: Reference
  /** The entries that the context can find already. */
  readonly finders: Set<string>
}

/** A call of a client, from its first step on. Its time runs but while an answer waits behind the steps of others. */
export type OpenCall = {
  readonly id: number
  readonly limitName: string
  /** In ms. */
  readonly allowed: number
  /** By `performance.now()`. */
  readonly started: number
  /** What is left of its time, in ms, when its clock was stopped last. */
  left: number
  /** Since when its clock runs; null while it is stopped. */
  runsSince: number | null
  timer: NodeJS.Timeout | null
  /** Answers that have come and not been given to the script yet. */
  answers: number
  /** What the guest told as its end while the step in which it did so still ran. */
  told: string | null
}

export type Probed = { readonly found: readonly string[]; readonly fault: LoadFault | null }

export type ClientIsolateEvents = {
  readonly started: (call: number) => void
  readonly ended: (call: number, end: CallEnd) => void
  /** A step of the call neither ends nor can be ended: only the end of the process helps. */
  readonly hung: (call: number) => void
  /** Its memory was used up, or it could not be brought to rest: all its clients are lost. */
  readonly lost: () => void
}

/** One isolate of clients. Everything in it happens on a thread of its own, one step at a time. */
export interface ClientIsolate {
  /** What runs or waits there. */
  readonly load: () => number
  readonly size: () => number
  readonly isLost: () => boolean
  readonly clients: () => Iterable<Client>
  /** Makes the client's context; the end is told as that of a call. A client that cannot be opened is forgotten. */
  open(client: Client, call: number): void
  enter(client: Client, call: number, what: SandboxCall): void
  /** Makes a client's context only to see whether the scripts can be loaded. @returns the entry functions that exist */
  probe(client: Client, call: number, entries: readonly string[], loading: Loading): Promise<Probed>
  /** @param text an answer as guest.ts reads it */
  answer(client: Client, text: string): void
  close(client: Client): void
  dispose(): void
}

export type ClientIsolateOptions = {
  readonly isolate: Isolate
  readonly limits: Readonly<Record<string, number>>
  readonly ask: Callback
  /** As guest.ts reads them. */
  readonly settings: string
  /** What each client's context loads, in this order. */
  readonly scripts: readonly SandboxScript[]
  /** Loaded after them. */
  readonly formScripts: readonly SandboxFormScript[]
  readonly files: ReadonlySet<string>
  readonly events: ClientIsolateEvents
  /** Only where the isolate can be debugged: a clock in ms that stands still while it is paused. */
  readonly debugClock?: (() => number) | undefined
}

/** How long a call may wait behind the steps of other clients, to begin and then in all, in ms; see client-worker.ts. */
const QUEUE_TIME = 10_000
/**
 * A step that is not over so long after its time, in ms, will never be: it is in a loop that V8 cannot interrupt. Not less,
 * since on a busy machine a thread may wait that long for its core.
 */
const HUNG_AFTER = 1500
/** How often a running step is looked at, in ms. */
const LOOK = 50
/**
 * What a step that was cut off left in the queue of microtasks would run in the time of the isolate's next client. So it is run
 * at once, for at most this long, in ms; V8 empties the queue when it interrupts it. A queue that is not empty after so
 * many times is not worth more.
 */
const SWEEP_TIME = 50
const SWEEPS = 3
/** One of the platform's own, which the guest knows itself. */
const OWN_ENTRY = /^[A-Za-z_$][\w$]{0,62}\.[a-zA-Z]{1,30}$/
const ENTRY = /^[A-Za-z_$][\w$]{0,99}$/

export function createClientIsolate(options: ClientIsolateOptions): ClientIsolate {
  const { isolate, limits, ask, settings, files, events, debugClock } = options
  const now = debugClock ?? (() => performance.now())
  const clients = new Set<Client>()
  const lane = createLane()
  const finders = new Map<string, Script>()
  /** The scripts, compiled once. */
  let compiled: Compiled | null = null
  /** Does nothing. Made in time: to compile it would run, without a limit, what it is there to run with one. */
  let sweeper: Script | null = null
  /** The file whose top level ran last, for a probe that ends with the isolate. */
  let loading = ''
  let tellLoading: Loading | null = null
  let lost = false

  // --- steps ---------------------------------------------------------------------------------------------------------------

  /** Runs `step` of a call when its turn comes. @param waiting what becomes of the call if that takes too long */
  function inTurn(client: Client, step: () => Promise<void>, waiting: () => void): void {
    const since = now()
    lane.run(async () => {
      if (lost || client.closed) return
      if (now() - since > QUEUE_TIME) waiting()
      else await step()
    })
  }

  /**
   * Waits for something that runs in the isolate, and looks after it meanwhile.
   * @param allowed in ms. @returns null when the isolate is lost, whether `work` ends or not
   */
  async function watched<T>(call: OpenCall, allowed: number, work: Promise<T>): Promise<T | null> {
    const since = now()
    let isHung = false
    const { promise: given, resolve: giveUp } = Promise.withResolvers<null>()
    const look = setInterval(() => {
      const late = now() - since > allowed + HUNG_AFTER
      if (late && !isHung) events.hung(call.id)
      isHung ||= late
      // It may go on all the same, until it is late: the host ends the process then, or when that grows too large.
      if (isolate.isDisposed && !lost) {
        loseMemory(call)
        giveUp(null)
      }
    }, LOOK)
    const over = work.finally(() => clearInterval(look))
    // Of one that was given up nobody waits for the end.
    over.catch(() => {})
    const done = await Promise.race([over, given])
    return lost ? null : done
  }

  // --- the clock of a call -------------------------------------------------------------------------------------------------

  function begin(client: Client, id: number, limitName: string, allowed: number): OpenCall {
    const started = now()
    const times = { started, left: allowed, runsSince: started }
    const call: OpenCall = { id, limitName, allowed, ...times, timer: null, answers: 0, told: null }
    client.call = call
    events.started(id)
    return call
  }

  function stopClock(call: OpenCall): void {
    if (call.timer !== null) clearTimeout(call.timer)
    call.timer = null
    if (call.runsSince !== null) call.left -= now() - call.runsSince
    call.runsSince = null
  }

  /** @returns what is left, in whole ms, at least 1 */
  function startClock(call: OpenCall): number {
    call.runsSince ??= now()
    return Math.max(1, Math.ceil(call.left - (now() - call.runsSince)))
  }

  function elapsed(call: OpenCall): number {
    return Math.round(now() - call.started)
  }

  /** How long its clock stood still, in ms. */
  function waited(call: OpenCall): number {
    const running = call.runsSince === null ? 0 : now() - call.runsSince
    return now() - call.started - (call.allowed - call.left + running)
  }

  function end(client: Client, call: OpenCall, how: CallEnd): void {
    if (client.call !== call) return
    stopClock(call)
    client.call = null
    events.ended(call.id, how)
  }

  /** As the guest told it. */
  function conclude(client: Client, call: OpenCall, how: CallEnd): void {
    if (how.ok && client.call === call) client.counted = call.id
    end(client, call, how)
  }

  function endBusy(client: Client, call: OpenCall): void {
    const message = `the call waited ${QUEUE_TIME} ms behind those of other clients`
    end(client, call, { ok: false, code: 'sandbox_busy', message, milliseconds: elapsed(call) })
  }

  // --- opening and closing ---------------------------------------------------------------------------------------------------

  async function openNow(client: Client, id: number): Promise<void> {
    const call = begin(client, id, 'LOAD_TIME', limits.LOAD_TIME as number)
    try {
      await load(client, call)
      if (lost) return
      const milliseconds = elapsed(call)
      end(client, call, { ok: true, json: `{"ok":true,"result":null,"commands":[],"milliseconds":${milliseconds}}` })
    } catch (error) {
      if (lost) return
      if (isolate.isDisposed) return loseMemory(call)
      const fault = faultOf(error)
      if (fault.code === 'script_timeout') await sweep(client, call)
      const failure = loadFailure(fault, limits, elapsed(call))
      clients.delete(client)
      release(client)
      end(client, call, failure)
    }
    if (client.closed) release(client)
  }

  /** Makes the client's context and runs the scripts in it. @throws LoadFault, and what isolated-vm throws */
  async function load(client: Client, call: OpenCall): Promise<void> {
    compiled ??= await watched(call, Number.POSITIVE_INFINITY, compileAll())
    if (compiled === null) return
    const loaded = await watched(call, limits.LOAD_TIME as number, makeContext(client))
    if (loaded === null) return
    client.loaded = loaded
    const until = now() + (limits.LOAD_TIME as number)
    await runScripts(call, loaded, compiled.scripts, until)
    await runForms(call, loaded, compiled.forms, until)
  }

  async function probeNow(client: Client, id: number, entries: readonly string[]): Promise<Probed> {
    const call = begin(client, id, 'LOAD_TIME', limits.LOAD_TIME as number)
    const found: string[] = []
    try {
      await load(client, call)
      if (client.loaded === null || lost) return { found, fault: outOfMemoryAt(loading) }
      for (const entry of entries) {
        const script = await isolate.compileScript(`typeof ${entry} === 'function'`, { filename: TRUSTED })
        const isThere = await watched(call, call.allowed, script.run(client.loaded.context, { timeout: call.allowed }))
        if (isThere === true) found.push(entry)
      }
      return { found, fault: lost ? outOfMemoryAt(loading) : null }
    } catch (error) {
      return { found: [], fault: isolate.isDisposed ? outOfMemoryAt(loading) : faultOf(error) }
    }
  }

  function faultOf(error: unknown): LoadFault {
    return isLoadFault(error) ? error : describeFault(error, 'script_load', '', files)
  }

  async function compileAll(): Promise<Compiled> {
    sweeper ??= await isolate.compileScript('void 0', { filename: TRUSTED })
    const scripts = options.scripts.map((script) => compileBeside(isolate, script))
    const forms = options.formScripts.map((script) => compileForm(isolate, script))
    return { scripts: await Promise.all(scripts), forms: await Promise.all(forms) }
  }

  async function makeContext(client: Client): Promise<LoadedClient> {
    const context = await isolate.createContext({ inspector: debugClock !== undefined })
    const start = (await context.global.get(START, { reference: true })) as Reference
    const enter = (await start.apply(undefined, [ask, client.number, settings], {
      result: { reference: true },
    })) as Reference
    start.release()
    return { context, enter, finders: new Set() }
  }

  /** @throws LoadFault */
  async function runScripts(
    call: OpenCall,
    loaded: LoadedClient,
    scripts: readonly Script[],
    end: number,
  ): Promise<void> {
    const { context, enter } = loaded
    for (const [index, script] of scripts.entries()) {
      const { file = '', scope } = options.scripts[index] ?? {}
      noteLoading(file)
      const timeout = Math.max(1, Math.ceil(end - now()))
      try {
        if (scope === undefined) await watched(call, timeout, script.run(context, { timeout }))
        else {
          const view = (await watched(
            call,
            timeout,
            script.run(context, { timeout, reference: true }),
          )) as Reference | null
          if (lost || view === null) return
          const args = [scopeText(scope), view.derefInto({ release: true })]
          await watched(call, timeout, enter.apply(undefined, args, { timeout }))
        }
        if (lost) return
      } catch (error) {
        if (isolate.isDisposed) throw outOfMemoryAt(file)
        if (now() >= end - 1) throw loadTimedOut(limits, file, error, files)
        throw describeFault(error, 'script_load', file, files)
      }
    }
  }

  /** Each in its turn gives a function, which the guest runs and whose result it keeps. @throws LoadFault */
  async function runForms(call: OpenCall, loaded: LoadedClient, forms: readonly Script[], end: number): Promise<void> {
    for (const [index, script] of forms.entries()) {
      if (lost) return
      const { file, form } = options.formScripts[index] as SandboxFormScript
      noteLoading(file)
      const timeout = Math.max(1, Math.ceil(end - now()))
      const text = JSON.stringify({ kind: 'script', name: form })
      let told: string | null
      try {
        const made = (await script.run(loaded.context, { reference: true, timeout })) as Reference
        const args = [text, made.derefInto({ release: true })]
        told = await watched(call, timeout, loaded.enter.apply(undefined, args, { timeout }) as Promise<string>)
      } catch (error) {
        if (isolate.isDisposed) throw outOfMemoryAt(file)
        if (now() >= end - 1) throw loadTimedOut(limits, file, error, files)
        throw describeFault(error, 'script_load', file, files)
      }
      if (told !== null && told !== '') throw toldFault(told, file, files)
    }
  }

  function noteLoading(file: string): void {
    loading = file
    tellLoading?.(file)
  }

  function outOfMemoryAt(file: string): LoadFault {
    return { code: 'script_memory', file, message: memoryText(limits) }
  }

  function release({ loaded }: Client): void {
    if (loaded === null || isolate.isDisposed) return
    loaded.enter.release()
    loaded.context.release()
  }

  // --- calls -----------------------------------------------------------------------------------------------------------------

  async function enterNow(client: Client, id: number, what: SandboxCall): Promise<void> {
    const call = begin(client, id, what.timeLimit, limits[what.timeLimit] as number)
    const isOwn = OWN_ENTRY.test(what.entry)
    if (client.loaded === null || !(isOwn || ENTRY.test(what.entry))) {
      end(client, call, brokenOff(new TypeError('there is no such entry'), 0))
      return
    }
    const { finders: known, context } = client.loaded
    const args: unknown[] = [callText(what, { number: id, counted: client.counted })]
    try {
      if (!isOwn && !known.has(what.entry)) args.push(await findBy(call, context, what.entry))
    } catch (error) {
      if (isolate.isDisposed) loseMemory(call)
      else end(client, call, brokenOff(error, elapsed(call)))
      return
    }
    if (lost) return
    known.add(what.entry)
    await step(client, call, args)
  }

  /** Scripts cannot notice it: nothing of theirs runs. */
  async function findBy(call: OpenCall, context: Context, entry: string) {
    const script = finders.get(entry) ?? (await isolate.compileScript(finderSource(entry), { filename: TRUSTED }))
    finders.set(entry, script)
    const timeout = call.allowed
    const found = (await watched(call, timeout, script.run(context, { reference: true, timeout }))) as Reference | null
    return found?.derefInto({ release: true })
  }

  /** Lets the guest go on with a call, for as long as the call has left. */
  async function step(client: Client, call: OpenCall, args: unknown[]): Promise<void> {
    const { enter } = client.loaded as LoadedClient
    const timeout = startClock(call)
    try {
      const answered = await watched(call, timeout, enter.apply(undefined, args, { timeout }) as Promise<string>)
      if (answered === null) return
      const told = answered === '' ? call.told : answered
      if (told === null) wait(client, call)
      else conclude(client, call, endOf(told, elapsed(call), files))
    } catch (error) {
      if (lost) return
      if (isolate.isDisposed) return loseMemory(call)
      const isOver = call.left - (now() - (call.runsSince ?? 0)) < 1
      if (isOver) await sweep(client, call)
      if (!lost) end(client, call, isOver ? overdue(call, cutOffAt(error, files)) : brokenOff(error, elapsed(call)))
    }
    if (client.closed) release(client)
  }

  /** It waits for an answer: its time goes on, unless one is there already and only waits for its turn. */
  function wait(client: Client, call: OpenCall): void {
    if (call.answers > 0) stopClock(call)
    else call.timer = setTimeout(endIfOver, startClock(call))

    function endIfOver(): void {
      // Of a debugged call the clock may have stood still meanwhile; else only what timers are early by can be left.
      if (debugClock !== undefined && startClock(call) > 1) wait(client, call)
      else end(client, call, overdue(call))
    }
  }

  function overdue(call: OpenCall, where?: Position): FailedEnd {
    return timedOut(call.limitName, call.allowed, elapsed(call), where)
  }

  /** Runs what a step that was cut off left behind, in the time of its own client. */
  async function sweep(client: Client, call: OpenCall): Promise<void> {
    if (client.loaded === null || sweeper === null) return
    for (let sweeps = 0; sweeps < SWEEPS && !lost; sweeps++) {
      const swept = sweeper.run(client.loaded.context, { timeout: SWEEP_TIME }).then(
        () => true,
        () => false,
      )
      if ((await watched(call, SWEEP_TIME, swept)) === true && !isolate.isDisposed) return
      if (isolate.isDisposed && !lost) return loseMemory(call)
    }
    if (lost) return
    end(client, call, overdue(call))
    lose()
  }

  // --- the end of the isolate ------------------------------------------------------------------------------------------------

  function loseMemory(call: OpenCall): void {
    for (const client of clients) {
      if (client.call === call) end(client, call, outOfMemory(limits, elapsed(call)))
    }
    lose()
  }

  function lose(): void {
    if (lost) return
    lost = true
    for (const { call } of clients) if (call !== null) stopClock(call)
    if (!isolate.isDisposed) isolate.dispose()
    events.lost()
  }

  return {
    load: lane.length,
    size: () => clients.size,
    isLost: () => lost,
    clients: () => clients,
    open(client, call) {
      clients.add(client)
      inTurn(
        client,
        () => openNow(client, call),
        () => {
          clients.delete(client)
          endBusy(client, begin(client, call, 'LOAD_TIME', 0))
        },
      )
    },
    enter(client, call, what) {
      inTurn(
        client,
        () => enterNow(client, call, what),
        () => endBusy(client, begin(client, call, what.timeLimit, 0)),
      )
    },
    probe(client, call, entries, onLoading) {
      tellLoading = onLoading
      clients.add(client)
      return probeNow(client, call, entries)
    },
    answer(client, text) {
      const { call } = client
      if (call === null) return
      call.answers++
      // While a step of the call runs its clock does too; `wait` looks for answers then.
      if (call.timer !== null) stopClock(call)
      inTurn(
        client,
        async () => {
          call.answers--
          if (client.call !== call) return
          if (waited(call) > QUEUE_TIME) endBusy(client, call)
          else await step(client, call, [text])
        },
        () => endBusy(client, call),
      )
    },
    close(client) {
      if (client.closed) return
      client.closed = true
      clients.delete(client)
      if (client.call?.timer) clearTimeout(client.call.timer)
      // After the step that may run; a later one finds it closed.
      lane.run(async () => release(client))
    },
    dispose() {
      lost = true
      if (!isolate.isDisposed) isolate.dispose()
    },
  }
}
