import ivm from 'isolated-vm'
import { isAllowedAddress } from '../address.ts'
import type { Failure, LogLevel, Position } from '../outcome.ts'
import type { Json } from '../plugin.ts'
import type { SandboxCall, SandboxOutcome, SandboxSolution, Trusted, Unit } from '../protocol.ts'
import { findPosition } from './positions.ts'

// The only file that imports isolated-vm. Only texts cross: each context gets one callback and gives one function.

const MEGABYTE = 1024 ** 2
/** File name of the trusted part in stack texts; no file of a solution can have it. */
const TRUSTED = 'solhost:guest'

/** What a context asks of the process around it. */
export type IsolateEvents = {
  readonly log: (call: number, level: LogLevel, message: string, position?: Position) => void
  readonly request: (call: number, request: number, plugin: string, method: string, args: readonly Json[]) => void
  readonly ended: (call: number, end: CallEnd) => void
  /** After a call that returned well, once the context for the next one is made. */
  readonly settled: () => void
}

/**
 * How a call ended. `json` is the `SandboxOutcome` of one that returned well, as the guest wrote it: the host checks it, and to
 * read it on the way would cost as much again.
 */
export type CallEnd = { readonly ok: true; readonly json: string } | Failed

type Failed = Extract<SandboxOutcome, { ok: false }>

export type LoadFault = {
  readonly code: 'script_syntax' | 'script_load' | 'script_timeout' | 'script_memory'
  readonly file: string
  readonly line?: number
  readonly column?: number
  readonly message: string
}

/** Compiles one script without running it. */
export function compileFault(isolate: ivm.Isolate, file: string, source: string): LoadFault | null {
  try {
    compile(isolate, file, source).release()
    return null
  } catch (error) {
    return describeFault(error, 'script_syntax', file, new Set([file]))
  }
}

function compile(isolate: ivm.Isolate, file: string, source: string): ivm.Script {
  try {
    return isolate.compileScriptSync(closed(source), { filename: file })
  } catch (error) {
    // An error at the end of the file would be told of what we added behind it: the file alone tells it right.
    isolate.compileScriptSync(source, { filename: file }).release()
    throw error
  }
}

/** @param memory in bytes */
export function createIsolate(memory: number): ivm.Isolate {
  return new ivm.Isolate({ memoryLimit: inMegabytes(memory) })
}

/** isolated-vm takes no fewer than 8. */
function inMegabytes(bytes: number): number {
  return Math.max(8, Math.round(bytes / MEGABYTE))
}

/** The completion value of a script would cross the border, and may be a Proxy: it is always undefined. */
function closed(source: string): string {
  return `${source}\n;void 0;`
}

/** A context with the trusted part in it, still of no solution. */
type FreshContext = { readonly context: ivm.Context; readonly start: ivm.Reference }

/** A context with its scripts loaded. What it logs before it belongs to a call waits in `lines`. */
type LoadedContext = {
  readonly id: number
  readonly unit: Unit
  readonly entry: string
  readonly context: ivm.Context
  readonly enter: ivm.Reference
  readonly madeAt: number
  readonly lines: (readonly [LogLevel, string, Position | undefined])[]
  /** The call that it serves; `NOBODY` while it waits for one. */
  call: number
}

/** A context made ahead is used for so long, in ms: what scripts did at load time must not grow old. */
const AHEAD_FOR = 30_000
/** The call of a context that no call has taken yet. */
const NOBODY = 0
/** Where a fresh context holds its `start`, see guest.ts. */
const START = 'solhostStart'

type OpenCall = {
  readonly loaded: LoadedContext
  readonly started: number
  readonly limitName: SandboxCall['timeLimit']
  /** In ms. */
  readonly timeLimit: number
  timer: NodeJS.Timeout | null
}

/** The isolate of a process before it has a solution: its contexts begin with the trusted part, from a snapshot. */
export type PreparedIsolate = {
  readonly isolate: ivm.Isolate
  readonly limits: Trusted['limits']
  readonly freshContext: () => FreshContext
  /** Makes the next fresh context now. */
  readonly makeAhead: () => void
}

/**
 * Runs the trusted part once and keeps what it built as a snapshot of the heap, which every context begins with: that
 * is far faster than to build it anew, and no script can have touched it. @throws what a guest part throws
 */
export function prepareIsolate(trusted: Trusted): PreparedIsolate {
  const { limits } = trusted
  const code = `globalThis.${START} = ${trustedSource(trusted)};`
  const snapshot = ivm.Isolate.createSnapshot([{ code, filename: TRUSTED }])
  const memory = limits.ISOLATE_MEMORY as number
  const isolate = new ivm.Isolate({ memoryLimit: inMegabytes(memory), snapshot })
  let ahead: FreshContext | null = null

  function makeContext(): FreshContext {
    const context = isolate.createContextSync()
    return { context, start: context.global.getSync(START, { reference: true }) as ivm.Reference }
  }

  return {
    isolate,
    limits,
    freshContext() {
      const fresh = ahead ?? makeContext()
      ahead = null
      return fresh
    },
    makeAhead() {
      ahead ??= makeContext()
    },
  }
}

