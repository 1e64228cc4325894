import type { CallClock } from '../call-clock.ts'
import type { Context, Reference } from './isolate.ts'

/** One client's kept context, from its opening to its close. */
export type Client = {
  readonly id: number
  /** What the context calls itself when it asks. */
  readonly number: number
  /** The call that it serves, also while it waits for an answer; the opening is one. */
  call: OpenCall | null
  /** The last call that returned well: the guest counts on what it commanded from then on. 0: none. */
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

/** A call of a client, from its first step on. Its time runs but while an answer waits behind the steps of others. */
export type OpenCall = {
  readonly id: number
  readonly limitName: string
  readonly clock: CallClock
  /** Answers that have come and not been given to the script yet. */
  answers: number
  /** What the guest told as its end while the step in which it did so still ran. */
  told: string | null
}
