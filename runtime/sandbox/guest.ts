// Runs once, while the snapshot of the trusted part is created. It captures the built-ins and builds the bindings. Each
// context starts as a copy of the snapshot and receives its solution's data. After that, the sandbox process can call
// only one function in the context, which accepts and returns text. Nothing here looks up prototypes or globals later,
// so scripts can't interfere by changing them. In the hardened realm, the built-ins are captured once, and the bindings
// are built for each call.
import { createApi } from './api.guest.ts'
import { create, deleteProperty, freeze, ownKeys, parse, SafeRangeError, setPrototypeOf } from './builtins.guest.ts'
import { readCall } from './call-data.guest.ts'
import { createEnter } from './calls.guest.ts'
import { createCommands } from './commands.guest.ts'
import { createEncode } from './encode.guest.ts'
import { defineFrozen, defineReplaceable, removeGlobals, removeRegExpStatics } from './globals.guest.ts'
import type { GuestApi } from './guest-api.d.ts'
import { createLog } from './log.guest.ts'
import { createQuotas } from './quotas.guest.ts'
import { createScopes } from './scopes.guest.ts'
import { createThrown } from './thrown.guest.ts'
import type { CallText, ContextState, CreateBindings, Enter, FindEntry, Hooks, Host } from './types.guest.ts'
import { list, record } from './values.guest.ts'

type PluginGuest = {
  name: string
  under: 'plugins' | null
  constants: unknown
  build: (api: GuestApi, globals: object) => unknown
}

/**
 * @param sample a `CallText` with the same shape as in real calls
 * @param isClient whether each context persists for the calls of one client
 */
export default function bootstrap(
  limits: Record<string, number>,
  plugins: PluginGuest[],
  sample: string,
  isClient: boolean,
): CreateBindings {
  setPrototypeOf(limits, null)
  freeze(limits)
  const first = readCall(parse(sample) as CallText)
  removeRegExpStatics()

  return (globals, needs) => createBindings({ limits, plugins, first, isClient, globals, needs })
}

type Parts = {
  readonly limits: Record<string, number>
  readonly plugins: readonly PluginGuest[]
  readonly first: CallText
  readonly isClient: boolean
  readonly globals: object
  readonly needs: Parameters<CreateBindings>[1]
}

/** Builds the bindings of one context or, in the hardened realm, of one call, as properties of `globals`. */
function createBindings({ limits, plugins, first, isClient, globals, needs }: Parts): ReturnType<CreateBindings> {
  const state: ContextState = {
    host: () => null,
    findEntry: () => undefined,
    running: false,
    // Use the sample as the initial value. Otherwise, V8 would create the shapes of these objects again in each
    // context, which takes longer than parsing.
    message: first,
  }
  const hooks: Hooks = {
    loadStarts: list(),
    callStarts: list(),
    entries: record(),
    offers: create(null),
    beforeReturn: null,
    readResult: null,
    runScript: null,
  }
  const { quotaError, quotaOf, forgetQuotas } = createQuotas()
  const { readThrown, failedText } = createThrown(quotaOf)
  const { log, report, consoleOf, forgetLines } = createLog(state, limits, readThrown)
  const encodeArgs = createEncode(limits, quotaError)
  const { command, request, answer, forgetCommands, sentText } = createCommands(
    state,
    limits,
    isClient,
    quotaError,
    encodeArgs,
  )
  const { scopes, addScope } = createScopes(globals)
  const parts = {
    ...{ state, hooks, limits, isClient, globals, quotaError, quotaOf },
    ...{ log, report, command, request },
  }

  function forgetLastCall(): void {
    forgetCommands()
    forgetLines()
    forgetQuotas()
  }

  const enter = createEnter({
    ...{ state, hooks, limits, quotaError, failedText },
    ...{ sentText, forgetLastCall, answer, addScope },
  })

  /** Binds this context to a solution. Called once, before any of its scripts run. */
  function start(ask: Host, context: number, settingsText: string, finder?: FindEntry): Enter {
    if (finder !== undefined) state.findEntry = finder
    // If a function is assigned to a property directly, V8 allocates it as long-lived. It would then keep the context's
    // objects in memory until the next full garbage collection.
    const host: ContextState['host'] = (kind, text, key) => {
      let answered: string | null | false
      try {
        answered = ask(context, kind, text, key)
      } catch {
        // Drop this error. It occurs if the stack is exhausted when the call returns, and it gives access to the
        // surrounding process.
        answered = false
      }
      if (answered === false) throw new SafeRangeError('Maximum call stack size exceeded')
      return answered
    }
    state.host = host
    // In the hardened realm, a call has its own global object, which never contains these globals.
    if (globals === globalThis) removeGlobals()
    const settings = parse(settingsText) as Record<string, unknown>
    setPrototypeOf(settings, null)
    const { loadStarts } = hooks
    for (let index = 0; index < loadStarts.length; index++) {
      ;(loadStarts[index] as (settings: Record<string, unknown>) => void)(settings)
    }
    return enter
  }

  const underPlugins = {}
  deleteProperty(globals, 'console')
  if (needs?.console !== false) defineFrozen(globals, 'console', consoleOf())
  defineReplaceable(globals, 'globals', globals)
  defineReplaceable(globals, 'scopes', scopes)
  for (let index = 0; index < plugins.length; index++) {
    if (needs?.plugins[index] === false) continue
    const { name, under, constants, build } = plugins[index] as PluginGuest
    const path = under === null ? name : `${under}.${name}`
    const built = build(createApi({ name, path, constants }, parts), globals)
    if (built === undefined) continue
    if (under === null) defineFrozen(globals, name, built)
    else defineFrozen(underPlugins, name, built)
  }
  if (ownKeys(underPlugins).length > 0) defineFrozen(globals, 'plugins', underPlugins)
  return start
}
