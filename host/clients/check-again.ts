import type { BrowserEvent } from '../web/frames.ts'
import { type CheckedEvent, checkEvent } from './check-event.ts'
import { outlineOf } from './render/outline.ts'
import { shown } from './render/parts.ts'
import { rowIdsOnPage } from './render/table.ts'
import type { Screen } from './screen.ts'

/**
 * Checks an event from one version of a form against another version.
 * @returns the result of the check, and the event. Rows that the other version's page does not show are removed from
 * the event
 */
export function checkAgain(
  event: BrowserEvent,
  screen: Screen,
): { readonly event: BrowserEvent; readonly checked: CheckedEvent } {
  const definition = screen.definitionOf(event.form)
  if (definition === null) return { event, checked: { kind: 'forged' } }
  const fitting = event.type === 'onRecordSelection' ? withRowsOfPage(event, screen) : event
  const checked = checkEvent(fitting, definition, screen.viewOf(event.form), screen.contextOf(event.form))
  return { event: fitting, checked }
}

type Selection = Extract<BrowserEvent, { type: 'onRecordSelection' }>

/**
 * Keeps the rows that are on the page. With single selection, it keeps only the last row, as if the user had clicked
 * the rows in order.
 */
function withRowsOfPage(event: Selection, screen: Screen): Selection {
  const definition = screen.definitionOf(event.form)
  const place = definition === null ? undefined : outlineOf(definition).get(event.element)
  if (place?.element.type !== 'table') return event
  const table = { ...shown(place, screen.viewOf(event.form), screen.contextOf(event.form)), element: place.element }
  const onPage = new Set(rowIdsOnPage(table))
  const rows = event.value.rows.filter((id) => onPage.has(id))
  return { ...event, value: { ...event.value, rows: place.element.selection === 'single' ? rows.slice(-1) : rows } }
}
