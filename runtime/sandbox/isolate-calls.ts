import { createCallClock } from '../call-clock.ts'
import { type CallEnd, outOfMemory } from './call-end.ts'
import type { Client, OpenCall } from './client.ts'
import type { Isolate } from './isolate.ts'

export type IsolateCallsEvents = {
  readonly started: (call: number) => void
  readonly ended: (call: number, end: CallEnd) => void
  /** Called if a step of the call does not end and can't be interrupted. The process must then be killed. */
  readonly hung: (call: number) => void
  /** Called if the isolate has used up its memory or could not be stopped. All its clients are lost. */
  readonly lost: () => void
}

/**
 * Maximum time in ms that a call may wait for other clients' steps. It applies to the wait before the call begins, and
 * to all later waits together; see client-calls.ts.
 */
export const QUEUE_TIME = 10_000
/**
 * A step that exceeds its time by this much, in ms, is in a loop that V8 cannot interrupt. The time can't be shorter,
 * since on a busy machine a thread may wait that long for a core.
 */
const HUNG_AFTER = 1500
/** The interval in ms at which a running step is checked. */
const LOOK = 50

export type IsolateCalls = ReturnType<typeof createIsolateCalls>

/**
 * The calls that run in an isolate for clients. Limits the calls' time, watches their steps, and fails them if the
 * isolate ends.
 * @param now the clock of the calls, in ms
 */
export function createIsolateCalls(
  isolate: Isolate,
  limits: Readonly<Record<string, number>>,
  clients: Iterable<Client>,
  events: IsolateCallsEvents,
  now: () => number,
) {
  let lost = false

  function end(client: Client, call: OpenCall, how: CallEnd): void {
    if (client.call !== call) return
    call.clock.stop()
    client.call = null
    events.ended(call.id, how)
  }

  function loseMemory(call: OpenCall): void {
    for (const client of clients) {
      if (client.call === call) end(client, call, outOfMemory(limits, call.clock.elapsed()))
    }
    lose()
  }

  function lose(): void {
    if (lost) return
    lost = true
    for (const { call } of clients) if (call !== null) call.clock.stop()
    if (!isolate.isDisposed) isolate.dispose()
    events.lost()
  }

  /**
   * Watches work in the isolate until the work ends or the isolate is lost.
   * @param allowed the time limit, in ms
   * @returns the result of the work; null if the isolate is lost, even if `work` never ends
   */
  async function watched<T>(call: OpenCall, allowed: number, work: Promise<T>): Promise<T | null> {
    const since = now()
    let isHung = false
    const { promise: given, resolve: giveUp } = Promise.withResolvers<null>()
    const look = setInterval(() => {
      const late = now() - since > allowed + HUNG_AFTER
      if (late && !isHung) events.hung(call.id)
      isHung ||= late
      if (isolate.isDisposed && !lost) {
        loseMemory(call)
        giveUp(null)
      }
    }, LOOK)
    const over = work.finally(() => clearInterval(look))
    // Handle a late rejection here, because nobody waits for `over` once this function has given up.
    over.catch(() => {})
    const done = await Promise.race([over, given])
    return lost ? null : done
  }

  return {
    begin(client: Client, id: number, limitName: string, allowed: number): OpenCall {
      const call: OpenCall = { id, limitName, clock: createCallClock(allowed, now), answers: 0, result: null }
      call.clock.begin()
      client.call = call
      events.started(id)
      return call
    },
    end,
    endBusy(client: Client, call: OpenCall): void {
      const message = `the call was cancelled because it waited longer than ${QUEUE_TIME} ms for other clients’ calls`
      end(client, call, { ok: false, code: 'sandbox_busy', message, milliseconds: call.clock.elapsed() })
    },
    watched,
    loseMemory,
    lose,
    isLost: () => lost,
    dispose(): void {
      lost = true
      if (!isolate.isDisposed) isolate.dispose()
    },
  }
}
