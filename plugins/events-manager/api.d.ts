/** The event types that the platform fires and those of the manifest's `eventTypes`. */
declare const EventType: { readonly [name: string]: string }

declare const EVENTS_AGGREGATION_TYPE: {
  /** The logical AND of what the listeners return (the default). */
  readonly RETURN_VALUE_BOOLEAN: 0
  /** All return values, in the order of the listeners. */
  readonly RETURN_VALUE_ARRAY: 1
}

interface JSEvent {
  readonly type: string
  /** The context: `forms.<name>` for form events, else what the event was fired with, or null. */
  readonly source: string | null
  /** The form that triggered a default form event, else null. */
  readonly formName: string | null
  /** The element that triggered it, else null. */
  readonly elementName: string | null
  /** The arguments. */
  readonly data: unknown[]
  /** The later listeners are skipped and do not count. */
  stopPropagation(): void
}

type EventListener = (event: JSEvent, ...args: any[]) => unknown

/** Listeners for built-in and custom events. They run in the order in which they were added. */
declare const eventsManager: {
  /** @returns a function that removes just this registration; true if it was still there */
  addEventListener(eventType: string, callback: EventListener, context?: string | object | null): () => boolean
  /** The logical AND of all return values; true without listeners. */
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
  /** null as context: any context. */
  hasEventListeners(eventType: string, context?: string | object | null): boolean
  /** null as callback or context: any. Works for custom event types; true if something was removed. */
  removeEventListener(eventType: string, callback?: EventListener | null, context?: string | object | null): boolean
}