/** One solution version in one isolate. @throws nothing: faults of loading are returned */
export function loadSolution(prepared: PreparedIsolate, solution: SandboxSolution, events: IsolateEvents) {
  const { isolate, limits } = prepared
  const files = new Set(solution.scripts.map((script) => script.file))
  const settings = JSON.stringify(solution.settings)
  const tables = new Map(
    Object.entries(solution.tables).flatMap(([plugin, named]) =>
      Object.entries(named).map(([table, texts]): [string, Map<string, string>] => [
        `${plugin} ${table}`,
        new Map(Object.entries(texts)),
      ]),
    ),
  )
  /** One function for all contexts; each says which one it is. Only the trusted part holds it. */
  const ask = new ivm.Callback(fromGuest, { sync: true })
  const contexts = new Map<number, LoadedContext>()
  let lastContext = 0
  /** Scripts that give a function which finds an entry function by its name, in whatever way it was declared. */
  const finders = new Map<string, ivm.Script>()
  const faults: LoadFault[] = []
  const scripts = solution.scripts.map(({ file, source }) => {
    try {
      return compile(isolate, file, source)
    } catch (error) {
      faults.push(describeFault(error, 'script_syntax', file, files))
      return null
    }
  })
  const open = new Map<number, OpenCall>()

  /** At most one for each unit, made after a call of it: whoever is asked once is asked again. */
  const ahead = new Map<Unit, LoadedContext>()
  let mayMakeAhead = true

  function takeContext({ unit, entry }: SandboxCall, call: number): LoadedContext {
    const made = ahead.get(unit)
    ahead.delete(unit)
    if (made === undefined) return createContext(unit, entry, call)
    if (made.entry !== entry || performance.now() - made.madeAt > AHEAD_FOR) {
      giveBack(made)
      return createContext(unit, entry, call)
    }
    made.call = call
    for (const line of made.lines.splice(0)) events.log(call, ...line)
    return made
  }

  /** Scripts that cannot be loaded are told of when a call needs them. */
  function makeAhead(unit: Unit, entry: string): void {
    if (!mayMakeAhead || isolate.isDisposed || ahead.has(unit) || open.size > 0) return
    try {
      ahead.set(unit, createContext(unit, entry, NOBODY))
    } catch {
      // The next call meets the same fault and says so.
      mayMakeAhead = false
    }
  }

  function settle({ unit, entry }: LoadedContext): void {
    makeAhead(unit, entry)
    events.settled()
  }

  function giveBack({ id, context, enter }: LoadedContext): void {
    contexts.delete(id)
    if (isolate.isDisposed) return
    enter.release()
    context.release()
  }

  /** A fresh context with its bindings and the unit's scripts. @throws LoadFault */
  function createContext(unit: Unit, entry: string, call: number): LoadedContext {
    const { context, start } = prepared.freshContext()
    const id = ++lastContext
    const findEntry = finderOf(entry).runSync(context, { reference: true }) as ivm.Reference
    const enter = start.applySync(undefined, [ask, id, settings, findEntry.derefInto({ release: true })], {
      result: { reference: true },
    }) as ivm.Reference
    start.release()
    const made: LoadedContext = { id, unit, entry, context, enter, madeAt: performance.now(), lines: [], call }
    contexts.set(id, made)
    try {
      runScripts(context, solution.units[unit] ?? [])
      return made
    } catch (error) {
      giveBack(made)
      throw error
    }
  }

  function finderOf(entry: string): ivm.Script {
    const known = finders.get(entry)
    if (known !== undefined) return known
    const source = `(function () { 'use strict'; return typeof ${entry} === 'function' ? ${entry} : undefined })`
    const made = isolate.compileScriptSync(source, { filename: TRUSTED })
    finders.set(entry, made)
    return made
  }

  function runScripts(context: ivm.Context, indexes: readonly number[]): void {
    const allowed = limits.LOAD_TIME as number
    const end = performance.now() + allowed
    for (const index of indexes) {
      const file = solution.scripts[index]?.file ?? ''
      try {
        scripts[index]?.runSync(context, { timeout: Math.max(1, Math.ceil(end - performance.now())) })
      } catch (error) {
        if (isolate.isDisposed) throw { code: 'script_memory', file, message: memoryText() } satisfies LoadFault
        if (performance.now() >= end) {
          const message = `the top-level code of the scripts ran longer than ${allowed} ms`
          throw { code: 'script_timeout', file, message } satisfies LoadFault
        }
        throw describeFault(error, 'script_load', file, files)
      }
    }
  }

  /**
   * It never throws: a host error's stack would cross the border with it.
   * @returns false when the question could not be dealt with, such as at the end of the stack
   */
  function fromGuest(context: unknown, kind: unknown, text: unknown, key: unknown): string | null | false {
    try {
      const made = contexts.get(context as number)
      if (made === undefined) return null
      const { call } = made
      if (typeof text !== 'string') return null
      if (kind === 'uuid') return crypto.randomUUID()
      if (kind === 'address') return isAllowedAddress(text) ? '' : null
      if (kind === 'look') return typeof key === 'string' ? (tables.get(text)?.get(key) ?? null) : null
      if (kind === 'done') {
        // The context is still running: it is given back after this callback returned.
        setImmediate(() => end(call, endOf(text, call)))
        return null
      }
      const message = JSON.parse(text) as Record<string, unknown>
      if (kind === 'log') {
        const { level, message: line, stack } = message as { level: LogLevel; message: string; stack: string }
        const position = findPosition(stack, files)
        if (call === NOBODY) made.lines.push([level, line, position])
        else events.log(call, level, line, position)
      } else if (kind === 'request') {
        const { id, plugin, method, args } = message as { id: number; plugin: string; method: string; args: Json[] }
        events.request(call, id, plugin, method, args)
      }
      return null
    } catch {
      return false
    }
  }

  function endOf(text: string, call: number): CallEnd {
    const milliseconds = elapsed(call)
    if (text.startsWith(RETURNED)) return { ok: true, json: `${text.slice(0, -1)},"milliseconds":${milliseconds}}` }
    return failedOf(readFailure(text), milliseconds)
  }

  function failedOf(message: GuestFailure, milliseconds: number): Failed {
    const position = findPosition(message.stack, files)
    const code: Failure = message.quota ? 'script_quota' : 'script_error'
    return {
      ok: false,
      code,
      message: `${message.name}: ${message.message}`,
      ...(position ? { position } : {}),
      ...(message.quota
        ? { limit: { name: message.quota.limit, allowed: message.quota.allowed, used: message.quota.used } }
        : {}),
      milliseconds,
    }
  }

  function elapsed(call: number): number {
    const one = open.get(call)
    return one ? Math.round(performance.now() - one.started) : 0
  }

  function end(call: number, how: CallEnd): void {
    const one = open.get(call)
    if (one === undefined) return
    open.delete(call)
    if (one.timer !== null) clearTimeout(one.timer)
    events.ended(call, how)
    giveBack(one.loaded)
    // A call that failed may have left something in the isolate; the host decides whether its process goes on.
    if (how.ok) setImmediate(() => settle(one.loaded))
  }

  /** Lets the guest go on with a call, for as long as the call has left. */
  function enter(call: number, text: string): void {
    const one = open.get(call)
    if (one === undefined) return
    const left = one.started + one.timeLimit - performance.now()
    try {
      const timeout = Math.max(1, Math.ceil(left))
      const answered = one.loaded.enter.applySync(undefined, [text], { timeout }) as string
      if (answered !== '') end(call, endOf(answered, call))
      else one.timer ??= setTimeout(() => end(call, timedOut(one, Math.round(performance.now() - one.started))), left)
    } catch (error) {
      end(call, interrupted(error, one))
    }
  }

  /** The guest's wrapper catches all that a script throws, so what comes out here is the isolate's own doing. */
  function interrupted(error: unknown, one: OpenCall): Failed {
    const milliseconds = Math.round(performance.now() - one.started)
    if (isolate.isDisposed) {
      const allowed = limits.ISOLATE_MEMORY as number
      return {
        ok: false,
        code: 'script_memory',
        message: memoryText(),
        limit: { name: 'ISOLATE_MEMORY', allowed },
        milliseconds,
      }
    }
    if (milliseconds >= one.timeLimit - 1) return { ...timedOut(one, milliseconds), cutOff: true }
    const message = error instanceof Error ? error.message.slice(0, 500) : 'the script ended in an unknown way'
    return { ok: false, code: 'script_error', message, milliseconds }
  }

  function timedOut(one: OpenCall, milliseconds: number): Failed {
    const limit = { name: one.limitName, allowed: one.timeLimit, used: milliseconds }
    const message = `the call took longer than ${one.timeLimit} ms`
    return { ok: false, code: 'script_timeout', message, limit, milliseconds }
  }

  function memoryText(): string {
    return `the isolate needed more than ${Math.round((limits.ISOLATE_MEMORY as number) / MEGABYTE)} MB`
  }

  return {
    faults,
    isDisposed: () => isolate.isDisposed,
    /** Runs one entry function in a fresh context; the end is told by the event `ended`. */
    call(id: number, call: SandboxCall): void {
      const loading = performance.now()
      let loaded: LoadedContext
      try {
        loaded = takeContext(call, id)
      } catch (fault) {
        events.ended(id, loadFailure(fault, Math.round(performance.now() - loading)))
        return
      }
      const limitName = call.timeLimit
      const timeLimit = limits[limitName] as number
      open.set(id, { loaded, started: performance.now(), limitName, timeLimit, timer: null })
      enter(id, callText(call))
    },
    answer(id: number, request: number, ok: boolean, value: Json): void {
      enter(id, JSON.stringify({ kind: 'answer', id: request, ok, value }))
    },
    /** No further call will come, so no context is made ahead. */
    close(): void {
      mayMakeAhead = false
    },
    /** Loads a unit's scripts without calling anything. @returns the entry functions that exist */
    probe(unit: Unit, entries: readonly string[]): { found: readonly string[]; fault: LoadFault | null } {
      try {
        const made = createContext(unit, 'onSolutionOpen', NOBODY)
        const found = entries.filter((entry) =>
          made.context.evalSync(`typeof ${entry} === 'function'`, { timeout: 100 }),
        )
        giveBack(made)
        return { found, fault: null }
      } catch (error) {
        return { found: [], fault: isLoadFault(error) ? error : unknownFault(error) }
      }
    },
  }

  function loadFailure(fault: unknown, milliseconds: number): Failed {
    const { code, file, line, column, message } = isLoadFault(fault) ? fault : unknownFault(fault)
    const failure: Failure = code === 'script_syntax' || code === 'script_load' ? 'script_error' : code
    const position = line === undefined ? {} : { position: { file, line, column: column ?? 1 } }
    const limit = failure === 'script_timeout' ? { limit: loadLimit(milliseconds), cutOff: true } : {}
    return { ok: false, code: failure, message, ...position, ...limit, milliseconds }
  }

  function loadLimit(used: number) {
    return { name: 'LOAD_TIME', allowed: limits.LOAD_TIME as number, used }
  }

  function unknownFault(error: unknown): LoadFault {
    if (isolate.isDisposed) return { code: 'script_memory', file: '', message: memoryText() }
    return describeFault(error, 'script_load', '', files)
  }
}

