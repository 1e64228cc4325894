import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

type Settings = { readonly builtIn: readonly string[]; readonly custom: readonly string[] }
type Callback = (event: JSEvent, ...args: unknown[]) => unknown
type Listener = { readonly callback: Callback; readonly context: string | null }
type JSEvent = {
  readonly type: string
  readonly source: string | null
  readonly formName: string | null
  readonly data: unknown[]
  readonly stopPropagation: () => void
}

export default function eventsManager(api: GuestApi<Settings>) {
  const { safe, settings, limits } = api
  const aggregation = { __proto__: null, RETURN_VALUE_BOOLEAN: 0, RETURN_VALUE_ARRAY: 1 } as never as {
    RETURN_VALUE_BOOLEAN: 0
    RETURN_VALUE_ARRAY: 1
  }
  const kinds: Record<string, 'builtIn' | 'custom'> = { __proto__: null } as never
  const types: Record<string, string> = { __proto__: null } as never
  let known = ''
  for (let index = 0; index < settings.builtIn.length; index++) addType(settings.builtIn[index] as string, 'builtIn')
  for (let index = 0; index < settings.custom.length; index++) addType(settings.custom[index] as string, 'custom')

  /** By type. A list is never changed, only replaced: who fires keeps the one it started with. */
  const listeners: Record<string, readonly Listener[]> = { __proto__: null } as never
  const nobody = api.list<Listener>()
  let count = 0
  let depth = 0

  function addType(name: string, kind: 'builtIn' | 'custom'): void {
    kinds[name] = kind
    types[name] = name
    known += `${known === '' ? '' : ', '}${name}`
  }

  function readType(value: unknown): string {
    if (typeof value === 'string' && kinds[value] !== undefined) return value
    const given = typeof value === 'string' ? `"${safe.slice(value, 0, 100)}"` : safe.describe(value)
    throw new safe.TypeError(`unknown event type ${given}; known are: ${known}`)
  }

  function readCallback(value: unknown): Callback {
    if (typeof value === 'function') return value as Callback
    throw new safe.TypeError('the callback must be a function')
  }

  /** null: any context. A form is `forms.<name>`, the global scope `globals`, else the text itself. */
  function readContext(value: unknown): string | null {
    if (value === undefined || value === null) return null
    if (typeof value === 'string') return value
    if (value === globalThis) return 'globals'
    throw new safe.TypeError('the context must be a form, the global scope or a string')
  }

  function readArguments(value: unknown): unknown[] {
    const args = api.list<unknown>()
    if (value === undefined || value === null) return args
    if (!safe.isArray(value)) throw new safe.TypeError('the callback arguments must be an array')
    const most = limits.EVENT_ARGUMENTS as number
    const count = api.lengthOf(value)
    if (count > most) throw api.quotaError('EVENT_ARGUMENTS', most, count)
    for (let index = 0; index < count; index++) args[index] = value[index]
    return args
  }

  function readAggregation(value: unknown): 0 | 1 {
    if (value === undefined || value === null || value === aggregation.RETURN_VALUE_BOOLEAN) return 0
    if (value === aggregation.RETURN_VALUE_ARRAY) return 1
    throw new safe.TypeError('the aggregation must be a constant of EVENTS_AGGREGATION_TYPE')
  }

  function matches(listener: Listener, context: string | null): boolean {
    return listener.context === null || context === null || listener.context === context
  }

  function add(type: string, listener: Listener): () => boolean {
    const most = limits.LISTENERS as number
    if (count >= most) throw api.quotaError('LISTENERS', most, count + 1)
    const before = listeners[type] ?? nobody
    const after = api.list<Listener>()
    for (let index = 0; index < before.length; index++) after[index] = before[index] as Listener
    after[before.length] = listener
    listeners[type] = after
    count++
    return () => remove(type, (one) => one === listener)
  }

  function remove(type: string, isMeant: (listener: Listener) => boolean): boolean {
    const before = listeners[type] ?? nobody
    const after = api.list<Listener>()
    for (let index = 0; index < before.length; index++) {
      const one = before[index] as Listener
      if (!isMeant(one)) after[after.length] = one
    }
    listeners[type] = after
    count -= before.length - after.length
    return after.length < before.length
  }

  function fire(type: string, context: string | null, args: unknown[], wanted: 0 | 1): boolean | unknown[] {
    const most = limits.EVENT_DEPTH as number
    if (depth >= most) throw api.quotaError('EVENT_DEPTH', most, depth + 1)
    depth++
    try {
      return run(listeners[type] ?? nobody, type, context, args, wanted)
    } finally {
      depth--
    }
  }

  function run(
    round: readonly Listener[],
    type: string,
    context: string | null,
    args: unknown[],
    wanted: 0 | 1,
  ): boolean | unknown[] {
    const values: unknown[] = []
    let all = true
    let found = 0
    let stopped = false
    const stop = () => {
      stopped = true
    }
    const event = createEvent(type, context, args, stop)
    for (let index = 0; index < round.length && !stopped; index++) {
      const listener = round[index] as Listener
      if (!matches(listener, context)) continue
      const value = callListener(listener.callback, event, args, type)
      if (!value) all = false
      if (wanted === 1) values[found++] = value
    }
    return wanted === 1 ? values : all
  }

  function callArguments(event: JSEvent, args: unknown[]): unknown[] {
    const given = api.list<unknown>()
    given[0] = event
    for (let index = 0; index < args.length; index++) given[index + 1] = args[index]
    return given
  }

  /** A listener that throws or returns a Promise is reported and counts as undefined; the others run. */
  function callListener(callback: Callback, event: JSEvent, args: unknown[], type: string): unknown {
    try {
      const value = call(callback, event, args)
      if (typeof value !== 'object' || value === null || !safe.isPromise(value)) return value
      api.log('error', `a listener of ${type} returned a Promise; listeners must answer at once, so it counts as false`)
    } catch (error) {
      if (api.isQuotaError(error)) throw error
      api.report(error, `a listener of ${type} failed`)
    }
    return undefined
  }

  /** Plain calls are far faster than applying a list, and most events have few arguments. */
  function call(callback: Callback, event: JSEvent, args: unknown[]): unknown {
    switch (args.length) {
      case 0:
        return callback(event)
      case 1:
        return callback(event, args[0])
      case 2:
        return callback(event, args[0], args[1])
      case 3:
        return callback(event, args[0], args[1], args[2])
      default:
        return safe.apply(callback as never, undefined, callArguments(event, args))
    }
  }

  function createEvent(type: string, context: string | null, args: unknown[], stopPropagation: () => void): JSEvent {
    const data: unknown[] = []
    for (let index = 0; index < args.length; index++) data[index] = args[index]
    return { type, source: context, formName: null, data, stopPropagation }
  }

  api.defineGlobal('EventType', types)
  api.defineGlobal('EVENTS_AGGREGATION_TYPE', aggregation)

  return {
    addEventListener(eventType: unknown, callback: unknown, context?: unknown): () => boolean {
      const type = readType(eventType)
      return add(type, { callback: readCallback(callback), context: readContext(context) })
    },
    removeEventListener(eventType: unknown, callback?: unknown, context?: unknown): boolean {
      const type = readType(eventType)
      const only = callback === undefined || callback === null ? null : readCallback(callback)
      const where = readContext(context)
      // Listeners of built-in types go by their deregister function (guide 4.2).
      if (kinds[type] === 'builtIn') return false
      return remove(
        type,
        (one) => (only === null || one.callback === only) && (where === null || one.context === where),
      )
    },
    hasEventListeners(eventType: unknown, context?: unknown): boolean {
      const all = listeners[readType(eventType)] ?? nobody
      const where = readContext(context)
      for (let index = 0; index < all.length; index++) if (matches(all[index] as Listener, where)) return true
      return false
    },
    fireEventListeners(eventType: unknown, second?: unknown, third?: unknown, fourth?: unknown): boolean | unknown[] {
      const type = readType(eventType)
      if (kinds[type] === 'builtIn') throw new safe.TypeError(`${type} is fired by the platform, not by scripts`)
      // An array as second argument is the arguments; null there is the context.
      if (safe.isArray(second)) return fire(type, null, readArguments(second), 0)
      return fire(type, readContext(second), readArguments(third), readAggregation(fourth))
    },
  }
}
