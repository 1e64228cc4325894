import type { Json } from '../plugin.ts'
import type { SandboxCall, SandboxSolution, Unit } from '../protocol.ts'
import { type Clients, createClients } from './clients.ts'
import type { Inspector } from './inspector.ts'
import type { IsolateEvents, PreparedIsolate } from './isolate.ts'

/** The calls of a solution whose logins are debugged. */
export interface DebuggedLogins {
  call(id: number, call: SandboxCall): void
  answer(id: number, request: number, ok: boolean, value: Json): void
}

/** `hung`: a step of the call has exceeded its time and cannot be interrupted. */
export type LoginEvents = IsolateEvents & { readonly hung: (call: number) => void }

/**
 * Serves logins like `loadSolution`, but with asynchronous calls, which a debugger can pause. Each call opens its own
 * client. No context is created in advance, so breakpoints in top-level code are hit during the call that the developer
 * is waiting for.
 * @param inspectorOf returns the inspector of a unit
 */
export function createDebuggedLogins(
  prepared: PreparedIsolate,
  solution: SandboxSolution,
  inspectorOf: (unit: Unit) => Inspector,
  events: LoginEvents,
): DebuggedLogins {
  const units = new Map<Unit, Clients>()
  /** Calls whose context is still being created, by id. */
  const opening = new Map<number, SandboxCall>()
  const served = new Map<number, Clients>()

  function clientsOf(unit: Unit): Clients {
    const known = units.get(unit)
    if (known !== undefined) return known
    const ofUnit = { ...solution, units: { main: solution.units[unit] ?? [] } }
    const created = createClients(
      prepared,
      ofUnit,
      {
        log: events.log,
        request: events.request,
        // Don't report the call's start. The host sent the call itself, and is notified when the call ends.
        started: () => {},
        gone: () => {},
        hung: events.hung,
        ended,
      },
      inspectorOf(unit),
    )
    units.set(unit, created)
    return created
  }

  function ended(id: number, end: Parameters<IsolateEvents['ended']>[1]): void {
    const clients = served.get(id)
    const call = opening.get(id)
    opening.delete(id)
    if (call !== undefined && end.ok) {
      clients?.enter(id, id, call)
      return
    }
    served.delete(id)
    events.ended(id, end)
    clients?.close(id)
    if (end.ok) events.settled()
  }

  return {
    call(id, call) {
      const clients = clientsOf(call.unit)
      opening.set(id, call)
      served.set(id, clients)
      clients.open(id, id)
    },
    answer(id, request, ok, value) {
      served.get(id)?.answer(id, request, ok, value)
    },
  }
}
