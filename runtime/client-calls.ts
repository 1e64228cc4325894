import type { Limits } from './limits.ts'
import type { Outcome } from './outcome.ts'
import type { CallHandlers } from './pending-call.ts'
import type { ProcessEnd } from './process-end.ts'
import type { FromSandbox, ToSandbox } from './protocol.ts'
import type { ClientOutcome } from './sandbox-client.ts'
import type { SandboxProcess } from './sandbox-process.ts'
import {
  DEADLINE_GRACE,
  type LogHandler,
  outcomeOf,
  type ServedCall,
  servedCall,
  takeLine,
  takeRequest,
  timedOut,
} from './served-call.ts'

/**
 * How long a call may wait before it begins, in ms. Once it has begun, it may wait this long again in total while other
 * clients' steps run. client-isolate.ts ends a call that waits longer.
 */
const QUEUE_TIME = 10_000
/** How long the process needs to detect that a step can't be interrupted, plus a margin, in ms. */
export const HUNG_TIME = 3000

/** A call from a client, or the call that opens a client. */
export type ClientCall = ServedCall & {
  readonly id: number
  readonly message: ToSandbox
  readonly handlers: LogHandler & Partial<CallHandlers>
  readonly settle: (outcome: ClientOutcome) => void
  changedSomething: boolean
}

/** What the host stores about a client. */
export type HeldClient = {
  readonly id: number
  readonly waiting: ClientCall[]
  running: ClientCall | null
  isGone: boolean
  readonly leave: () => void
}

export type ClientCallsEvents = {
  readonly sent: () => void
  /** Called when a call has ended, but before its Promise is settled. */
  readonly ended: (call: ClientCall, outcome: Outcome) => void
}

/** The calls of all clients in one process. Each client's calls run sequentially. */
export function createClientCalls(
  process: SandboxProcess,
  limits: Limits,
  end: ProcessEnd<ClientCall>,
  events: ClientCallsEvents,
) {
  /** Calls that were sent to the process, by id, with their client. */
  const sent = new Map<number, { readonly call: ClientCall; readonly client: HeldClient }>()

  function sendNext(client: HeldClient): void {
    const next = client.running === null ? client.waiting.shift() : undefined
    if (next === undefined) return
    client.running = next
    sent.set(next.id, { call: next, client })
    events.sent()
    endBy(next, QUEUE_TIME)
    process.send(next.message)
  }

  /** Acts on the first report only: a compromised process may repeat it to extend its deadline. */
  function started(call: ClientCall): void {
    if (call.clock.startedAt() !== null) return
    call.clock.begin()
    // The process notices that a call has waited too long only when the call's turn comes, after another client's step.
    const step = Math.max(limits.LOAD_TIME, limits.CALL_TIME, limits.AUTHENTICATOR_TIME)
    endBy(call, QUEUE_TIME + call.clock.allowed + step)
  }

  /** The process enforces this limit itself. If it fails to, the host kills it. */
  function endBy(call: ClientCall, milliseconds: number): void {
    // A debugged process times its own calls, excluding pauses in the debugger.
    if (process.debug === null) call.clock.alarm(milliseconds + HUNG_TIME + DEADLINE_GRACE, () => killHung(call))
  }

  function killHung(call: ClientCall): void {
    if (end.killed() !== null) return
    if (call.clock.startedAt() === null) end.kill('error')
    else end.killFor(call, timedOut(call))
  }

  function request(call: ClientCall, message: Extract<FromSandbox, { kind: 'request' }>): void {
    const failure = takeRequest(call, process, message, call.handlers.request ?? refuse, () => {
      call.changedSomething = true
    })
    if (failure !== null) end.killFor(call, failure)
  }

  function ended(client: HeldClient, call: ClientCall, outcome: Outcome): void {
    forget(call)
    client.running = null
    events.ended(call, outcome)
    call.settle(outcome)
    sendNext(client)
  }

  function forget(call: ClientCall): void {
    call.clock.stop()
    sent.delete(call.id)
  }

  return {
    add(client: HeldClient, call: ClientCall): void {
      client.waiting.push(call)
      sendNext(client)
    },
    receive(message: FromSandbox & { readonly id: number }): void {
      const one = sent.get(message.id)
      if (one === undefined) return
      const { call, client } = one
      if (message.kind === 'hung') killHung(call)
      else if (message.kind === 'started') started(call)
      else if (message.kind === 'log') takeLine(call, message, call.handlers)
      else if (message.kind === 'request') request(call, message)
      else if (message.kind === 'ended') ended(client, call, outcomeOf(message.outcome))
    },
    forget,
    has: (id: number) => sent.has(id),
    isEmpty: () => sent.size === 0,
    /** Calls that have begun. */
    running: () => [...sent.values()].flatMap(({ call }) => (call.clock.startedAt() === null ? [] : call)),
  }
}

export function clientCall(
  message: ToSandbox & { readonly id: number },
  handlers: ClientCall['handlers'],
  limit: ClientCall['limit'],
  settle: ClientCall['settle'],
  limits: Limits,
): ClientCall {
  return { ...servedCall(limit, limits), id: message.id, message, handlers, settle, changedSomething: false }
}

function refuse(): never {
  throw new TypeError('scripts cannot send requests to the host while a client is being opened')
}
