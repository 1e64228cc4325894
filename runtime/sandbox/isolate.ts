import ivm from 'isolated-vm'
import type { LogLevel, Position } from '../outcome.ts'
import type { Json } from '../plugin.ts'
import type {
  SandboxCall,
  SandboxFormScript,
  SandboxScript,
  SandboxSolution,
  ScriptScope,
  Trusted,
  Unit,
} from '../protocol.ts'
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
} from './call-end.ts'
import { createFromGuest } from './guest-questions.ts'

// The only file that imports isolated-vm. Only texts cross: each context gets one callback and gives one function.

/** For the files of clients, which work with what is made here. */
export type Isolate = ivm.Isolate
export type Context = ivm.Context
export type Script = ivm.Script
export type Reference = ivm.Reference
export type Callback = ivm.Callback
export type InspectorSession = ivm.InspectorSession

const MEGABYTE = 1024 ** 2
/** File name of the trusted part in stack texts; no file of a solution can have it. */
export const TRUSTED = 'solhost:guest'

/** What a context asks of the process around it. */
export type IsolateEvents = {
  readonly log: (call: number, level: LogLevel, message: string, position?: Position) => void
  readonly request: (call: number, request: number, plugin: string, method: string, args: readonly Json[]) => void
  readonly ended: (call: number, end: CallEnd) => void
  /** After a call that returned well, once the context for the next one is made. */
  readonly settled: () => void
}

/** Told of each file before its top level runs. */
export type Loading = (file: string) => void

/** Compiles one script without running it. */
export function compileFault(isolate: ivm.Isolate, file: string, source: string): LoadFault | null {
  try {
    compile(isolate, file, source).release()
    return null
  } catch (error) {
    return describeFault(error, 'script_syntax', file, new Set([file]))
  }
}

function compile(isolate: ivm.Isolate, file: string, source: string, scope?: ScriptScope): ivm.Script {
  try {
    return isolate.compileScriptSync(...toCompile(file, source, scope))
  } catch (error) {
    // An error at the end of the file would be told of what we added behind it: the file alone tells it right.
    isolate.compileScriptSync(source, { filename: file }).release()
    throw error
  }
}

/** The same beside what other isolates run, on a thread of the isolate's own. @throws the syntax error, a LoadFault */
export async function compileBeside(isolate: ivm.Isolate, { file, source, scope }: SandboxScript): Promise<ivm.Script> {
  try {
    return await isolate.compileScript(...toCompile(file, source, scope))
  } catch (error) {
    throw describeFault((await syntaxError(isolate, file, source)) ?? error, 'script_syntax', file, new Set([file]))
  }
}

/**
 * A form's script as a function, so that what it declares is not global; its value is that function. Called with what binds a
 * function to the form, it returns the named functions. Positions are those of the file. @throws the syntax error, a LoadFault
 */
export async function compileForm(isolate: ivm.Isolate, { file, source, functions, bound }: SandboxFormScript) {
  // Before the script's first statement, and on its first line; a strict script has none, so its directive stays the first.
  const before = `(function () {${bound.map((name) => `${name}=arguments[0](${name});`).join('')}`
  const given = functions.map((name) => `, ${name}`).join('')
  const wrapped = `${before}${source}\n;return { __proto__: null${given} } })`
  try {
    return await isolate.compileScript(wrapped, { filename: file, columnOffset: -before.length })
  } catch (error) {
    throw describeFault((await syntaxError(isolate, file, source)) ?? error, 'script_syntax', file, new Set([file]))
  }
}

/** Of the file alone; undefined where it has none. */
function syntaxError(isolate: ivm.Isolate, file: string, source: string): Promise<unknown> {
  return isolate.compileScript(source, { filename: file }).then(
    (script) => script.release(),
    (error: unknown) => error,
  )
}

/** A function that contexts of all isolates can call; they wait for its answer. */
export function callbackOf(call: (...args: unknown[]) => string | null | false): ivm.Callback {
  return new ivm.Callback(call, { sync: true })
}

/** A script that gives a function which finds an entry function by its name, in whatever way it was declared. */
export function finderSource(entry: string): string {
  return `(function () { 'use strict'; return typeof ${entry} === 'function' ? ${entry} : undefined })`
}

/** @param memory in bytes */
export function createIsolate(memory: number): ivm.Isolate {
  return new ivm.Isolate({ memoryLimit: inMegabytes(memory) })
}

