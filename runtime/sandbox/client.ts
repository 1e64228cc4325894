import type { CallClock } from '../call-clock.ts'
import type { Context, Reference } from './isolate.ts'

/** One client's persistent context, from its opening until it is closed. */
export type Client = {
  readonly id: number
  /** The id that the context uses in its requests. */
  readonly number: number
  /** The current call, also while it waits for an answer; the opening counts as one. */
  call: OpenCall | null
  /** The last call that succeeded: the guest assumes from then on that its commands were applied. 0: none. */
  counted: number
  closed: boolean
  loaded: LoadedClient | null
}

export type LoadedClient = {
  readonly context: Context
  readonly enter: Reference
  /** The entries that the context can find already. */
  readonly finders: Set<string>
}

/**
 * A call of a client, from its first step on. The clock stops while an answer is queued behind other clients' steps.
 */
export type OpenCall = {
  readonly id: number
  readonly limitName: string
  readonly clock: CallClock
  /** Answers that have arrived but have not been passed to the script yet. */
  answers: number
  /** The result that the guest reported while the step that produced it was still running. */
  result: string | null
}
