import { FORM_EVENTS } from '../../runtime/bundle/manifest.ts'
import type { Json, Plugin, SolutionFacts } from '../../runtime/plugin.ts'

/** The host services behind the binding `eventsManager`. */
export interface EventsManagerPorts {
  /** The custom event types of main and its modules. */
  eventTypes(solution: SolutionFacts): readonly string[]
}

/** Events stay inside the sandbox context, so the host has no commands for them. */
export default function eventsManager(ports: EventsManagerPorts): Plugin {
  return {
    name: 'eventsManager',
    onlyIfNamed: true,
    guest: new URL('./guest.ts', import.meta.url),
    commands: {},
    constants: FORM_EVENTS,
    settings: (solution): Json => ports.eventTypes(solution),
  }
}
