import type { LogLevel, Position } from '../outcome.ts'
import type { SandboxCall, SandboxSolution, Unit } from '../protocol.ts'
import { describeFault, type LoadFault } from './call-end.ts'
import { now } from './clock.ts'
import { createFromGuest, createLookUp, type GuestListener } from './guest-questions.ts'
import {
  type Context,
  callbackOf,
  compile,
  finderSource,
  type Loading,
  type PreparedIsolate,
  type Reference,
  type Script,
  scopeText,
  TRUSTED,
} from './isolate.ts'
import type { LoadFaults } from './load-faults.ts'

/** A call whose scripts are loaded. */
export interface LoadedCall {
  readonly unit: Unit
  /** The entry function that the context was prepared for. */
  readonly entry: string
  /**
   * Passes a message to the call's trusted part, and returns the response.
   * @param entry the entry function if the message starts the call, otherwise null
   * @throws any error of isolated-vm
   */
  enter(text: string, entry: string | null, timeout: number): string
  /** Whether the scripts have a function with this name. */
  finds(entry: string): boolean
  /** Call this when the call has ended. */
  giveBack(): void
}

/**
 * Creates the contexts in which calls run. `syntaxFaults`: the errors that were found when the solution's scripts were
 * compiled.
 */
export interface CallContexts {
  readonly syntaxFaults: readonly LoadFault[]
  /** @throws LoadFault */
  take(what: SandboxCall, call: number): LoadedCall
  /** @throws LoadFault */
  create(unit: Unit, entry: string, call: number, loading?: Loading): LoadedCall
  makeAhead(unit: Unit, entry: string): void
  /** Call this when no further calls will follow: stops creating contexts in advance. */
  stopAhead(): void
  /** Call this after an interrupted call, because its microtasks may still be queued. */
  interrupted(): void
}

/** A context with its scripts loaded. Its log lines are buffered in `lines` until it belongs to a call. */
type LoadedContext = LoadedCall & {
  readonly id: number
  readonly context: Context
  readonly reference: Reference
  readonly createdAt: number
  readonly lines: (readonly [LogLevel, string, (Position | undefined)?])[]
  /** The call that the context serves; `NOBODY` before the context is assigned to a call. */
  call: number
}

/**
 * How long a context created in advance can be used, in ms. The time is limited because the results of top-level code
 * become stale.
 */
const AHEAD_FOR = 30_000
/** Replaces the call's id while a context is not assigned to a call. */
export const NOBODY = 0
/** Receives messages from a context, with the id of the call that the context serves. */
export type LoginListener = {
  readonly [Name in 'log' | 'request' | 'done']: GuestListener<number>[Name]
}

/**
 * Manages the contexts for logins. Each call has a separate context, and the next one is created before its call
 * arrives. `faults` describes errors that occur while the solution's scripts load.
 */
