import type { SandboxCall, SandboxScript, SandboxSolution, Unit } from '../protocol.ts'
import { describeFault, type LoadFault, reportedFault } from './call-end.ts'
import { now } from './clock.ts'
import { createFromGuest, createLookUp, randomDigits } from './guest-questions.ts'
import {
  type Callback,
  callbackOf,
  compileAlone,
  compileInRealm,
  type HardenedIsolate,
  type Loading,
  type Reference,
  type Script,
  TRUSTED,
} from './isolate.ts'
import type { LoadFaults } from './load-faults.ts'
import type { CallContexts, LoadedCall, LoginListener } from './login-contexts.ts'
import type { GlobalNames } from './realm.guest.ts'

/** One context with frozen built-in objects. Its `drive` function starts, continues and ends calls; see realm.guest.ts. */
type Realm = { readonly drive: Reference }

/**
 * The calls of a solution with the hardened realm. They share one context, and each has its own global object, bindings
 * and run of the scripts' top-level code.
 */
export function createHardenedContexts(
  { isolate, limits, sharedTable, source }: HardenedIsolate,
  solution: SandboxSolution,
  faults: LoadFaults,
  listener: LoginListener,
): CallContexts {
  const files = new Set(solution.scripts.map((script) => script.file))
  const settings = JSON.stringify(solution.settings)
  /**
   * The running calls, by the id that the trusted part passes with each message. `call` is the host's id for the call.
   */
  const running = new Map<number, { readonly call: number }>()
  const ask: Callback = callbackOf(
    createFromGuest<{ readonly call: number }>({
      files,
      lookUp: createLookUp(solution.tables, sharedTable),
      contextOf: (id) => running.get(id),
      log: ({ call }, ...line) => listener.log(call, ...line),
      request: ({ call }, ...request) => listener.request(call, ...request),
      done: ({ call }, text) => listener.done(call, text),
    }),
  )
  const syntaxFaults: LoadFault[] = []
  let lastId = 0
  let realm: Realm | null = null
  let scripts: readonly (Script | null)[] | null = null
  /** The standalone scripts, by index; see `isAlone`. */
  const alone = new Map<number, { readonly script: Script; readonly names: readonly string[] }>()

  /**
   * Get random digits now. Node.js loads its random generator on first use, which fails if a script has exhausted the
   * stack.
   */
  const secret = randomDigits().slice(0, 32)

  function currentRealm(): Realm {
    realm ??= createRealm()
    return realm
  }

  function createRealm(): Realm {
    const timeout = limits.LOAD_TIME as number
    const context = isolate.createContextSync()
    const factory = isolate.compileScriptSync(source, { filename: TRUSTED }).runSync(context, { reference: true })
    const drive = (factory as Reference).applySync(undefined, [ask], { result: { reference: true } }) as Reference
    const names = JSON.parse(drive.applySync(undefined, ['names', 0, settings], { timeout }) as string) as GlobalNames
    scripts ??= solution.scripts.map((script, index) => compiled(script, index, names))
    for (const [index, script] of scripts.entries()) {
      if (script === null) continue
      const run = script.runSync(context, { reference: true, timeout }) as Reference
      drive.applySync(undefined, ['script', index, factsOf(solution.scripts[index]), run.derefInto({ release: true })])
    }
    for (const [index, one] of alone) {
      const run = one.script.runSync(context, { reference: true, timeout }) as Reference
      drive.applySync(undefined, ['alone', index, JSON.stringify(one.names), run.derefInto({ release: true })])
    }
    return { drive }
  }

  function compiled(script: SandboxScript, index: number, names: GlobalNames): Script | null {
    try {
      // Each call creates its own constants, so pass only those that the script may use.
      const usedOf = (all: readonly string[]) => all.filter((name) => script.source.includes(name))
      const [builtIn, own] = [usedOf(names.builtIn), usedOf(names.own)]
      const units = Object.values(solution.units).filter((indexes) => indexes.includes(index))
      const canBeAlone = isAlone(script, names)
      if (canBeAlone && units.some((indexes) => indexes.length === 1)) {
        alone.set(index, { script: compileAlone(isolate, script, { builtIn, own }, secret), names: own })
        if (units.every((indexes) => indexes.length === 1)) return null
      }
      return compileInRealm(isolate, script, [...builtIn, ...own, 'globalThis'], secret)
    } catch (error) {
      syntaxFaults.push(describeFault(error, 'script_syntax', script.file, files))
      return null
    }
  }

  /** @throws LoadFault */
  function create(unit: Unit, entry: string, call: number, loading?: Loading): LoadedCall {
    const { drive } = currentRealm()
    const id = ++lastId
    running.set(id, { call })
    const loaded: LoadedCall = {
      unit,
      entry,
      enter: (text, name, timeout) =>
        drive.applySync(undefined, ['enter', id, text, undefined, name ?? undefined], { timeout }) as string,
      finds: (name) => drive.applySync(undefined, ['finds', id, name], { timeout: 100 }) !== '',
      giveBack() {
        running.delete(id)
        try {
          if (!isolate.isDisposed) drive.applySync(undefined, ['close', id, ''], { timeout: 100 })
        } catch {
          realm = null
        }
      },
    }
    const end = now() + (limits.LOAD_TIME as number)
    const left = () => Math.max(1, Math.ceil(end - now()))
    const indexes = solution.units[unit] ?? []
    const how = indexes.length === 1 && alone.has(indexes[0] as number) ? 'runAlone' : 'run'
    if (how === 'run') drive.applySync(undefined, ['open', id, ''], { timeout: left() })
    for (const index of indexes) {
      const { file = '' } = solution.scripts[index] ?? {}
      loading?.(file)
      const failed = runScript(drive, [how, id, `${index}`], file, left(), () => now() >= end)
      if (failed === null) continue
      loaded.giveBack()
      throw failed
    }
    return loaded
  }

  function runScript(
    drive: Reference,
    message: readonly (string | number)[],
    file: string,
    timeout: number,
    isOver: () => boolean,
  ): LoadFault | null {
    try {
      const failed = drive.applySync(undefined, [...message], { timeout }) as string
      return failed === '' ? null : reportedFault(failed, file, files)
    } catch (error) {
      // The interrupted script may have left microtasks, so the next call gets a new realm.
      realm = null
      return faults.ofTopLevel(file, error, isOver())
    }
  }

  try {
    currentRealm()
  } catch {
    // Ignore the error: each call tries to create the realm again, and reports its error.
  }

  return {
    syntaxFaults,
    take: ({ unit, entry }: SandboxCall, call) => create(unit, entry, call),
    create,
    makeAhead() {},
    stopAhead() {},
    /** Calls that are waiting for a response keep the old context. */
    interrupted() {
      realm = null
    },
  }
}

/**
 * Whether a call that runs only this script needs no global object, because the script can neither use it nor replace
 * one of its properties.
 */
export function isAlone({ source, scope, realm }: SandboxScript, { builtIn, own, others }: GlobalNames): boolean {
  // With an escape sequence, a name may be spelled differently in the source.
  if (scope !== undefined || realm?.readsThis !== false || source.includes('\\u')) return false
  const words = new Set(source.split(/[^\w$]+/))
  if (['globalThis', ...others].some((name) => words.has(name))) return false
  const known = new Set([...builtIn, ...own])
  return ![...realm.globals, ...realm.lexicals].some((name) => known.has(name))
}

function factsOf(script: SandboxScript | undefined): string {
  const { scope, realm = { globals: [], lexicals: [] } } = script ?? {}
  const shown = scope === undefined ? null : { name: scope.name, shared: scope.shared, names: scope.names }
  return JSON.stringify({ ...realm, scope: shown })
}
