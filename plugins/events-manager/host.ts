import { FORM_EVENTS } from '../../runtime/bundle/manifest.ts'
import type { Json, Plugin, SolutionFacts } from '../../runtime/plugin.ts'

/** What the binding `eventsManager` needs of the host. */
export interface EventsManagerPorts {
  /** The custom event types of main and its modules together. */
  eventTypes(solution: SolutionFacts): readonly string[]
}

/** Events stay inside the context: there is nothing for the host to apply. */
export default function eventsManager(ports: EventsManagerPorts): Plugin {
  return {
    name: 'eventsManager',
    guest: new URL('./guest.ts', import.meta.url),
    commands: {},
    settings: (solution): Json => ({ builtIn: FORM_EVENTS, custom: ports.eventTypes(solution) }),
  }
}
