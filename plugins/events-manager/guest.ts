import { createArguments } from './arguments.guest.ts'
import { createEvents } from './events.guest.ts'
import { createFiring } from './firing.guest.ts'
import { createListeners } from './listeners.guest.ts'
import type { Api, Callback, EventType, Listener } from './types.guest.ts'

export default function eventsManager(api: Api) {
  const { safe, constants: builtIn } = api
  const aggregation = { __proto__: null, RETURN_VALUE_BOOLEAN: 0, RETURN_VALUE_ARRAY: 1 } as const
  /** Event types by name. Created on first use, because most calls use none or few of them. */
  const eventTypes = api.record<EventType>()
  const constants = api.record<string>()
  const nobody = api.list<Listener>()
  const { readArguments, givenOf, dataOf } = createArguments(api)
  const { add, remove } = createListeners(api)
  const startEvent = createEvents(safe, dataOf)
  const fire = createFiring(api, startEvent, givenOf)

  // Chosen here: EventType's constants are strings, so they equal an event's `type` and the names in a manifest.
  safe.defineProperty(String.prototype, 'getName', {
    value: safe.freeze(function getName(this: unknown): string {
      return `${this as string}`
    }),
    writable: true,
    enumerable: false,
    configurable: true,
  })

  function addNames(names: readonly string[]): void {
    for (let index = 0; index < names.length; index++) constants[names[index] as string] = names[index] as string
  }

  function typeNamed(name: string): EventType | undefined {
    if (eventTypes[name] === undefined && constants[name] !== undefined) {
      eventTypes[name] = { name, isBuiltIn: isBuiltIn(name), listeners: nobody }
    }
    return eventTypes[name]
  }

  function isBuiltIn(name: string): boolean {
    for (let index = 0; index < builtIn.length; index++) if (builtIn[index] === name) return true
    return false
  }

  function readType(value: unknown): EventType {
    const found = typeof value === 'string' ? typeNamed(value) : undefined
    if (found !== undefined) return found
    const given = typeof value === 'string' ? `"${safe.slice(value, 0, 100)}"` : safe.describe(value)
    throw new safe.TypeError(`unknown event type ${given}; the event types are: ${knownTypes()}`)
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

  /**
   * null matches any context. A form becomes `forms.<name>`, the global scope becomes `globals`, and any other string
   * is used unchanged.
   */
  function readContext(value: unknown): string | null {
    if (value === undefined || value === null) return null
    if (typeof value === 'string') return value
    if (value === globalThis) return 'globals'
    const form = api.offered('formName')?.(value) ?? null
    if (form !== null) return `forms.${form}`
    throw new safe.TypeError('the context must be a form, the global scope or a string')
  }

  function readAggregation(value: unknown): 0 | 1 {
    if (value === undefined || value === null || value === aggregation.RETURN_VALUE_BOOLEAN) return 0
    if (value === aggregation.RETURN_VALUE_ARRAY) return 1
    throw new safe.TypeError('the aggregation must be a constant of EVENTS_AGGREGATION_TYPE')
  }

  function matches(listener: Listener, context: string | null): boolean {
    return listener.context === null || context === null || listener.context === context
  }

  /** The form's function gets the same event as the listeners, so it can stop propagation to them. */
  api.offer('defaultEvent', (name, form, element, given) => {
    const type = typeNamed(name) as EventType
    const args = readArguments(api.safe.toArray(given as unknown[]))
    const firing = startEvent(name, `forms.${form}`, args, form, element)
    return { event: firing.event, fire: () => fire(type, `forms.${form}`, args, 0, firing) === true }
  })

  api.offer('hasListeners', (name) => (eventTypes[name]?.listeners.length ?? 0) > 0)

  addNames(builtIn)
  api.onLoad((custom) => {
    addNames(custom)
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
      // Without an event type, nothing is removed.
      if (eventType === undefined || eventType === null) return false
      const type = readType(eventType)
      const only = callback === undefined || callback === null ? null : readCallback(callback)
      const where = readContext(context)
      // Listeners of built-in types can only be removed with the function that was returned when they were added.
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
      if (type.isBuiltIn) throw new safe.TypeError(`scripts cannot fire ${type.name}: only the platform fires it`)
      // If the second argument is an array, it contains the arguments and the context is null.
      if (safe.isArray(second)) return fire(type, null, readArguments(second), 0)
      return fire(type, readContext(second), readArguments(third), readAggregation(fourth))
    },
  }
}