/** isolated-vm takes no fewer than 8. */
function inMegabytes(bytes: number): number {
  return Math.max(8, Math.round(bytes / MEGABYTE))
}

/** A script with a scope gives an object with an accessor for each of its names; guest.ts makes `scopes` of these. */
function toCompile(file: string, source: string, scope?: ScriptScope): [string, ivm.ScriptOrigin] {
  if (scope === undefined) return [closed(source), { filename: file }]
  const accessors = scope.names.map((name) => {
    const given = name === 'value' ? 'given' : 'value'
    return `, get ${name}() { return ${name} }, set ${name}(${given}) { ${name} = ${given} }`
  })
  const view = `{ __proto__: null${accessors.join('')} }`
  if (!scope.isOwn) return [`${source}\n;(${view})`, { filename: file }]
  const before = '(function () {'
  return [`${before}${source}\n;return ${view} })()`, { filename: file, columnOffset: -before.length }]
}

/** How guest.ts takes what such a script gave. */
export function scopeText({ name, shared }: ScriptScope): string {
  return JSON.stringify({ kind: 'scope', name, shared })
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
  readonly lines: (readonly [LogLevel, string, (Position | undefined)?])[]
  /** The call that it serves; `NOBODY` while it waits for one. */
  call: number
}

/** A context made ahead is used for so long, in ms: what scripts did at load time must not grow old. */
const AHEAD_FOR = 30_000
/** The call of a context that no call has taken yet. */
const NOBODY = 0
/** Where a fresh context holds its `start`, see guest.ts. */
export const START = 'solhostStart'

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
  /** A further isolate, of clients: its contexts begin in the same way and with what only clients have. */
  readonly another: () => ivm.Isolate
  /** One that a debugger can be attached to, which aborts the process on Node 26. @param isClient whether it is of clients */
  readonly debugged: (isClient: boolean) => ivm.Isolate
}

function snapshotOf(trusted: Trusted, isClient: boolean) {
  const code = `globalThis.${START} = ${trustedSource(trusted, isClient)};`
  return ivm.Isolate.createSnapshot([{ code, filename: TRUSTED }])
}

/**
 * Runs the trusted part once and keeps what it built as a snapshot of the heap, which every context begins with: that
 * is far faster than to build it anew, and no script can have touched it. @throws what a guest part throws
 */
export function prepareIsolate(trusted: Trusted): PreparedIsolate {
  const { limits } = trusted
  const memoryLimit = inMegabytes(limits.ISOLATE_MEMORY as number)
  const forLogins = { ...trusted, guests: trusted.guests.filter(({ clientsOnly }) => clientsOnly !== true) }
  const isolate = new ivm.Isolate({ memoryLimit, snapshot: snapshotOf(forLogins, false) })
  /** Made when it is needed: a process that serves logins has no clients. */
  let forClients: ReturnType<typeof snapshotOf> | null = null
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
    another() {
      forClients ??= snapshotOf(trusted, true)
      return new ivm.Isolate({ memoryLimit, snapshot: forClients })
    },
    debugged: (isClient) =>
      new ivm.Isolate({ memoryLimit, snapshot: snapshotOf(isClient ? trusted : forLogins, isClient), inspector: true }),
  }
}

