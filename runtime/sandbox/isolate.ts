import { randomUUID } from 'node:crypto'
import ivm from 'isolated-vm'
import { isAllowedAddress } from '../address.ts'
import type { Failure, LogLevel, Position } from '../outcome.ts'
import type { Json } from '../plugin.ts'
import type { SandboxCall, SandboxOutcome, SandboxSolution, Unit } from '../protocol.ts'
import { findPosition } from './positions.ts'

// The only file that imports isolated-vm. Only texts cross: each context gets one callback and gives one function.

const MEGABYTE = 1024 ** 2
/** File name of the trusted part in stack texts; no file of a solution can have it. */
const TRUSTED = 'solhost:guest'

/** What a context asks of the process around it. */
export type IsolateEvents = {
  readonly log: (call: number, level: LogLevel, message: string, position?: Position) => void
  readonly request: (call: number, request: number, plugin: string, method: string, args: readonly Json[]) => void
  readonly ended: (call: number, outcome: SandboxOutcome) => void
}

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

export function createIsolate(memory: number): ivm.Isolate {
  return new ivm.Isolate({ memoryLimit: Math.max(8, Math.round(memory / MEGABYTE)) })
}

/** The completion value of a script would cross the border, and may be a Proxy: it is always undefined. */
function closed(source: string): string {
  return `${source}\n;void 0;`
}

/** A context with its scripts loaded. What it logs before it belongs to a call waits in `lines`. */
type LoadedContext = {
  readonly context: ivm.Context
  readonly enter: ivm.Reference
  readonly owner: { call: number; readonly lines: (readonly [LogLevel, string, Position | undefined])[] }
  readonly madeAt: number
}

/** A context made ahead is used for so long, in ms: what scripts did at load time must not grow old. */
const AHEAD_FOR = 30_000
/** The owner of a context that no call has taken yet. */
const NOBODY = 0

type OpenCall = LoadedContext & {
  readonly unit: Unit
  readonly started: number
  readonly limitName: SandboxCall['timeLimit']
  /** In ms. */
  readonly timeLimit: number
  readonly timer: NodeJS.Timeout | null
}