export function createLoginContexts(
  prepared: PreparedIsolate,
  solution: SandboxSolution,
  faults: LoadFaults,
  listener: LoginListener,
): CallContexts {
  const { isolate, limits } = prepared
  const files = new Set(solution.scripts.map((script) => script.file))
  const settings = JSON.stringify(solution.settings)
  const contexts = new Map<number, LoadedContext>()
  /** A function for all contexts. Each context passes its id. Only a context's trusted part can call the function. */
  const ask = callbackOf(
    createFromGuest<LoadedContext>({
      files,
      lookUp: createLookUp(solution.tables, prepared.sharedTable),
      contextOf: (id) => contexts.get(id),
      log: (created, ...line) => {
        if (created.call === NOBODY) created.lines.push(line)
        else listener.log(created.call, ...line)
      },
      request: ({ call }, ...request) => listener.request(call, ...request),
      done: ({ call }, text) => listener.done(call, text),
    }),
  )
  let lastContext = 0
  /** By entry function: a script that returns a function, which finds the entry function however it is declared. */
  const finders = new Map<string, Script>()
  const syntaxFaults: LoadFault[] = []
  const scripts = solution.scripts.map(({ file, source, scope }) => {
    try {
      return compile(isolate, file, source, scope)
    } catch (error) {
      syntaxFaults.push(describeFault(error, 'script_syntax', file, files))
      return null
    }
  })
  /**
   * Contexts created in advance, at most one per unit. Each is created after a call of its unit, because the next call
   * is likely to use the same unit.
   */
  const ahead = new Map<Unit, LoadedContext>()
  let mayMakeAhead = true

  function takeContext({ unit, entry }: SandboxCall, call: number): LoadedContext {
    const created = ahead.get(unit)
    ahead.delete(unit)
    if (created === undefined) return createContext(unit, entry, call)
    if (now() - created.createdAt > AHEAD_FOR) {
      created.giveBack()
      return createContext(unit, entry, call)
    }
    created.call = call
    for (const line of created.lines.splice(0)) listener.log(call, ...line)
    return created
  }

  /** Creates a context in advance. If the scripts can't be loaded, the next call that needs them reports the error. */
  function makeAhead(unit: Unit, entry: string): void {
    if (!mayMakeAhead || isolate.isDisposed || ahead.has(unit)) return
    try {
      ahead.set(unit, createContext(unit, entry, NOBODY))
    } catch {
      // Ignore the error: the next call gets the same error and reports it.
      mayMakeAhead = false
    }
  }

  function loadedIn(
    context: Context,
    reference: Reference,
    facts: Pick<LoadedContext, 'id' | 'unit' | 'entry' | 'call'>,
  ) {
    const loaded: LoadedContext = {
      ...facts,
      context,
      reference,
      createdAt: now(),
      lines: [],
      enter(text, entry, timeout) {
        const finder = entry === null || entry === facts.entry ? null : finderIn(context, entry)
        const given = finder === null ? [text] : [text, finder.derefInto({ release: true })]
        return reference.applySync(undefined, given, { timeout }) as string
      },
      finds: (entry) => context.evalSync(isOwnFunction(entry), { timeout: 100 }) as boolean,
      giveBack() {
        contexts.delete(facts.id)
        if (isolate.isDisposed) return
        reference.release()
        context.release()
      },
    }
    return loaded
  }

  /** Creates a fresh context with its bindings and the unit's scripts. @throws LoadFault */
  function createContext(unit: Unit, entry: string, call: number, loading?: Loading): LoadedContext {
    const { context, start } = prepared.freshContext()
    const id = ++lastContext
    const findEntry = finderIn(context, entry)
    const enter = start.applySync(undefined, [ask, id, settings, findEntry.derefInto({ release: true })], {
      result: { reference: true },
    }) as Reference
    start.release()
    const created = loadedIn(context, enter, { id, unit, entry, call })
    contexts.set(id, created)
    try {
      runScripts(created, solution.units[unit] ?? [], loading)
      return created
    } catch (error) {
      created.giveBack()
      throw error
    }
  }

  function finderIn(context: Context, entry: string): Reference {
    return finderOf(entry).runSync(context, { reference: true }) as Reference
  }

  function finderOf(entry: string): Script {
    const known = finders.get(entry)
    if (known !== undefined) return known
    const created = isolate.compileScriptSync(finderSource(entry), { filename: TRUSTED })
    finders.set(entry, created)
    return created
  }

  function runScripts({ context, reference }: LoadedContext, indexes: readonly number[], loading?: Loading): void {
    const allowed = limits.LOAD_TIME as number
    const end = now() + allowed
    for (const index of indexes) {
      const { file = '', scope } = solution.scripts[index] ?? {}
      loading?.(file)
      try {
        const timeout = Math.max(1, Math.ceil(end - now()))
        if (scope === undefined) scripts[index]?.runSync(context, { timeout })
        else {
          const view = scripts[index]?.runSync(context, { timeout, reference: true }) as Reference
          reference.applySync(undefined, [scopeText(scope), view.derefInto({ release: true })], { timeout })
        }
      } catch (error) {
        throw faults.ofTopLevel(file, error, now() >= end)
      }
    }
  }

  return {
    syntaxFaults,
    take: takeContext,
    create: createContext,
    makeAhead,
    stopAhead() {
      mayMakeAhead = false
    },
    // Nothing to do here, because the host kills the process.
    interrupted() {},
  }
}

function isOwnFunction(name: string): string {
  return `typeof ${name} === 'function' && !${name}.toString().includes('[native code]')`
}
