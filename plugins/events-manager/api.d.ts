/** The platform's built-in event types, and the custom ones in the manifest's `eventTypes`. */
declare const EventType: { readonly [name: string]: EventTypeName }

/** The name of an event type: a string such as "onShow". */
type EventTypeName = string & {
  /** The name of the event type. */
  getName(): string
}

/** How `fireEventListeners` combines the listeners' return values. */
declare const EVENTS_AGGREGATION_TYPE: {
  /** The logical AND of the return values (the default). */
  readonly RETURN_VALUE_BOOLEAN: 0
  /** All return values, in the order of the listeners. */
  readonly RETURN_VALUE_ARRAY: 1
}

/** The first argument of every handler and listener. */
interface JSEvent {
  /** The event type, such as "onShow". */
  readonly type: string
  /** The context: `forms.<name>` for form events; otherwise the context passed when the event was fired, or null. */
  readonly source: string | null
  /** For form events, the form that triggered the event; otherwise null. */
  readonly formName: string | null
  /** For form events, the element that triggered the event; otherwise null. */
  readonly elementName: string | null
  /** The arguments passed after the event. */
  readonly data: unknown[]
  /** Returns `type`. */
  getType(): string
  /** Returns `formName`. */
  getFormName(): string | null
  /** Returns `elementName`. */
  getElementName(): string | null
  /** Skips the remaining listeners; they don't affect the result. */
  stopPropagation(): void
}

/**
 * A function that is called for events. See `fireEventListeners` for the effect of its return value. A Promise is
 * treated as false.
 */
type EventListener = (event: JSEvent, ...args: any[]) => unknown

/** Manages listeners for built-in and custom events. Listeners run in the order in which they were added. */
declare const eventsManager: {
  /**
   * Calls `callback` for each event of the type, with the event and its arguments.
   * @param context a form, the global scope or any string, to get only events of that context; null for all events
   * @returns a function that removes only this registration, and returns true if it still existed
   * @throws TypeError if the event type does not exist
   */
  addEventListener(eventType: string, callback: EventListener, context?: string | object | null): () => boolean
  /**
   * Calls the listeners of a custom event type. Only the platform fires built-in types. The second argument is either
   * the context (null means any) or an array with the listeners' arguments. If a listener throws, its result is false
   * (undefined in an array), and the other listeners still run.
   * @returns the logical AND of all results, or true if there are no listeners; with `RETURN_VALUE_ARRAY`, an array of
   * all results
   * @throws TypeError for a built-in event type, or one that does not exist
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
  /** Whether a listener would be called. null as the context means any context. */
  hasEventListeners(eventType: string, context?: string | object | null): boolean
  /**
   * Removes listeners of a custom event type. For the callback and the context, null means any. To remove a listener of
   * a built-in type, call the function that `addEventListener` returned.
   * @returns whether a listener was removed; false without an event type
   */
  removeEventListener(
    eventType: string | null,
    callback?: EventListener | null,
    context?: string | object | null,
  ): boolean
}