/** One solution version in one isolate. @throws nothing: faults of loading are returned */
export function loadSolution(solution: SandboxSolution, events: IsolateEvents) {
  const isolate = createIsolate(solution.limits.ISOLATE_MEMORY as number)
  const files = new Set(solution.scripts.map((script) => script.file))
  const trusted = isolate.compileScriptSync(trustedSource(solution), { filename: TRUSTED })
  const setup = JSON.stringify({ limits: solution.limits, settings: solution.settings })
  const tables = new Map(
    Object.entries(solution.tables).flatMap(([plugin, named]) =>
      Object.entries(named).map(([table, texts]): [string, Map<string, string>] => [
        `${plugin} ${table}`,
        new Map(Object.entries(texts)),
      ]),
    ),
  )
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

  function takeContext(unit: Unit, call: number): LoadedContext {
    const made = ahead.get(unit)
    ahead.delete(unit)
    if (made === undefined) return createContext(unit, call)
    if (performance.now() - made.madeAt > AHEAD_FOR) {
      giveBack(made)
      return createContext(unit, call)
    }
    made.owner.call = call
    for (const line of made.owner.lines.splice(0)) events.log(call, ...line)
    return made
  }

  /** Scripts that cannot be loaded are told of when a call needs them. */
  function makeAhead(unit: Unit): void {
    if (isolate.isDisposed || ahead.has(unit) || open.size > 0) return
    try {
      ahead.set(unit, createContext(unit, NOBODY))
    } catch {
      // The next call meets the same fault and says so.
    }
  }

  function giveBack({ context, enter }: LoadedContext): void {
    if (isolate.isDisposed) return
    enter.release()
    context.release()
  }

  /** A fresh context with its bindings and the unit's scripts. @throws LoadFault */
  function createContext(unit: Unit, call: number): LoadedContext {
    const context = isolate.createContextSync()
    const owner: LoadedContext['owner'] = { call, lines: [] }
    let enter: ivm.Reference | null = null
    try {
      const build = trusted.runSync(context, { reference: true })
      const callback = new ivm.Callback(
        (kind: unknown, text: unknown, key: unknown) => fromGuest(owner, kind, text, key),
        {
          sync: true,
        },
      )
      enter = build.applySync(undefined, [callback, setup], {
        result: { reference: true },
        timeout: solution.limits.LOAD_TIME as number,
      }) as ivm.Reference
      build.release()
      runScripts(context, solution.units[unit] ?? [])
      return { context, enter, owner, madeAt: performance.now() }
    } catch (error) {
      if (!isolate.isDisposed) {
        enter?.release()
        context.release()
      }
      throw error
    }
  }

  function runScripts(context: ivm.Context, indexes: readonly number[]): void {
    const allowed = solution.limits.LOAD_TIME as number
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

  /** The one callback of a context. It never throws: a host error's stack would cross the border with it. */
  function fromGuest(
    { call, lines }: LoadedContext['owner'],
    kind: unknown,
    text: unknown,
    key: unknown,
  ): string | null {
    try {
      if (typeof text !== 'string') return null
      if (kind === 'uuid') return randomUUID()
      if (kind === 'address') return isAllowedAddress(text) ? '' : null
      if (kind === 'look') return typeof key === 'string' ? (tables.get(text)?.get(key) ?? null) : null
      if (kind === 'done') {
        // The context is still running: it is given back after this callback returned.
        setImmediate(() => end(call, outcomeOf(text, call)))
        return null
      }
      const message = JSON.parse(text) as Record<string, unknown>
      if (kind === 'log') {
        const { level, message: line, stack } = message as { level: LogLevel; message: string; stack: string }
        const position = findPosition(stack, files)
        if (call === NOBODY) lines.push([level, line, position])
        else events.log(call, level, line, position)
      } else if (kind === 'request') {
        const { id, plugin, method, args } = message as { id: number; plugin: string; method: string; args: Json[] }
        events.request(call, id, plugin, method, args)
      }
      return null
    } catch {
      return null
    }
  }

  function outcomeOf(text: string, call: number): SandboxOutcome {
    const milliseconds = elapsed(call)
    const message = readOutcome(text)
    if (message.ok) {
      const { result, odd, commands } = message
      return { ok: true, result, ...(odd === undefined ? {} : { odd }), commands, milliseconds }
    }
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

  function end(call: number, outcome: SandboxOutcome): void {
    const one = open.get(call)
    if (one === undefined) return
    open.delete(call)
    if (one.timer !== null) clearTimeout(one.timer)
    giveBack(one)
    events.ended(call, outcome)
    // A call that failed may have left something in the isolate; its process decides whether it goes on.
    if (outcome.ok) setImmediate(() => makeAhead(one.unit))
  }

  function enter(call: number, text: string): void {
    const one = open.get(call)
    if (one === undefined) return
    const left = Math.max(1, Math.ceil(one.started + one.timeLimit - performance.now()))
    try {
      const answered = one.enter.applySync(undefined, [text], { timeout: left }) as string
      if (answered !== '') end(call, outcomeOf(answered, call))
    } catch (error) {
      end(call, interrupted(error, one))
    }
  }

  /** The guest's wrapper catches all that a script throws, so what comes out here is the isolate's own doing. */
  function interrupted(error: unknown, one: OpenCall): SandboxOutcome {
    const milliseconds = Math.round(performance.now() - one.started)
    if (isolate.isDisposed) {
      const allowed = solution.limits.ISOLATE_MEMORY as number
      return {
        ok: false,
        code: 'script_memory',
        message: memoryText(),
        limit: { name: 'ISOLATE_MEMORY', allowed },
        milliseconds,
      }
    }
    if (milliseconds >= one.timeLimit - 1) return timedOut(one, milliseconds)
    const message = error instanceof Error ? error.message.slice(0, 500) : 'the script ended in an unknown way'
    return { ok: false, code: 'script_error', message, milliseconds }
  }

  function timedOut(one: OpenCall, milliseconds: number): SandboxOutcome {
    const limit = { name: one.limitName, allowed: one.timeLimit, used: milliseconds }
    const message = `the call took longer than ${one.timeLimit} ms`
    return { ok: false, code: 'script_timeout', message, limit, milliseconds }
  }

  function memoryText(): string {
    return `the isolate needed more than ${Math.round((solution.limits.ISOLATE_MEMORY as number) / MEGABYTE)} MB`
  }

  return {
    faults,
    isDisposed: () => isolate.isDisposed,
    /** Runs one entry function in a fresh context; the end is told by the event `ended`. */
    call(id: number, call: SandboxCall): void {
      const loading = performance.now()
      let made: LoadedContext
      try {
        made = takeContext(call.unit, id)
      } catch (fault) {
        events.ended(id, loadFailure(fault, Math.round(performance.now() - loading)))
        return
      }
      const started = performance.now()
      const limitName = call.timeLimit
      const timeLimit = solution.limits[limitName] as number
      const timer = setTimeout(() => {
        const one = open.get(id)
        if (one) end(id, timedOut(one, Math.round(performance.now() - one.started)))
      }, timeLimit)
      open.set(id, { ...made, unit: call.unit, started, limitName, timeLimit, timer })
      enter(id, JSON.stringify({ kind: 'call', entry: call.entry, args: call.args, state: call.state }))
    },
    answer(id: number, request: number, ok: boolean, value: Json): void {
      enter(id, JSON.stringify({ kind: 'answer', id: request, ok, value }))
    },
    /** Loads a unit's scripts without calling anything. @returns the entry functions that exist */
    probe(unit: Unit, entries: readonly string[]): { found: readonly string[]; fault: LoadFault | null } {
      try {
        const made = createContext(unit, NOBODY)
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

  function loadFailure(fault: unknown, milliseconds: number): SandboxOutcome {
    const { code, file, line, column, message } = isLoadFault(fault) ? fault : unknownFault(fault)
    const failure: Failure = code === 'script_syntax' || code === 'script_load' ? 'script_error' : code
    const position = line === undefined ? {} : { position: { file, line, column: column ?? 1 } }
    const limit = failure === 'script_timeout' ? { limit: loadLimit(milliseconds) } : {}
    return { ok: false, code: failure, message, ...position, ...limit, milliseconds }
  }

  function loadLimit(used: number) {
    return { name: 'LOAD_TIME', allowed: solution.limits.LOAD_TIME as number, used }
  }

  function unknownFault(error: unknown): LoadFault {
    if (isolate.isDisposed) return { code: 'script_memory', file: '', message: memoryText() }
    return describeFault(error, 'script_load', '', files)
  }
}

type GuestOutcome =
  | { ok: true; result: string | null; odd?: string; commands: [] }
  | {
      ok: false
      name: string
      message: string
      stack: string
      quota?: { limit: string; allowed: number; used: number }
    }

/** The guest's wrapper writes it, so it is JSON; should it not be, the call has failed. */
function readOutcome(text: string): GuestOutcome {
  try {
    return JSON.parse(text) as GuestOutcome
  } catch {
    return { ok: false, name: 'Error', message: 'the result of the call cannot be read', stack: '' }
  }
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

/** One script for the trusted part: the bootstrap, then each plugin's guest part, in one function each. */
function trustedSource(solution: SandboxSolution): string {
  const [bootstrap, ...plugins] = solution.guests
  const built = plugins.map(({ name, source }) => `{ name: ${JSON.stringify(name)}, build: ${asFunction(source)} }`)
  return `(function () { 'use strict';
const bootstrap = ${asFunction(bootstrap?.source ?? '')};
const plugins = [${built.join(',\n')}];
return function (host, setup) { return bootstrap(host, setup, plugins) };
})()`
}

/** A guest file as an expression: its default export becomes the value of a function around the file. */
function asFunction(source: string): string {
  return `(function () { 'use strict'; ${source.replace(/^export default /m, 'return ')}\n})()`
}
