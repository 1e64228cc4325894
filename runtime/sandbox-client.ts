import type { Outcome } from './outcome.ts'
import type { CallHandlers } from './pending-call.ts'
import type { SandboxCall } from './protocol.ts'

/**
 * A client's call that was lost before it began, or that was lost for a reason other than its own script. Its commands
 * are dropped.
 */
export type ClientGone = {
  readonly code: 'client_gone'
  readonly message: string
  /** Whether the call had begun. */
  readonly started: boolean
  /** Whether the call made a request that can change data. Such a call must not be retried. */
  readonly changedSomething: boolean
  readonly milliseconds: number
}

export type ClientOutcome = Outcome | ClientGone

/** An open client: one persistent context, in which scripts keep their state between calls. */
export interface SandboxClient {
  /**
   * Runs one entry function after the client's earlier calls have ended. Never rejects. Fails with `sandbox_busy` if
   * too many calls are queued. If a call fails, its commands are dropped and the client stays open.
   */
  call(call: SandboxCall, handlers: CallHandlers): Promise<ClientOutcome>
  /** Drops the client's context. Running and queued calls fail with `client_gone`. */
  close(): void
  /** Resolves when the client has ended because it was closed, or because its process or isolate ended. */
  readonly gone: Promise<void>
}
