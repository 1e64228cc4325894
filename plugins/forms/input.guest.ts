import type { Changes } from './changes.guest.ts'
import type { Checks } from './checks.guest.ts'
import type { Elements } from './elements.guest.ts'
import { argsOf, type Events } from './events.guest.ts'
import type { Properties } from './properties.guest.ts'
import type { Api, Element, Entered, Event, Form, Showing } from './types.guest.ts'

type Parts = {
  readonly checks: Checks
  readonly properties: Properties
  readonly elements: Elements
  readonly changes: Changes
  readonly events: Events
}

/** Handles the user's actions in the form that is shown. */
export function createInput(api: Api, { checks, properties, elements, changes, events }: Parts, showing: Showing) {
  const { safe } = api
  const { readText } = checks
  const { readProperty, readValue } = properties
  const { formOf, elementOf, read } = elements
  const { change, setUnsaved } = changes
  const { fire, life } = events
  /** User input that the running call has not accepted yet. If the call is terminated, the next call reverts it. */
  let undecided: Entered | null = null

  /** Applies the user's input. If the handler rejects it, fails or is terminated, the old value is restored. */
  async function changeValue(form: Form, element: Element, value: unknown): Promise<void> {
    const before = element.state.value
    const after = readValue(element, `${element.path}.value`, value)
    const entered = { form, element, before, after, wasUnsaved: form.own.state.unsaved === true }
    undecided = entered
    if (after !== before) setUnsaved(form, true)
    change(form, element, 'value', after)
    change(form, element, 'error', '')
    const handler = read(element.definition.handlers, 'onElementDataChange') as string | undefined
    const { returned, agreed } = await fire(form, element, 'onElementDataChange', argsOf(before, after), handler)
    const isText = typeof returned === 'string'
    if (returned === false || isText || !agreed) takeBack(entered)
    if (isText) {
      change(form, element, 'error', readText(`${element.path}.error`, safe.slice(returned, 0, 2000), 2000, false))
    }
    undecided = null
  }

  /** If the handler set a value itself, that value is kept. */
  function takeBack({ form, element, before, after, wasUnsaved }: Entered): void {
    if (element.state.value !== after) return
    change(form, element, 'value', before)
    setUnsaved(form, wasUnsaved)
  }

  /**
   * When the user presses the button that saves, the input is marked as saved. Exceptions: the button's function failed
   * or returned `false`, or an element shows an error.
   */
  async function press(form: Form, element: Element, handler: string | undefined, hasFaults: boolean): Promise<void> {
    const { returned } = await fire(form, element, 'onAction', argsOf(), handler)
    if (element.definition.name !== form.saves || returned === false || hasFaults) return
    const { usedElements: used } = form
    for (let index = 0; index < used.length; index++) {
      const { visible, error } = (used[index] as Element).state
      if (visible === true && typeof error === 'string' && error !== '') return
    }
    setUnsaved(form, false)
  }

  function select(form: Form, element: Element, { rows, selected }: { rows: unknown[]; selected: unknown }): unknown {
    const single = element.definition.selection === 'single'
    const isMeant = api.record<true>()
    for (let index = 0; index < rows.length; index++) isMeant[`${rows[index] as string}`] = true
    const before = element.state.selected as (string | number)[]
    const after = api.list<unknown>()
    for (let index = 0; index < before.length; index++) {
      if (!isMeant[`${before[index] as string}`] && !(single && selected)) after[after.length] = before[index]
    }
    for (let index = 0; index < rows.length && selected === true; index++) after[after.length] = rows[index]
    change(form, element, 'selected', readProperty(element, 'selected', safe.toArray(after)))
    return element.state.selected
  }

  /**
   * Called before a press can show another form. Scripts don't get invalid values, but the user would lose them, so they
   * count as unsaved input.
   */
  function beforePress(form: Form, event: Event): void {
    showing.asks = true
    if (read(event, 'isInvalid') === true) setUnsaved(form, true)
  }

  async function handle(event: Event): Promise<void> {
    const { form: name, element: elementName, type, value } = event
    if (name !== showing.current) return
    const form = formOf(name)
    const element = elementOf(form, elementName)
    if (type === 'onResize') {
      await life(form, type)
      return
    }
    // An earlier call may have changed the state since the host checked the event.
    if (element === undefined || element.state.visible !== true || element.state.enabled !== true) return
    const handler = read(element.definition.handlers, type) as string | undefined
    if (type === 'onElementDataChange') await changeValue(form, element, value)
    else if (type === 'showTab') change(form, element, 'value', readProperty(element, 'value', value))
    else if (type === 'showPage') change(form, element, 'page', readProperty(element, 'page', value))
    else if (type === 'onSort') {
      change(form, element, 'sort', readProperty(element, 'sort', value))
      change(form, element, 'page', 1)
      const { column, direction } = element.state.sort as { column: string; direction: string }
      await fire(form, element, type, argsOf(column, direction), handler)
    } else if (type === 'onRecordSelection') {
      const ids = select(form, element, value as { rows: unknown[]; selected: unknown })
      await fire(form, element, type, argsOf(ids), handler)
    } else if (type === 'onAction') {
      beforePress(form, event)
      if (element.definition.type === 'table') await fire(form, element, type, argsOf(value), handler)
      else await press(form, element, handler, read(event, 'hasFaults') === true)
    } else await fire(form, element, type, argsOf(), handler)
  }

  return {
    handle,
    takeBackUndecided(): void {
      if (undecided !== null) takeBack(undecided)
      undecided = null
    },
  }
}
