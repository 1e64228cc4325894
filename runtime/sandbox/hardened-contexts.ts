import type { SandboxCall, SandboxScript, SandboxSolution, Unit } from '../protocol.ts'
import { describeFault, type LoadFault, reportedFault } from './call-end.ts'
import { createFromGuest, randomDigits } from './guest-questions.ts'
import {
  type Callback,
  callbackOf,
  compileInRealm,
  type HardenedIsolate,
  type Loading,
  type Reference,
  type Script,
  TRUSTED,
} from './isolate.ts'
import type { LoadFaults } from './load-faults.ts'
import type { CallContexts, LoadedCall, LoginListener } from './login-contexts.ts'

/** One context with frozen built-in objects. Its `drive` function starts, continues and ends calls; see realm.guest.ts. */
type Realm = { readonly drive: Reference }

/**
 * The calls of a solution with the hardened realm. They share one context, and each has its own global object, bindings
 * and run of the scripts' top-level code.
 */
export function createHardenedContexts(
  { isolate, limits, source }: HardenedIsolate,
  solution: SandboxSolution,
  faults: LoadFaults,
  listener: LoginListener,
): CallContexts {
  const files = new Set(solution.scripts.map((script) => script.file))
  const settings = JSON.stringify(solution.settings)
  /**
   * The running calls, by the id that the trusted part passes with each message. `call` is the call in the host that
   * gets the message.
   */
  const running = new Map<number, { readonly call: number }>()
  const ask: Callback = callbackOf(
    createFromGuest<{ readonly call: number }>({
      files,
      tables: solution.tables,
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

  /** Node.js loads its random numbers on first use, which fails if a script has exhausted the stack. */
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
    const names = JSON.parse(drive.applySync(undefined, ['names', 0, settings], { timeout }) as string) as string[]
    scripts ??= solution.scripts.map((script) => compiled(script, names))
    for (const [index, script] of scripts.entries()) {
      if (script === null) continue
      const run = script.runSync(context, { reference: true, timeout }) as Reference
      drive.applySync(undefined, ['script', index, factsOf(solution.scripts[index]), run.derefInto({ release: true })])
    }
    return { drive }
  }

  function compiled(script: SandboxScript, names: readonly string[]): Script | null {
    try {
      // Each call creates the constants again, so pass only those that the script may use.
      const used = names.filter((name) => script.source.includes(name))
      return compileInRealm(isolate, script, used, secret)
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
    const end = performance.now() + (limits.LOAD_TIME as number)
    const left = () => Math.max(1, Math.ceil(end - performance.now()))
    drive.applySync(undefined, ['open', id, settings], { timeout: left() })
    for (const index of solution.units[unit] ?? []) {
      const { file = '' } = solution.scripts[index] ?? {}
      loading?.(file)
      const failed = runScript(drive, id, index, file, left(), () => performance.now() >= end)
      if (failed === null) continue
      loaded.giveBack()
      throw failed
    }
    return loaded
  }

  function runScript(
    drive: Reference,
    id: number,
    index: number,
    file: string,
    timeout: number,
    isOver: () => boolean,
  ): LoadFault | null {
    try {
      const failed = drive.applySync(undefined, ['run', id, `${index}`], { timeout }) as string
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
    // Each call tries to create the realm again, and reports the error.
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

function factsOf(script: SandboxScript | undefined): string {
  const { scope, realm = { globals: [], lexicals: [] } } = script ?? {}
  const shown = scope === undefined ? null : { name: scope.name, shared: scope.shared, names: scope.names }
  return JSON.stringify({ ...realm, scope: shown })
}
