import type { RequestHandler } from './answer-request.ts'
import type { GuestLogLine, Outcome } from './outcome.ts'
import type { SandboxCall, SandboxSolution } from './protocol.ts'
import type { ServedCall } from './served-call.ts'

/** A solution version that processes can load. `solution` is called only when a process has to load it. */
export type Loadable = { readonly key: string; readonly solution: () => SandboxSolution }

export type CallHandlers = {
  readonly log: (line: GuestLogLine) => void
  readonly request: RequestHandler
  /**
   * Called when a process starts the call. If that process is lost, it is called again when another process starts the
   * call. Must not throw.
   */
  readonly began?: () => void
  /** Aborting it ends the call. If the call is running, its process is killed. */
  readonly signal?: AbortSignal
}

/** A login call until it is settled. Up to two processes may run it; the second one is a retry. */
export type PendingCall = {
  readonly id: number
  readonly version: Loadable
  readonly call: SandboxCall
  readonly handlers: CallHandlers
  readonly settle: (outcome: Outcome) => void
  readonly outcome: Promise<Outcome>
  /** Whether the call made a request that can change something; if so, it is never retried. */
  changedSomething: boolean
  replayed: boolean
  /** Whether the call occupies one of the limited slots for calls from suspect solutions. */
  hasTurn: boolean
}

/**
 * The call in one process. Its clock starts when the process reports the start. If the process doesn't report it, the
 * clock starts when the call is sent. If the process is killed before the call begins, the call can't be the cause, so
 * it is retried.
 */
export type Run = ServedCall & {
  readonly pending: PendingCall
  /**
   * Whether the process reports the start of the call, which is then "announced". The first call in an idle process
   * starts immediately, so it is not announced. If its process is lost, for example because it had already exited, the
   * call is retried, and the retry is announced.
   */
  readonly announced: boolean
}
