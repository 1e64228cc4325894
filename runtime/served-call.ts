import { answerRequest, type RequestHandler } from './answer-request.ts'
import { type CallClock, createCallClock } from './call-clock.ts'
import { type CallCounts, createCallCounts } from './call-counts.ts'
import type { Limits } from './limits.ts'
import type { Failed, GuestLogLine, Outcome } from './outcome.ts'
import type { FromSandbox, SandboxCall, SandboxOutcome } from './protocol.ts'
import type { SandboxProcess } from './sandbox-process.ts'

/**
 * A call that is running in a sandbox process. Tracks its elapsed time on the host's clock, and counts its log lines
 * and requests, which the host limits.
 */
export type ServedCall = {
  readonly limit: 'LOAD_TIME' | SandboxCall['timeLimit']
  readonly clock: CallClock
  readonly counts: CallCounts
  /** See `answerRequest`. */
  readonly mostUnread: number
}

export type LogHandler = { readonly log: (line: GuestLogLine) => void }

/**
 * The delay in ms between a sandbox process's own time limit and the host's deadline. If the process fails to enforce
 * its limit, the host kills it at the deadline.
 */
export const DEADLINE_GRACE = 250

export function servedCall(limit: ServedCall['limit'], limits: Limits): ServedCall {
  return {
    limit,
    clock: createCallClock(limits[limit]),
    counts: createCallCounts(limits),
    mostUnread: limits.ISOLATE_MEMORY,
  }
}

/** Logs a line. An error in writing the line must not terminate the host. */
export function takeLine({ counts }: ServedCall, line: GuestLogLine, handlers: LogHandler): void {
  try {
    if (counts.logLine()) handlers.log(line)
  } catch {
    // Ignore the error: the line is lost, but the call continues.
  }
}

/**
 * @param changes see `answerRequest`
 * @returns the call's failure if it has made too many requests; null if the request is being handled
 */
export function takeRequest(
  { counts, clock, mostUnread }: ServedCall,
  process: SandboxProcess,
  message: Extract<FromSandbox, { kind: 'request' }>,
  handler: RequestHandler,
  changes: () => void,
): Failed | null {
  const failure = counts.request(clock.elapsed())
  if (failure === null) void answerRequest(process, message, handler, changes, mostUnread)
  return failure
}

export function timedOut({ limit, clock }: ServedCall): Failed {
  const { allowed } = clock
  const used = clock.elapsed()
  const message = `the call took longer than ${allowed} ms, so the host terminated its process`
  return { code: 'script_timeout', message, limit: { name: limit, allowed, used }, milliseconds: used }
}

/**
 * Returns the running call that began last. If several calls are running, the host assumes that this one is
 * responsible.
 */
export function latestStarted<C extends ServedCall>(calls: Iterable<C>): C | null {
  let latest: C | null = null
  for (const call of calls) {
    const startedAt = call.clock.startedAt()
    if (startedAt !== null && startedAt >= (latest?.clock.startedAt() ?? 0)) latest = call
  }
  return latest
}

export function outcomeOf(outcome: SandboxOutcome): Outcome {
  if (!outcome.ok) {
    const { code, message, position, limit, milliseconds } = outcome
    return { code, message, ...(position ? { position } : {}), ...(limit ? { limit } : {}), milliseconds }
  }
  const { result, odd, commands, unanswered = [], milliseconds } = outcome
  const oddResult = odd === undefined ? {} : { oddResult: odd }
  return { code: 'returned', result, ...oddResult, commands, unanswered, milliseconds }
}
