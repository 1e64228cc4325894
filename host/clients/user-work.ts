import type { FormUpdate } from '../../plugins/forms/host.ts'
import type { BrowserEvent } from '../web/frames.ts'

/**
 * Records a user's actions in forms on a live host, so that they can be replayed in the solution's next version. Input
 * that scripts have overwritten since is dropped. Effects of scripts are not recorded, because the new scripts produce
 * them again.
 */
export interface UserWork {
  /** Records an event. If the version failed to open, the event is saved for the next version. */
  note(event: BrowserEvent): void
  /** Call this when scripts set properties. It drops the user's events whose values are overwritten. */
  told(update: FormUpdate): void
  /**
   * Call this when the context ends. Saves the events of `form` for the next context.
   * @param form the shown form; null if there is none
   */
  putAside(form: string | null): void
  /** Returns the saved events in their original order, and clears them. */
  takeUp(): { readonly form: string; readonly events: readonly BrowserEvent[] } | null
  /** Drops everything, for example after the sandbox process has crashed. */
  forget(): void
}

/** The element property that each event changes. Button presses are not listed, because they change no property. */
const PROPERTIES = {
  onElementDataChange: 'value',
  showTab: 'value',
  showPage: 'page',
  onSort: 'sort',
  onRecordSelection: 'selected',
} as const
type Kept = Extract<BrowserEvent, { type: keyof typeof PROPERTIES }>

/** Keyed by element and property. */
type Events = Map<string, Kept>

export function createUserWork(): UserWork {
  /** Keyed by form. */
  const done = new Map<string, Events>()
  let aside: { readonly form: string; readonly events: Events } | null = null

  function eventsOf(form: string): Events {
    if (aside?.form === form) return aside.events
    const found = done.get(form) ?? new Map<string, Kept>()
    done.set(form, found)
    return found
  }

  return {
    note(event) {
      if (!isKept(event)) return
      const events = eventsOf(event.form)
      const key = `${event.element} ${PROPERTIES[event.type]}`
      const before = events.get(key)
      // Move the latest event to the end, because the order of events matters. For example, a filter may have to run
      // before the page changes.
      events.delete(key)
      events.set(key, before === undefined ? event : joined(before, event))
    },
    told({ form, elements }) {
      const events = done.get(form)
      if (events === undefined) return
      for (const [element, state] of Object.entries(elements)) {
        for (const property of new Set(Object.values(PROPERTIES))) {
          const key = `${element} ${property}`
          const event = events.get(key)
          if (event !== undefined && state[property] !== undefined && !isWhatWasDone(event, state[property])) {
            events.delete(key)
          }
        }
      }
    },
    putAside(form) {
      if (form !== null) aside = { form, events: eventsOf(form) }
      done.clear()
    },
    takeUp() {
      const taken = aside
      aside = null
      return taken === null ? null : { form: taken.form, events: [...taken.events.values()] }
    },
    forget() {
      done.clear()
      aside = null
    },
  }
}

function isKept(event: BrowserEvent): event is Kept {
  return Object.hasOwn(PROPERTIES, event.type)
}

/** Row selections are combined; any other event replaces the previous one. */
function joined(before: Kept, event: Kept): Kept {
  if (event.type !== 'onRecordSelection' || before.type !== 'onRecordSelection') return event
  const others = before.value.rows.filter((id) => !event.value.rows.includes(id))
  if (event.value.selected) return { ...event, value: { rows: [...others, ...event.value.rows], selected: true } }
  return { ...event, value: { rows: others, selected: true } }
}

/** Whether the value that a script sets equals what the user entered. */
function isWhatWasDone(event: Kept, now: unknown): boolean {
  switch (event.type) {
    case 'onSort':
      return JSON.stringify(event.value) === JSON.stringify(now)
    case 'onRecordSelection':
      return Array.isArray(now) && now.length > 0
    default:
      // Convert the values, because browsers send option values as strings.
      return String(event.value ?? '') === String(now ?? '')
  }
}
