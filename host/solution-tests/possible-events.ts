import { type Json, ScriptError } from '../../runtime/plugin.ts'
import { checkEvent } from '../clients/check-event.ts'
import { outlineOf } from '../clients/render/outline.ts'
import type { Screen } from '../clients/screen.ts'
import { type BrowserEvent, readBrowserFrame } from '../web/frames.ts'
import { formState } from './client-state.ts'

/**
 * Creates an event for the shown form, as a browser would send it.
 * @throws ScriptError if no browser would send such an event
 */
export function readEvent(seq: number, screen: Screen, type: string, element: string, value: Json): BrowserEvent {
  const form = screen.shown ?? ''
  const frame = readBrowserFrame(JSON.stringify({ kind: 'event', seq, form, element, type, value }))
  if (frame !== null && frame.kind === 'event') return frame
  throw new ScriptError(
    `browsers never send the event ${type} for the element "${element}" with the value ${JSON.stringify(value)}`,
  )
}

/** Throws a ScriptError for events that a host would silently ignore, since test authors want to know. */
export function needPossible(frame: BrowserEvent, screen: Screen): void {
  const definition = screen.definitionOf(frame.form)
  if (definition === null) throw new ScriptError('the client does not show a form, so it cannot send events')
  const { kind } = checkEvent(frame, definition, screen.viewOf(frame.form), screen.contextOf(frame.form))
  if (kind === 'stale') {
    // An event of a row is also stale if the row is not on the table's page.
    const isOfRow = outlineOf(definition).get(frame.element)?.element.type === 'table' && frame.value !== null
    const reason = `the element or its container is hidden or disabled${isOfRow ? ', or the page of the table does not show the row' : ''}`
    throw new ScriptError(`a user can’t use "${frame.element}" now, because ${reason}`)
  }
  if (kind !== 'forged') return
  const names = Object.keys(formState(screen).elements)
  const there = names.includes(frame.element)
    ? `the element "${frame.element}" does not accept ${frame.type} with the value ${JSON.stringify(frame.value)}`
    : `this user has no element "${frame.element}"; the available elements are: ${names.join(', ') || 'none'}`
  throw new ScriptError(`form "${frame.form}": ${there}`)
}
