/** The event types that the platform fires and those of the manifest's `eventTypes`. */
declare const EventType: { readonly [name: string]: EventTypeName }

/** The name of an event type, such as "onShow": a text. */
type EventTypeName = string & {
  /** The name itself. */
  getName(): string
}

/** What `fireEventListeners` gives back of what the listeners return. */
declare const EVENTS_AGGREGATION_TYPE: {
  /** The logical AND of what the listeners return (the default). */
  readonly RETURN_VALUE_BOOLEAN: 0
  /** All return values, in the order of the listeners. */
  readonly RETURN_VALUE_ARRAY: 1
}

/** The first argument of every handler and listener. */
interface JSEvent {
  /** The event type, such as "onShow". */
  readonly type: string
  /** The context: `forms.<name>` for form events, else what the event was fired with, or null. */
  readonly source: string | null
  /** The form that triggered a default form event, else null. */
  readonly formName: string | null
  /** The element that triggered it, else null. */
  readonly elementName: string | null
  /** The arguments that come after the event. */
  readonly data: unknown[]
  /** As `type`. */
  getType(): string
  /** As `formName`. */
  getFormName(): string | null
  /** As `elementName`. */
  getElementName(): string | null
  /** The later listeners are skipped and do not count. */
  stopPropagation(): void
}

/** What it returns counts: see `fireEventListeners`. A Promise counts as false. */
type EventListener = (event: JSEvent, ...args: any[]) => unknown

/** Listeners for built-in and custom events. They run in the order in which they were added. */
declare const eventsManager: {
  /**
   * Calls `callback` for each event of the type, with the event and its arguments.
   * @param context a form, the global scope or any text: then only for events of that context; null: for all
   * @returns a function that removes just this registration; true if it was still there
   * @throws TypeError for an event type that is not there
   */
  addEventListener(eventType: string, callback: EventListener, context?: string | object | null): () => boolean
  /**
   * Calls the listeners of a custom event type; those of built-in types are fired by the platform alone. An array as second
   * argument is the arguments, null there is the context (any). A listener that throws counts as false (in an array as
   * undefined), and the others run all the same.
   * @returns the logical AND of all return values, true without listeners; or, with `RETURN_VALUE_ARRAY`, all of them
   * @throws TypeError for a built-in event type, or one that is not there
   */
  fireEventListeners(eventType: string): boolean
  fireEventListeners(eventType: string, callbackArguments: unknown[]): boolean
  fireEventListeners(eventType: string, context: string | object | null, callbackArguments?: unknown[] | null): boolean
  fireEventListeners(
    eventType: string,
    context: string | object | null,
    callbackArguments: unknown[] | null,
    returnValueAggregationType: 0,
  ): boolean
  fireEventListeners(
    eventType: string,
    context: string | object | null,
    callbackArguments: unknown[] | null,
    returnValueAggregationType: 1,
  ): unknown[]
  /** Whether a listener would be called. null as context: any context. */
  hasEventListeners(eventType: string, context?: string | object | null): boolean
  /**
   * Removes listeners of a custom event type; null as callback or context: any. Those of built-in types go by the function
   * that `addEventListener` returned.
   * @returns whether something was removed; false without an event type
   */
  removeEventListener(
    eventType: string | null,
    callback?: EventListener | null,
    context?: string | object | null,
  ): boolean
}
