import type { RequestHandler } from './answer-request.ts'
import type { GuestLogLine, Outcome } from './outcome.ts'
import type { SandboxCall, SandboxSolution } from './protocol.ts'
import type { ServedCall } from './served-call.ts'

/** A solution version for the supervisor. `solution` is called only when a process has to load the version. */
export type Loadable = { readonly key: string; readonly solution: () => SandboxSolution }

export type CallHandlers = {
  readonly log: (line: GuestLogLine) => void
  readonly request: RequestHandler
  /**
   * Called when a process starts the call, and again if that process is lost and another process starts it. Must not
   * throw.
   */
  readonly began?: () => void
  /** Ends the call: its process is killed if it runs the call. */
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
  /** Whether the call is one of the limited number of running calls from suspect solutions. */
  hasTurn: boolean
}

/**
 * The call in one process. Its clock starts when the process reports the start or, if the call is not announced, when
 * it is sent. A call that is lost before it began can't have caused the process to be killed, so it is retried.
 */
export type Run = ServedCall & {
  readonly pending: PendingCall
  /**
   * Whether the process reports the start ("announced"). In an idle process, the first call starts immediately, so the
   * report is skipped. If that process is lost, for example because it had already exited, the call is retried and
   * announced.
   */
  readonly announced: boolean
}
