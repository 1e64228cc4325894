import type { Outcome } from './outcome.ts'
import type { CallHandlers } from './pending-call.ts'
import type { SandboxCall } from './protocol.ts'

/** A call of a client that ended without being at fault, or before it began. What it commanded is lost. */
export type ClientGone = {
  readonly code: 'client_gone'
  readonly message: string
  /** Whether it had begun. */
  readonly started: boolean
  /** Whether it made a request that can change something: then it must not be made again. */
  readonly changedSomething: boolean
  readonly milliseconds: number
}

export type ClientOutcome = Outcome | ClientGone

/** An open client: one kept context, in which what scripts remember lasts from call to call. */
export interface SandboxClient {
  /**
   * Runs one entry function when the client's calls before it have ended. Never rejects. `sandbox_busy` when too many
   * wait already. A call that fails has no effect by commands, and the client goes on.
   */
  call(call: SandboxCall, handlers: CallHandlers): Promise<ClientOutcome>
  /** Forgets its context. Calls that run or wait end as `client_gone`. */
  close(): void
  /** Resolves when the client is no more: its process or isolate ended, or it was closed. */
  readonly gone: Promise<void>
}
