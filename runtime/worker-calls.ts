import type { Limits } from './limits.ts'
import type { Failed } from './outcome.ts'
import type { PendingCall, Run } from './pending-call.ts'
import type { ProcessEnd } from './process-end.ts'
import type { FromSandbox, SandboxOutcome } from './protocol.ts'
import type { SandboxProcess } from './sandbox-process.ts'
import { DEADLINE_GRACE, latestStarted, outcomeOf, servedCall, takeLine, takeRequest, timedOut } from './served-call.ts'

/** How long a call may be queued before it starts, in ms. */
const QUEUE_TIME = 10_000

export type WorkerCallsEvents = {
  /** Called when the process reports that a call has started. The process reports this only for announced calls. */
  readonly started: () => void
  /** Called before the call is settled, unless the process was killed because of the call. */
  readonly ended: (pending: PendingCall, returnedWell: boolean) => void
}

/** Tracks the calls that a process serves. Several calls can be open at the same time. */
export function createWorkerCalls(
  process: SandboxProcess,
  limits: Limits,
  end: ProcessEnd<PendingCall>,
  events: WorkerCallsEvents,
) {
  const runs = new Map<number, Run>()
  /** Calls that failed because they were queued for too long. The process may still start them. */
  const givenUp = new WeakSet<PendingCall>()

  function answer(run: Run, message: Extract<FromSandbox, { kind: 'request' }>): void {
    const { pending } = run
    const failure = takeRequest(run, process, message, pending.handlers.request, () => {
      pending.changedSomething = true
    })
    if (failure !== null) end.killFor(pending, failure)
  }

  function started(run: Run): void {
    // A compromised process may report this repeatedly, so the deadline doesn't change.
    if (run.clock.startedAt() !== null) return
    events.started()
    begin(run)
  }

  function begin(run: Run): void {
    const { pending, clock } = run
    clock.begin()
    pending.handlers.began?.()
    if (process.debug !== null) return
    clock.alarm(limits.LOAD_TIME + clock.allowed + DEADLINE_GRACE, () => end.killFor(pending, timedOut(run)))
  }

  /** Calls run sequentially inside a sandbox process, so the one that started last is the one that is running. */
  function running(): Run | null {
    return latestStarted(runs.values())
  }

  function ended(run: Run, outcome: SandboxOutcome): void {
    // Don't use the isolate again. After it runs out of memory, it is unusable. After an interrupted call, microtasks
    // left in its queue would run inside the next call.
    if (!outcome.ok && (outcome.code === 'script_memory' || outcome.cutOff)) {
      end.killFor(run.pending, outcomeOf(outcome) as Failed)
      return
    }
    run.clock.stop()
    runs.delete(run.pending.id)
    events.ended(run.pending, outcome.ok)
    run.pending.settle(outcomeOf(outcome))
  }

  /**
   * Gives up on a call that has not started because the process is busy with other calls. The other calls have
   * deadlines. This call also gets one if it starts before the process reads the `cancel`.
   */
  function giveUpWaiting(pending: PendingCall): void {
    givenUp.add(pending)
    pending.settle(waitedTooLong())
    // No call with a deadline is running, but this call still hasn't started, so the process hangs.
    if (running() === null) end.kill('error')
    else process.send({ kind: 'cancel', id: pending.id })
  }

  return {
    count: () => runs.size,
    has: (pending: PendingCall) => runs.has(pending.id),
    running,
    receive(message: FromSandbox & { readonly id: number }): void {
      const run = runs.get(message.id)
      if (run === undefined) return
      if (message.kind === 'started') started(run)
      else if (message.kind === 'log') takeLine(run, message, run.pending.handlers)
      else if (message.kind === 'request') answer(run, message)
      else if (message.kind === 'ended') ended(run, message.outcome)
      // Only a debugged process sends this message, because it times its calls itself.
      else if (message.kind === 'hung') end.killFor(run.pending, timedOut(run))
    },
    run(pending: PendingCall, isSuspect: boolean): void {
      const announced = isSuspect || pending.replayed || runs.size > 0
      const run = { ...servedCall(pending.call.timeLimit, limits), pending, announced }
      runs.set(pending.id, run)
      if (!announced) begin(run)
      // While scripts are being debugged, a call may be queued behind a call that is paused in the debugger.
      else if (process.debug === null) run.clock.alarm(QUEUE_TIME, () => giveUpWaiting(pending))
      process.sendSoon({ kind: 'call', id: pending.id, call: pending.call, announce: announced })
    },
    /**
     * Handles the end of the process.
     * @param byOthers whether something other than the host killed the process, such as the kernel when memory runs out
     * @returns the calls that were lost with the process and have no result yet
     */
    lose(byOthers: boolean): PendingCall[] {
      const open = [...runs.values()]
      runs.clear()
      for (const { clock } of open) clock.stop()
      const lost = open.filter(({ pending }) => !givenUp.has(pending))
      const begun = lost.filter(({ clock }) => clock.startedAt() !== null)
      const [only] = begun
      if (end.killed() === null && only !== undefined && begun.length === 1 && isCulprit(only, byOthers)) {
        end.crashedThrough(only.pending)
      }
      return lost.map(({ pending }) => pending)
    },
  }
}

/**
 * Whether the only running call is held responsible for the end of its process. A retried call is always responsible,
 * because two processes have now ended during this call. Any other call is not responsible if something other than the
 * host killed the process. An unannounced call may not have begun, so it is responsible only if it made a request that
 * can change data.
 */
function isCulprit({ pending, announced }: Run, byOthers: boolean): boolean {
  return pending.replayed || (!byOthers && (announced || pending.changedSomething))
}

function waitedTooLong(): Failed {
  return {
    code: 'sandbox_busy',
    message: `the call could not start within ${QUEUE_TIME} ms because its sandbox process is busy with other calls`,
    milliseconds: 0,
  }
}
