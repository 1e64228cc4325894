import type { RequestHandler } from './answer-request.ts'
import type { GuestLogLine, Outcome } from './outcome.ts'
import type { SandboxCall, SandboxSolution } from './protocol.ts'
import type { ServedCall } from './served-call.ts'

/** A solution version as the supervisor needs it: `solution` is asked for only when a process has to load it. */
export type Loadable = { readonly key: string; readonly solution: () => SandboxSolution }

export type CallHandlers = {
  readonly log: (line: GuestLogLine) => void
  readonly request: RequestHandler
  /** Told when a process begins with the call; again when another one does, since the first was lost. Must not throw. */
  readonly began?: () => void
}

/** A call of a login, until it is settled: it may be run by two processes. */
export type PendingCall = {
  readonly id: number
  readonly version: Loadable
  readonly call: SandboxCall
  readonly handlers: CallHandlers
  readonly settle: (outcome: Outcome) => void
  readonly outcome: Promise<Outcome>
  /** Whether it made a request that can change something: then it is never run again. */
  changedSomething: boolean
  replayed: boolean
  /** Whether it was let in as one of the calls of suspects that may run at once. */
  hasTurn: boolean
}

/**
 * The call in one process. Its clock begins when the process says that it began, or for one that is not announced when it was
 * sent. A call that is lost before it began cannot be what its process died of and runs again.
 */
export type Run = ServedCall & {
  readonly pending: PendingCall
  /**
   * Whether the process says when it begins. The first call of an idle process begins at once, so it is not said; should
   * the process be lost, such as one that had died already, the call runs again, announced.
   */
  readonly announced: boolean
}
