import type { ToSandbox, Unit } from '../protocol.ts'
import { createInspector, type Inspector, type InspectorEvents } from './inspector.ts'
import type { PreparedIsolate } from './isolate.ts'

/** The inspectors of a debugged sandbox process: one per unit, since each unit has a separate isolate. */
export interface Debugging {
  readonly inspectorOf: (unit: Unit) => Inspector
  readonly take: (message: Extract<ToSandbox, { kind: 'attach' | 'inspect' | 'detach' }>) => void
}

export function createDebugging(prepared: Pick<PreparedIsolate, 'debugged'>, events: InspectorEvents): Debugging {
  const inspectors = new Map<Unit, Inspector>()
  const units = new Map<number, Unit>()

  function inspectorOf(unit: Unit): Inspector {
    const created = inspectors.get(unit) ?? createInspector(() => prepared.debugged(unit === 'main'), events)
    inspectors.set(unit, created)
    return created
  }

  return {
    inspectorOf,
    take(message) {
      if (message.kind === 'attach') units.set(message.session, message.unit)
      const unit = units.get(message.session)
      if (unit === undefined) return
      const inspector = inspectorOf(unit)
      if (message.kind === 'attach') inspector.attach(message.session)
      else if (message.kind === 'inspect') inspector.dispatch(message.session, message.message)
      else {
        units.delete(message.session)
        inspector.detach(message.session)
      }
    },
  }
}
