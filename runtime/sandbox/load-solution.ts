import { type CallClock, createCallClock } from '../call-clock.ts'
import type { Json } from '../plugin.ts'
import type { SandboxCall, SandboxSolution, Unit } from '../protocol.ts'
import {
  brokenOff,
  type CallEnd,
  callText,
  cutOffAt,
  endOf,
  type FailedEnd,
  type LoadFault,
  loadFailure,
  outOfMemory,
  timedOut,
} from './call-end.ts'
import { now } from './clock.ts'
import { createHardenedContexts } from './hardened-contexts.ts'
import type { IsolateEvents, Loading, PreparedIsolate } from './isolate.ts'
import { createLoadFaults } from './load-faults.ts'
import { createLoginContexts, type LoadedCall, NOBODY } from './login-contexts.ts'

type OpenCall = {
  readonly loaded: LoadedCall
  readonly limitName: SandboxCall['timeLimit']
  readonly clock: CallClock
}

/** Loads a solution version into an isolate. Does not throw: loading errors are returned. */
export function loadSolution(prepared: PreparedIsolate, solution: SandboxSolution, events: IsolateEvents) {
  const { limits } = prepared
  const hardened = solution.isHardened === true ? prepared.hardened() : null
  const isolate = hardened?.isolate ?? prepared.isolate
  const files = new Set(solution.scripts.map((script) => script.file))
  const faults = createLoadFaults(isolate, limits, files)
  const listener = {
    log: events.log,
    request: events.request,
    // The context is still running, so don't end the call before this callback has returned.
    done: (call: number, text: string) => void setImmediate(() => end(call, endOf(text, elapsed(call), files))),
  }
  const contexts =
    hardened === null
      ? createLoginContexts(prepared, solution, faults, listener)
      : createHardenedContexts(hardened, solution, faults, listener)
  const open = new Map<number, OpenCall>()

  function settle({ unit, entry }: LoadedCall): void {
    if (open.size === 0) contexts.makeAhead(unit, entry)
    events.settled()
  }

  function elapsed(call: number): number {
    return open.get(call)?.clock.elapsed() ?? 0
  }

  function end(call: number, how: CallEnd): void {
    const one = open.get(call)
    if (one === undefined) return
    open.delete(call)
    one.clock.stop()
    events.ended(call, how)
    one.loaded.giveBack()
    // A call that failed may have left work in the isolate. The host decides whether to keep the process.
    if (how.ok) setImmediate(() => settle(one.loaded))
  }

  /** Lets the guest continue a call, for no longer than the call's remaining time. */
  function enter(call: number, text: string, entry: string | null = null): void {
    const one = open.get(call)
    if (one === undefined) return
    const { loaded, limitName, clock } = one
    const timeout = clock.run()
    try {
      const answered = loaded.enter(text, entry, timeout)
      if (answered !== '') end(call, endOf(answered, clock.elapsed(), files))
      else if (!clock.hasAlarm()) {
        clock.alarm(timeout, () => end(call, timedOut(limitName, clock.allowed, clock.elapsed())))
      }
    } catch (error) {
      contexts.interrupted()
      end(call, interrupted(error, one))
    }
  }

  /** The guest's wrapper catches everything that a script throws, so an error here comes from the isolate itself. */
  function interrupted(error: unknown, { limitName, clock }: OpenCall): FailedEnd {
    const milliseconds = clock.elapsed()
    if (isolate.isDisposed) return outOfMemory(limits, milliseconds)
    if (milliseconds < clock.allowed - 1) return brokenOff(error, milliseconds, files)
    return { ...timedOut(limitName, clock.allowed, milliseconds, cutOffAt(error, files)), cutOff: true }
  }

  return {
    faults: contexts.syntaxFaults,
    isDisposed: () => isolate.isDisposed,
    /** Runs one entry function. The event `ended` reports the result. */
    call(id: number, call: SandboxCall): void {
      const loading = now()
      let loaded: LoadedCall
      try {
        loaded = contexts.take(call, id)
      } catch (fault) {
        events.ended(id, loadFailure(faults.of(fault), limits, Math.round(now() - loading)))
        return
      }
      const limitName = call.timeLimit
      const clock = createCallClock(limits[limitName] as number, now)
      clock.begin()
      open.set(id, { loaded, limitName, clock })
      enter(id, callText(call), call.entry)
    },
    answer(id: number, request: number, ok: boolean, value: Json): void {
      enter(id, JSON.stringify({ kind: 'answer', id: request, ok, value }))
    },
    /** Call this when no further calls will follow: stops creating contexts in advance. */
    close: contexts.stopAhead,
    /** Loads a unit's scripts without calling an entry function. @returns the entry functions that exist */
    probe(
      unit: Unit,
      entries: readonly string[],
      loading?: Loading,
    ): { found: readonly string[]; fault: LoadFault | null } {
      try {
        const created = contexts.create(unit, 'onSolutionOpen', NOBODY, loading)
        const found = entries.filter(created.finds)
        created.giveBack()
        return { found, fault: null }
      } catch (error) {
        return { found: [], fault: faults.of(error) }
      }
    },
  }
}
