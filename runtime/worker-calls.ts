import type { Limits } from './limits.ts'
import type { Failed } from './outcome.ts'
import type { PendingCall, Run } from './pending-call.ts'
import type { ProcessEnd } from './process-end.ts'
import type { FromSandbox, SandboxOutcome } from './protocol.ts'
import type { SandboxProcess } from './sandbox-process.ts'
import { DEADLINE_GRACE, latestStarted, outcomeOf, servedCall, takeLine, takeRequest, timedOut } from './served-call.ts'

/** How long a call may be queued behind others before it starts, in ms. */
const QUEUE_TIME = 10_000

export type WorkerCallsEvents = {
  /** Called for a call whose start the process announces. */
  readonly started: () => void
  /** Called before the call is settled, but not for a call that its process is killed for. */
  readonly ended: (pending: PendingCall, returnedWell: boolean) => void
}

/** The login calls that a process serves, several at a time. */
export function createWorkerCalls(
  process: SandboxProcess,
  limits: Limits,
  end: ProcessEnd<PendingCall>,
  events: WorkerCallsEvents,
) {
  const runs = new Map<number, Run>()
  /** Already answered, since they were queued for too long. */
  const givenUp = new WeakSet<PendingCall>()

  function answer(run: Run, message: Extract<FromSandbox, { kind: 'request' }>): void {
    const { pending } = run
    const failure = takeRequest(run, process, message, pending.handlers.request, () => {
      pending.changedSomething = true
    })
    if (failure !== null) end.killFor(pending, failure)
  }

  function started(run: Run): void {
    // A compromised process may report this repeatedly: the deadline stays.
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

  /** Calls run sequentially inside a sandbox process, so the one that started last is the one that runs. */
  function running(): Run | null {
    return latestStarted(runs.values())
  }

  function ended(run: Run, outcome: SandboxOutcome): void {
    // After it ran out of memory the isolate is unusable, and what an interrupted call left in the isolate's queue would
    // run inside the next one: neither can be used again.
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
   * The call has not started: the process is busy with others, which have deadlines. If it still starts before the
   * process reads the `cancel`, it has a deadline like any other.
   */
  function giveUpWaiting(pending: PendingCall): void {
    givenUp.add(pending)
    pending.settle(waitedTooLong())
    // Nothing with a deadline runs, and yet nothing starts: the process hangs.
    if (running() === null) end.kill('error')
    else process.send({ kind: 'cancel', id: pending.id })
  }

  return {
    count: () => runs.size,
    running,
    receive(message: FromSandbox & { readonly id: number }): void {
      const run = runs.get(message.id)
      if (run === undefined) return
      if (message.kind === 'started') started(run)
      else if (message.kind === 'log') takeLine(run, message, run.pending.handlers)
      else if (message.kind === 'request') answer(run, message)
      else if (message.kind === 'ended') ended(run, message.outcome)
      // Sent only by a debugged process, which times its calls itself.
      else if (message.kind === 'hung') end.killFor(run.pending, timedOut(run))
    },
    run(pending: PendingCall, isSuspect: boolean): void {
      const announced = isSuspect || pending.replayed || runs.size > 0
      const run = { ...servedCall(pending.call.timeLimit, limits), pending, announced }
      runs.set(pending.id, run)
      if (!announced) begin(run)
      // Where scripts are debugged, a call may be queued behind a paused one.
      else if (process.debug === null) run.clock.alarm(QUEUE_TIME, () => giveUpWaiting(pending))
      process.send({ kind: 'call', id: pending.id, call: pending.call, announce: announced })
    },
    /**
     * Handles the end of the process. @param byOthers whether something else killed it, such as the kernel when memory
     * runs out
     * @returns the calls that were lost with it and are not answered yet
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
 * Whether the only running call is blamed for the end of its process. A replayed call always is: it is the second
 * process to end with it. An unannounced one may not have begun, unless it made a request that changes something.
 */
function isCulprit({ pending, announced }: Run, byOthers: boolean): boolean {
  return pending.replayed || (!byOthers && (announced || pending.changedSomething))
}

function waitedTooLong(): Failed {
  return { code: 'sandbox_busy', message: `the call waited ${QUEUE_TIME} ms for its sandbox process`, milliseconds: 0 }
}