/** How the guest's wrapper begins its text of a call that returned well. */
const RETURNED = '{"ok":true,'

type GuestFailure = {
  name: string
  message: string
  stack: string
  quota?: { limit: string; allowed: number; used: number }
}

/** The guest's wrapper writes it, so it is JSON; should it not be, the call has failed all the same. */
function readFailure(text: string): GuestFailure {
  try {
    return JSON.parse(text) as GuestFailure
  } catch {
    return { name: 'Error', message: 'the result of the call cannot be read', stack: '' }
  }
}

/** A call as guest.ts reads it. */
function callText({ entry, args, state }: SandboxCall): string {
  return JSON.stringify({ kind: 'call', args, state, entry })
}

function isLoadFault(value: unknown): value is LoadFault {
  return typeof value === 'object' && value !== null && 'code' in value && 'file' in value && 'message' in value
}

/** isolated-vm puts the position of a syntax error behind its message: `Unexpected token [globals.js:2:14]`. */
function describeFault(error: unknown, code: LoadFault['code'], file: string, files: ReadonlySet<string>): LoadFault {
  const text = error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 2000) : String(error).slice(0, 2000)
  const stack = error instanceof Error ? (error.stack ?? '').slice(0, 4096) : ''
  const position = findPosition(text.split('\n', 1)[0] ?? '', files) ?? findPosition(stack, files)
  const plain = text.replace(/ \[[^\]\s]+:\d+:\d+\]$/, '')
  const advice = /import statement outside a module|Unexpected token 'export'/.test(plain)
  const message = advice
    ? `${plain}: scripts have no import and export, the top-level functions of all are global`
    : plain
  return position ? { code, message, ...position } : { code, message, file }
}

/** The trusted part as one expression, whose value is `start`: the bootstrap, with each plugin's guest part. */
function trustedSource({ bootstrap, guests, limits, rehearsal }: Trusted): string {
  const sample = JSON.stringify(callText(rehearsal.call))
  const built = guests.map(
    ({ name, under = null, source }) =>
      `{ name: ${JSON.stringify(name)}, under: ${JSON.stringify(under)}, build: ${asFunction(source)} }`,
  )
  return `${asFunction(bootstrap)}(${JSON.stringify(limits)}, [${built.join(',\n')}], ${sample})`
}

/** A guest file as an expression: its default export becomes the value of a function around the file. */
function asFunction(source: string): string {
  return `(function () { 'use strict'; ${source.replace(/^export default /m, 'return ')}\n})()`
}
