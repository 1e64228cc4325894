import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

/** The settings are the solution's own event types, the constants are the built-in ones. */
export type Api = GuestApi<readonly string[], unknown, readonly string[]>

export type Callback = (event: JSEvent, ...args: unknown[]) => unknown

/** `receiver` is the form if the context is a form, otherwise undefined. A call without a receiver is much faster. */
export type Listener = {
  readonly callback: Callback
  readonly context: string | null
  readonly receiver: object | undefined
}

/** The list of listeners is replaced, never modified, so it stays the same while an event is being fired. */
export type EventType = { readonly name: string; readonly isBuiltIn: boolean; listeners: readonly Listener[] }

/** The arguments that a fired event passes to its listeners. `all` is null if there are at most three. */
export type Arguments = {
  readonly count: number
  readonly first: unknown
  readonly second: unknown
  readonly third: unknown
  readonly all: readonly unknown[] | null
}

export type Firing = { stopped: boolean; event: JSEvent }

export type JSEvent = {
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
