import type { FormUpdate } from '../../plugins/forms/host.ts'
import type { BrowserEvent } from '../web/frames.ts'

/**
 * Of a client of a live host: what its user did in the forms and scripts have not undone, so that it can be done again
 * after the solution's next version was opened. What scripts did is not kept: the new ones do it anew.
 */
export interface UserWork {
  /** The user did something; in a version that could not be opened, it waits for the next one. */
  note(event: BrowserEvent): void
  /** A script set something: what the user did there is done with. */
  told(update: FormUpdate): void
  /** The context ends. What was done in `form` is for the next one; null: nothing is shown, as before a form was. */
  putAside(form: string | null): void
  /** What was put aside, in the order in which it was done. */
  takeUp(): { readonly form: string; readonly events: readonly BrowserEvent[] } | null
  /** It is lost, as it is to all clients when a sandbox process crashes. */
  forget(): void
}

/** What an event changes of its element. A press is nothing that an element keeps. */
const PROPERTIES = {
  onElementDataChange: 'value',
  showTab: 'value',
  showPage: 'page',
  onSort: 'sort',
  onRecordSelection: 'selected',
} as const
type Kept = Extract<BrowserEvent, { type: keyof typeof PROPERTIES }>

/** By element and property. */
type Events = Map<string, Kept>

export function createUserWork(): UserWork {
  /** By form. */
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
      // The latest goes last: a filter may come before the page.
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

/** Rows are selected bit by bit; all else takes the place of what was before. */
function joined(before: Kept, event: Kept): Kept {
  if (event.type !== 'onRecordSelection' || before.type !== 'onRecordSelection') return event
  const others = before.value.rows.filter((id) => !event.value.rows.includes(id))
  if (event.value.selected) return { ...event, value: { rows: [...others, ...event.value.rows], selected: true } }
  return { ...event, value: { rows: others, selected: true } }
}

/** Whether what a script's form has is what the user put there. */
function isWhatWasDone(event: Kept, now: unknown): boolean {
  switch (event.type) {
    case 'onSort':
      return JSON.stringify(event.value) === JSON.stringify(now)
    case 'onRecordSelection':
      return Array.isArray(now) && now.length > 0
    default:
      // Browsers send the values of options as texts.
      return String(event.value ?? '') === String(now ?? '')
  }
}
