import type { Lists } from './lists.guest.ts'
import { TEXTS } from './properties.guest.ts'
import type { Api, Definition, Element, ElementDefinition, Form, Option, Row, Settings } from './types.guest.ts'

export type Elements = ReturnType<typeof createElements>

/** The forms and elements of one client. Their initial state is defined in the solution's version. */
export function createElements(api: Api, { frozenRows, frozenList }: Lists) {
  const { safe } = api
  const EMPTY: readonly unknown[] = api.list()
  let settings: Settings = { names: [], properties: {}, saves: {} }
  /** Forms by name; each is created on first use. */
  const usedForms = api.record<Form>()

  function isForm(name: string): boolean {
    for (let index = 0; index < settings.names.length; index++) if (settings.names[index] === name) return true
    return false
  }

  function formOf(name: string): Form {
    const known = usedForms[name]
    if (known !== undefined) return known
    const { title, handlers, names } = safe.parse(api.lookUp('forms', name) as string) as Definition
    const state = api.record<unknown>()
    state.title = title
    const saves = savesOf(name)
    if (saves !== null) state.unsaved = false
    const form: Form = {
      name,
      own: { path: `forms.${name}`, state, changed: null, sent: null },
      saves,
      handlers,
      names,
      elements: api.record(),
      usedElements: api.list(),
      elementsView: null,
      hasLoaded: false,
    }
    usedForms[name] = form
    return form
  }

  /**
   * The button that saves a form. It is read from the settings, because reading it from the form would create the form.
   */
  function savesOf(name: string): string | null {
    return (read(settings.saves, name) as string | undefined) ?? null
  }

  function elementOf(form: Form, name: string): Element | undefined {
    const known = form.elements[name]
    if (known !== undefined) return known
    const text = api.lookUp('elements', `${form.name} ${name}`)
    if (text === null) return undefined
    const element = createElement(safe.parse(text) as ElementDefinition, `forms.${form.name}.elements.${name}`)
    form.elements[name] = element
    form.usedElements[form.usedElements.length] = element
    return element
  }

  function createElement(definition: ElementDefinition, path: string): Element {
    const state = api.record<unknown>()
    const defined: Record<string, unknown> = definition
    const known = settings.properties[definition.type] ?? EMPTY
    for (let index = 0; index < known.length; index++) {
      const key = known[index] as string
      // A link that calls a function has no URL.
      if (key === 'href' && !safe.hasOwn(definition, key)) continue
      state[key] = safe.hasOwn(definition, key) ? defined[key] : usual(key)
    }
    const { type } = definition
    if (type === 'table') state.rows = frozenRows(read(definition, 'value') as Row[])
    else if (safe.hasOwn(state, 'options')) state.options = frozenList(state.options as Option[])
    if (safe.hasOwn(state, 'value') && state.value === undefined) state.value = TEXTS[type] === 1 ? '' : null
    if (type === 'table') state.selected = safe.freeze(safe.toArray(api.list()))
    return { definition, path, state, changed: null, sent: null }
  }

  function read(value: object, key: string): unknown {
    return safe.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
  }

  function usual(key: string): unknown {
    if (key === 'value') return undefined
    if (key === 'sort') return null
    return key === 'page' ? 1 : ''
  }

  return {
    formOf,
    elementOf,
    isForm,
    savesOf,
    read,
    /** Returns the form if it already exists. Unlike `formOf`, this does not create it. */
    usedForm: (name: string): Form | undefined => usedForms[name],
    names: () => settings.names,
    /** `loaded` is null for a version without forms, as in tests and when the guest parts are checked. */
    load(loaded: Settings | null): void {
      settings = loaded ?? settings
    },
  }
}
