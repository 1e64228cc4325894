import type { ElementDefinition, FormDefinition } from '../../runtime/forms/form-definition.ts'
import type { BrowserEvent } from '../web/frames.ts'
import { checkInput, type InputFault } from './check-input.ts'
import type { RenderContext } from './render/context.ts'
import { shownTabs } from './render/form.ts'
import { isEnabled, isPermitted, isShown, outlineOf, type Place } from './render/outline.ts'
import { type InputDefinition, type Shown, shown } from './render/parts.ts'
import { rowIdsOnPage } from './render/table.ts'
import { shownRows } from './render/table-rows.ts'
import type { FormView } from './view.ts'

export type CheckedEvent =
  | { readonly kind: 'accepted'; readonly place: Place }
  /** The event was valid when the browser sent it, but a call has changed the form since. */
  | { readonly kind: 'stale' }
  /**
   * The value violates a rule in the form definition; for scripts, the old value stays. `entered` is the value if the
   * input still shows it; null if only the browser knows it.
   */
  | { readonly kind: 'faulty'; readonly fault: InputFault; readonly entered?: string | number | null }
  /** No page of this client can have sent the event. */
  | { readonly kind: 'forged' }

const STALE: CheckedEvent = { kind: 'stale' }
const FORGED: CheckedEvent = { kind: 'forged' }

/** Checks an event against the form as it is shown: its definition, its state and the user's permissions. */
export function checkEvent(
  event: BrowserEvent,
  definition: FormDefinition,
  view: FormView,
  context: RenderContext,
): CheckedEvent {
  const place = outlineOf(definition).get(event.element)
  if (place === undefined || !isPermitted(definition, context) || !hasPermissions(place, context)) return FORGED
  const one = shown(place, view, context)
  const checked = checkKind(event, one)
  if (checked.kind === 'forged') return checked
  // Check visibility before returning validation errors. The errors must not reveal the rules of hidden elements.
  return isShown(place, view, context) && isEnabled(place, view) ? checked : STALE
}

/**
 * Checks the permissions for the element and its ancestors. Unlike visibility, permissions never change while a client
 * is open.
 */
function hasPermissions(place: Place, context: RenderContext): boolean {
  for (let one: Place | undefined = place; one !== undefined; one = one.around?.place) {
    if (!isPermitted(one.element, context)) return false
    if (one.around?.tab && !isPermitted(one.around.tab, context)) return false
  }
  return true
}

function checkKind(event: BrowserEvent, one: Shown): CheckedEvent {
  const { element, place } = one
  const accepted: CheckedEvent = { kind: 'accepted', place }
  switch (event.type) {
    case 'onAction':
      if (element.type === 'table') return checkRows({ ...one, element }, event.value === null ? [] : [event.value])
      if (event.value !== null) return FORGED
      return element.type === 'button' || (element.type === 'link' && element.onAction !== undefined)
        ? accepted
        : FORGED
    case 'onElementDataChange': {
      if (!isInput(element)) return FORGED
      if (event.isUnreadable) return checkUnreadable(element, event.value)
      const result = checkInput({ ...one, element }, event.value)
      if (result === 'wrong type') return FORGED
      return result === null ? accepted : { kind: 'faulty', fault: result, ...enteredIn(element, event.value) }
    }
    case 'onElementFocusGained':
    case 'onElementFocusLost':
      return isInput(element) ? accepted : FORGED
    case 'onSort': {
      const { column } = event.value
      const isSortable =
        element.type === 'table' && element.columns.some(({ name, sortable }) => name === column && sortable)
      return isSortable ? accepted : FORGED
    }
    case 'onRecordSelection': {
      if (element.type !== 'table' || element.selection === 'none') return FORGED
      if (element.selection === 'single' && event.value.rows.length !== 1) return FORGED
      return checkRows({ ...one, element }, event.value.rows)
    }
    case 'showPage':
      if (element.type !== 'table') return FORGED
      return event.value <= shownRows(element, one.state, one.context.locale).pages ? accepted : STALE
    case 'showTab': {
      if (element.type !== 'tabs') return FORGED
      return shownTabs({ ...one, element }).tabs.some(({ name }) => name === event.value) ? accepted : FORGED
    }
  }
}

/**
 * A row that is not on the page may have been on it a moment ago. The host doesn't store earlier pages, so it reports
 * such rows as stale, not as forged.
 */
function checkRows(one: Shown<Extract<ElementDefinition, { type: 'table' }>>, rows: readonly (string | number)[]) {
  const { place } = one
  if (rows.length === 0) return FORGED
  const onPage = new Set(rowIdsOnPage(one))
  return rows.every((id) => onPage.has(id)) ? ({ kind: 'accepted', place } as const) : STALE
}

function checkUnreadable({ type }: InputDefinition, value: unknown): CheckedEvent {
  if ((type !== 'number' && type !== 'date') || value !== null) return FORGED
  return { kind: 'faulty', fault: { key: `platform.form.bad${type}` }, entered: null }
}

/** A page never contains a password, and a choice can show only its options. */
function enteredIn(element: InputDefinition, value: unknown): { readonly entered?: string | number } {
  const { type } = element
  if (typeof value === 'number') return type === 'number' ? { entered: value } : {}
  if (typeof value !== 'string' || (type !== 'email' && type !== 'date')) return {}
  return { entered: value }
}

export function isInput(element: ElementDefinition): element is InputDefinition {
  return 'required' in element
}
