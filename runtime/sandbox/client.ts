import type { CallClock } from '../call-clock.ts'
import type { Context, Reference } from './isolate.ts'

/** One client's persistent context, from its opening until it is closed. */
export type Client = {
  readonly id: number
  /** The id that the context uses in its requests. */
  readonly number: number
  /** The current call, including while it waits for a response. Opening the client is treated as a call. */
  call: OpenCall | null
  /**
   * The number of the last call that succeeded; 0 if none has succeeded yet. The guest assumes that this call's
   * commands were applied.
   */
  counted: number
  closed: boolean
  loaded: LoadedClient | null
}

export type LoadedClient = {
  readonly context: Context
  readonly enter: Reference
  /** The entry functions that have already been found in the context. */
  readonly finders: Set<string>
}

/** A client's call, from its first step on. The clock stops while a response is queued behind other clients' steps. */
export type OpenCall = {
  readonly id: number
  readonly limitName: string
  readonly clock: CallClock
  /** Responses that have arrived but have not been passed to the script yet. */
  answers: number
  /** The result, if the guest reported it while the step was still running. */
  result: string | null
}
