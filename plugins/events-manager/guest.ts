import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

type Settings = { readonly builtIn: readonly string[]; readonly custom: readonly string[] }
type Callback = (event: JSEvent, ...args: unknown[]) => unknown
/** `receiver`: the form used as context; calling without a receiver is much faster. */
type Listener = { readonly callback: Callback; readonly context: string | null; readonly receiver: object | undefined }
/** Lists are replaced, never modified, so an event that is being fired keeps its list. */
type EventType = { readonly name: string; readonly isBuiltIn: boolean; listeners: readonly Listener[] }
/** What a fired event passes to its listeners. `all`: null if there are at most three arguments. */
type Arguments = {
  readonly count: number
  readonly first: unknown
  readonly second: unknown
  readonly third: unknown
  readonly all: readonly unknown[] | null
}
type Firing = { stopped: boolean; event: JSEvent }
type JSEvent = {
  readonly type: string
  readonly source: string | null
  readonly formName: string | null
  readonly elementName: string | null
  readonly data: unknown[]
  readonly stopPropagation: () => void
  getType(): string
  getFormName(): string | null
  getElementName(): string | null
}

const NO_ARGUMENTS: Arguments = { count: 0, first: undefined, second: undefined, third: undefined, all: null }

export default function eventsManager(api: GuestApi<Settings>) {
  const { safe, limits } = api
  const aggregation = { __proto__: null, RETURN_VALUE_BOOLEAN: 0, RETURN_VALUE_ARRAY: 1 } as const
  /** Event types by name. */
  const eventTypes = api.record<EventType>()
  const constants = api.record<string>()
  const nobody = api.list<Listener>()
  let listenerCount = 0
  let depth = 0

  /** Most events have few listeners, so the methods are on the prototype, not created per event. */
  class FiredEvent implements JSEvent {
    declare readonly type: string
    declare readonly source: string | null
    declare readonly formName: string | null
    declare readonly elementName: string | null
    declare readonly data: unknown[]
    declare readonly stopPropagation: () => void
    constructor(
      type: string,
      source: string | null,
      formName: string | null,
      elementName: string | null,
      data: unknown[],
      stopPropagation: () => void,
    ) {
      this.type = type
      this.source = source
      this.formName = formName
      this.elementName = elementName
      this.data = data
      this.stopPropagation = stopPropagation
    }
    getType(): string {
      return this.type
    }
    getFormName(): string | null {
      return this.formName
    }
    getElementName(): string | null {
      return this.elementName
    }
  }
  safe.freeze(FiredEvent.prototype)
  safe.freeze(FiredEvent)
  // Chosen here: constants of EventType are strings, so that they equal an event's `type` and the names in a manifest.
  safe.defineProperty(String.prototype, 'getName', {
    value: safe.freeze(function getName(this: unknown): string {
      return `${this as string}`
    }),
    writable: true,
    enumerable: false,
    configurable: true,
  })

  function addType(name: string, isBuiltIn: boolean): void {
    eventTypes[name] = { name, isBuiltIn, listeners: nobody }
    constants[name] = name
  }

  function readType(value: unknown): EventType {
    const found = typeof value === 'string' ? eventTypes[value] : undefined
    if (found !== undefined) return found
    const given = typeof value === 'string' ? `"${safe.slice(value, 0, 100)}"` : safe.describe(value)
    throw new safe.TypeError(`unknown event type ${given}; known are: ${knownTypes()}`)
  }

  function knownTypes(): string {
    const names = safe.keys(constants)
    let text = ''
    for (let index = 0; index < names.length; index++) text += `${index === 0 ? '' : ', '}${names[index]}`
    return text
  }

  function readCallback(value: unknown): Callback {
    if (typeof value === 'function') return value as Callback
    throw new safe.TypeError('the callback must be a function')
  }

  /** null: any context. A form is `forms.<name>`, the global scope is `globals`, otherwise the text itself. */
  function readContext(value: unknown): string | null {
    if (value === undefined || value === null) return null
    if (typeof value === 'string') return value
    if (value === globalThis) return 'globals'
    const form = api.offered('formName')?.(value) ?? null
    if (form !== null) return `forms.${form}`
    throw new safe.TypeError('the context must be a form, the global scope or a string')
  }

  /** The first three are separate properties: most events have no more, and a plain call is much faster than a list. */
  function readArguments(value: unknown): Arguments {
    if (value === undefined || value === null) return NO_ARGUMENTS
    if (!safe.isArray(value)) throw new safe.TypeError('the callback arguments must be an array')
    const most = limits.EVENT_ARGUMENTS as number
    const count = api.lengthOf(value)
    if (count > most) throw api.quotaError('EVENT_ARGUMENTS', most, count)
    if (count <= 3) {
      const first = count > 0 ? value[0] : undefined
      const second = count > 1 ? value[1] : undefined
      return { count, first, second, third: count > 2 ? value[2] : undefined, all: null }
    }
    const all = api.list<unknown>()
    for (let index = 0; index < count; index++) all[index] = value[index]
    return { count, first: undefined, second: undefined, third: undefined, all }
  }

  function readAggregation(value: unknown): 0 | 1 {
    if (value === undefined || value === null || value === aggregation.RETURN_VALUE_BOOLEAN) return 0
    if (value === aggregation.RETURN_VALUE_ARRAY) return 1
    throw new safe.TypeError('the aggregation must be a constant of EVENTS_AGGREGATION_TYPE')
  }

  function matches(listener: Listener, context: string | null): boolean {
    return listener.context === null || context === null || listener.context === context
  }

  function add(type: EventType, listener: Listener): () => boolean {
    const most = limits.LISTENERS as number
    if (listenerCount >= most) throw api.quotaError('LISTENERS', most, listenerCount + 1)
    const before = type.listeners
    const after = api.list<Listener>()
    for (let index = 0; index < before.length; index++) after[index] = before[index] as Listener
    after[before.length] = listener
    type.listeners = after
    listenerCount++
    return () => remove(type, (one) => one === listener)
  }

  function remove(type: EventType, isMeant: (listener: Listener) => boolean): boolean {
    const before = type.listeners
    const after = api.list<Listener>()
    for (let index = 0; index < before.length; index++) {
      const one = before[index] as Listener
      if (!isMeant(one)) after[after.length] = one
    }
    type.listeners = after
    listenerCount -= before.length - after.length
    return after.length < before.length
  }

  function fire(
    type: EventType,
    context: string | null,
    args: Arguments,
    wanted: 0 | 1,
    firing: Firing = createFiring(type.name, context, args, null, null),
  ): boolean | unknown[] {
    const most = limits.EVENT_DEPTH as number
    if (depth >= most) throw api.quotaError('EVENT_DEPTH', most, depth + 1)
    depth++
    try {
      return run(type, context, args, wanted, firing)
    } finally {
      depth--
    }
  }

  function run(
    type: EventType,
    context: string | null,
    args: Arguments,
    wanted: 0 | 1,
    firing: Firing,
  ): boolean | unknown[] {
    const round = type.listeners
    const { count, first } = args
    const values: unknown[] = []
    let all = true
    let found = 0
    const { event } = firing
    for (let index = 0; index < round.length && !firing.stopped; index++) {
      const { callback, context: where, receiver } = round[index] as Listener
      if (where !== null && context !== null && where !== context) continue
      let value: unknown
      try {
        if (receiver !== undefined) value = safe.apply(callback, receiver, givenOf(event, args))
        else if (count === 1) value = callback(event, first)
        else if (count === 0) value = callback(event)
        else value = callWithMany(callback, event, args)
        if (value === true && wanted === 0) continue
        if (typeof value === 'object' && value !== null && safe.isPromise(value)) value = refusePromise(type)
      } catch (error) {
        value = reportFailure(error, type)
      }
      if (!value) all = false
      if (wanted === 1) values[found++] = value
    }
    return wanted === 1 ? values : all
  }

  /** @returns undefined, the listener's result */
  function refusePromise({ name }: EventType): undefined {
    api.log('error', `a listener of ${name} returned a Promise; listeners must answer at once, so it counts as false`)
    return undefined
  }

  /** The other listeners still run. @returns undefined, the listener's result */
  function reportFailure(error: unknown, { name }: EventType): undefined {
    if (api.isQuotaError(error)) throw error
    api.report(error, `a listener of ${name} failed`)
    return undefined
  }

  function callWithMany(callback: Callback, event: JSEvent, args: Arguments): unknown {
    const { count, first, second, third } = args
    if (count === 2) return callback(event, first, second)
    if (count === 3) return callback(event, first, second, third)
    return safe.apply(callback, undefined, givenOf(event, args))
  }

  function givenOf(event: JSEvent, { count, first, second, third, all }: Arguments): unknown[] {
    const given = api.list<unknown>()
    given[0] = event
    if (all !== null) for (let index = 0; index < count; index++) given[index + 1] = all[index]
    else {
      if (count > 0) given[1] = first
      if (count > 1) given[2] = second
      if (count > 2) given[3] = third
    }
    return given
  }

  /** A copy of the arguments, so that a listener cannot change those of the next one. */
  function dataOf({ count, first, second, third, all }: Arguments): unknown[] {
    if (count === 0) return []
    if (count === 1) return [first]
    if (count === 2) return [first, second]
    if (count === 3) return [first, second, third]
    const data: unknown[] = []
    for (let index = 0; index < count; index++) data[index] = (all as unknown[])[index]
    return data
  }

  function createFiring(
    type: string,
    source: string | null,
    args: Arguments,
    formName: string | null,
    elementName: string | null,
  ): Firing {
    const stopPropagation = (): void => {
      firing.stopped = true
    }
    const event = new FiredEvent(type, source, formName, elementName, dataOf(args), stopPropagation)
    const firing: Firing = { stopped: false, event }
    return firing
  }

  /** The form's function gets the same event as the listeners, so it can stop propagation to them. */
  api.offer('defaultEvent', (name, form, element, given) => {
    const type = eventTypes[name] as EventType
    const args = readArguments(api.safe.toArray(given as unknown[]))
    const firing = createFiring(name, `forms.${form}`, args, form, element)
    return { event: firing.event, fire: () => fire(type, `forms.${form}`, args, 0, firing) === true }
  })

  // A terminated call does not run `finally`.
  api.onCall(() => {
    depth = 0
  })

  api.offer('hasListeners', (name) => (eventTypes[name]?.listeners.length ?? 0) > 0)

  api.onLoad(({ builtIn, custom }) => {
    for (let index = 0; index < builtIn.length; index++) addType(builtIn[index] as string, true)
    for (let index = 0; index < custom.length; index++) addType(custom[index] as string, false)
    api.defineGlobal('EventType', constants)
  })
  api.defineGlobal('EVENTS_AGGREGATION_TYPE', aggregation)

  return {
    addEventListener(eventType: unknown, callback: unknown, context?: unknown): () => boolean {
      const type = readType(eventType)
      const where = readContext(context)
      const isForm = typeof context === 'object' && context !== null && context !== globalThis
      return add(type, { callback: readCallback(callback), context: where, receiver: isForm ? context : undefined })
    },
    removeEventListener(eventType: unknown, callback?: unknown, context?: unknown): boolean {
      // An unset event type: guide 7.3 returns false if nothing was removed.
      if (eventType === undefined || eventType === null) return false
      const type = readType(eventType)
      const only = callback === undefined || callback === null ? null : readCallback(callback)
      const where = readContext(context)
      // Listeners of built-in types can only be removed by their deregister function (guide 4.2).
      if (type.isBuiltIn) return false
      return remove(
        type,
        (one) => (only === null || one.callback === only) && (where === null || one.context === where),
      )
    },
    hasEventListeners(eventType: unknown, context?: unknown): boolean {
      const all = readType(eventType).listeners
      const where = readContext(context)
      for (let index = 0; index < all.length; index++) if (matches(all[index] as Listener, where)) return true
      return false
    },
    fireEventListeners(eventType: unknown, second?: unknown, third?: unknown, fourth?: unknown): boolean | unknown[] {
      const type = readType(eventType)
      if (type.isBuiltIn) throw new safe.TypeError(`${type.name} is fired by the platform, not by scripts`)
      // If the second argument is an array, it contains the arguments and the context is null.
      if (safe.isArray(second)) return fire(type, null, readArguments(second), 0)
      return fire(type, readContext(second), readArguments(third), readAggregation(fourth))
    },
  }
}