/** One solution version in one isolate. @throws nothing: faults of loading are returned */
export function loadSolution(prepared: PreparedIsolate, solution: SandboxSolution, events: IsolateEvents) {
  const { isolate, limits } = prepared
  const files = new Set(solution.scripts.map((script) => script.file))
  const settings = JSON.stringify(solution.settings)
  const contexts = new Map<number, LoadedContext>()
  /** One function for all contexts; each says which one it is. Only the trusted part holds it. */
  const ask = new ivm.Callback(
    createFromGuest<LoadedContext>({
      files,
      tables: solution.tables,
      contextOf: (id) => contexts.get(id),
      log: (made, ...line) => {
        if (made.call === NOBODY) made.lines.push(line)
        else events.log(made.call, ...line)
      },
      request: ({ call }, ...request) => events.request(call, ...request),
      // The context is still running: it is given back after this callback returned.
      done: ({ call }, text) => void setImmediate(() => end(call, endOf(text, elapsed(call), files))),
    }),
    { sync: true },
  )
  let lastContext = 0
  /** Scripts that give a function which finds an entry function by its name, in whatever way it was declared. */
  const finders = new Map<string, ivm.Script>()
  const faults: LoadFault[] = []
  const scripts = solution.scripts.map(({ file, source, scope }) => {
    try {
      return compile(isolate, file, source, scope)
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
  function createContext(unit: Unit, entry: string, call: number, loading?: Loading): LoadedContext {
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
      runScripts(made, solution.units[unit] ?? [], loading)
      return made
    } catch (error) {
      giveBack(made)
      throw error
    }
  }

  function finderOf(entry: string): ivm.Script {
    const known = finders.get(entry)
    if (known !== undefined) return known
    const made = isolate.compileScriptSync(finderSource(entry), { filename: TRUSTED })
    finders.set(entry, made)
    return made
  }

  function runScripts({ context, enter }: LoadedContext, indexes: readonly number[], loading?: Loading): void {
    const allowed = limits.LOAD_TIME as number
    const end = performance.now() + allowed
    for (const index of indexes) {
      const { file = '', scope } = solution.scripts[index] ?? {}
      loading?.(file)
      try {
        const timeout = Math.max(1, Math.ceil(end - performance.now()))
        if (scope === undefined) scripts[index]?.runSync(context, { timeout })
        else {
          const view = scripts[index]?.runSync(context, { timeout, reference: true }) as ivm.Reference
          enter.applySync(undefined, [scopeText(scope), view.derefInto({ release: true })], { timeout })
        }
      } catch (error) {
        if (isolate.isDisposed) throw outOfMemoryAt(file)
        if (performance.now() >= end) throw loadTimedOut(limits, file, error, files)
        throw describeFault(error, 'script_load', file, files)
      }
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
      if (answered !== '') end(call, endOf(answered, elapsed(call), files))
      else one.timer ??= setTimeout(() => end(call, timedOut(one.limitName, one.timeLimit, elapsed(call))), left)
    } catch (error) {
      end(call, interrupted(error, one))
    }
  }

  /** The guest's wrapper catches all that a script throws, so what comes out here is the isolate's own doing. */
  function interrupted(error: unknown, one: OpenCall): FailedEnd {
    const milliseconds = Math.round(performance.now() - one.started)
    if (isolate.isDisposed) return outOfMemory(limits, milliseconds)
    if (milliseconds < one.timeLimit - 1) return brokenOff(error, milliseconds)
    return { ...timedOut(one.limitName, one.timeLimit, milliseconds, cutOffAt(error, files)), cutOff: true }
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
        events.ended(id, loadFailure(faultOf(fault), limits, Math.round(performance.now() - loading)))
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
    probe(
      unit: Unit,
      entries: readonly string[],
      loading?: Loading,
    ): { found: readonly string[]; fault: LoadFault | null } {
      try {
        const made = createContext(unit, 'onSolutionOpen', NOBODY, loading)
        const found = entries.filter((entry) =>
          made.context.evalSync(`typeof ${entry} === 'function'`, { timeout: 100 }),
        )
        giveBack(made)
        return { found, fault: null }
      } catch (error) {
        return { found: [], fault: faultOf(error) }
      }
    },
  }

  function faultOf(error: unknown): LoadFault {
    if (isLoadFault(error)) return error
    return isolate.isDisposed ? outOfMemoryAt('') : describeFault(error, 'script_load', '', files)
  }

  function outOfMemoryAt(file: string): LoadFault {
    return { code: 'script_memory', file, message: memoryText(limits) }
  }
}

/** The trusted part as one expression, whose value is `start`: the bootstrap, with each plugin's guest part. */
function trustedSource({ bootstrap, guests, limits, rehearsal }: Trusted, isClient: boolean): string {
  const sample = JSON.stringify(callText(rehearsal.call))
  const built = guests.map(
    ({ name, under = null, source }) =>
      `{ name: ${JSON.stringify(name)}, under: ${JSON.stringify(under)}, build: ${asFunction(source)} }`,
  )
  return `${asFunction(bootstrap)}(${JSON.stringify(limits)}, [${built.join(',\n')}], ${sample}, ${isClient})`
}

/** A guest file as an expression: its default export becomes the value of a function around the file. */
function asFunction(source: string): string {
  return `(function () { 'use strict'; ${source.replace(/^export default /m, 'return ')}\n})()`
}
