import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

type Settings = { readonly names: readonly string[]; readonly properties: Record<string, readonly string[]> }
type Run = (...args: never[]) => unknown
type Row = Record<string, string | number | boolean | null>
type Option = { value: string | number; label: string }
type Definition = {
  readonly title: string
  readonly handlers: Record<string, string>
  /** Of its elements. */
  readonly names: readonly string[]
}
type ElementDefinition = {
  readonly type: string
  readonly name: string
  readonly handlers: Record<string, string>
  readonly maxLength: number
  readonly selection: string
  readonly columns: readonly { name: string; type: string }[]
  readonly tabs: readonly string[]
}
/**
 * What scripts and the host read of something; without prototype. By property, the values that the host knows: `changed` of what
 * changed since it was told, `told` of what the last call told, which may have been in vain.
 */
type Part = {
  readonly path: string
  readonly state: Record<string, unknown>
  changed: Record<string, unknown> | null
  told: Record<string, unknown> | null
}
type Element = Part & { readonly definition: ElementDefinition }
type Form = {
  readonly name: string
  /** Of the form itself: its title. */
  readonly own: Part
  readonly handlers: Record<string, string>
  readonly names: readonly string[]
  /** By name and in the order of their first use: until then an element costs a client nothing. */
  readonly elements: Record<string, Element>
  readonly made: Element[]
  /** `forms.<name>.elements`, once a script looked at it. */
  elementsView: object | null
  hasLoaded: boolean
}
type Event = { readonly form: string; readonly element: string; readonly type: string; readonly value: unknown }
/** What a user put into an element, and what was in it before. */
type Entered = {
  readonly form: Form
  readonly element: Element
  readonly before: unknown
  readonly after: unknown
}
/** What one command tells of a form. */
type Update = { form: string; title?: unknown; elements: Record<string, Record<string, unknown>> }

/** State: the one form that can be shown while nobody is signed in; null: any. */
export default function forms(api: GuestApi<Settings, string>) {
  const { safe } = api
  /** How often a form that is shown may wish for another one in the same call. */
  const MOST_SHOWS = 10
  const MOST_OPTIONS = 1000
  const MOST_ROWS = 10_000
  const MOST_PAGES = 1_000_000
  const TEXTS = { __proto__: null, text: 1, password: 1, email: 1, textarea: 1 } as unknown as Record<string, 1>
  const EMPTY: readonly unknown[] = api.list()
  /** What browsers tell only where somebody asks. */
  const ASKED = ['onElementFocusGained', 'onElementFocusLost', 'onAction', 'onResize']
  /**
   * Characters of one command, as `sizeOf` counts them. A character takes at most six in JSON, and what is around the values
   * little: so what has this size fits into a command, whatever is in it.
   */
  const PIECE = (api.limits.ARGUMENT_SIZE as number) / 8
  let settings: Settings = { names: [], properties: {} }
  /** By name; a form is made at its first use. */
  const made: Record<string, Form> = { __proto__: null } as never
  const views: Record<string, object> = { __proto__: null } as never
  const scripts: Record<string, Record<string, Run>> = { __proto__: null } as never
  let changedForms = api.list<Form>()
  let toldForms = api.list<Form>()
  let current: string | null = null
  let wanted: string | null = null
  /** Rises with each call. */
  let calls = 0
  /** What the user entered and the running call has not accepted yet. A call that is cut off leaves it to the next one. */
  let undecided: Entered | null = null
  /** What the host knows of both, and what the last call told. */
  const known = { shown: null as string | null, listening: '' }
  const told = { shown: null as string | null, listening: '' }

  // --- what scripts see ------------------------------------------------------------------------------------------------

  function fail(path: string, wish: string, value: unknown): never {
    const given = typeof value === 'string' ? safe.stringify(value) : safe.describe(value)
    throw new safe.TypeError(`${path} must be ${wish}, not ${safe.slice(given, 0, 100)}`)
  }

  /** The known name that is most like the given one, as the end of a sentence. */
  function hint(name: string, known: readonly string[]): string {
    if (name.length > 64) return ''
    let nearest = ''
    let least = 1000
    const most = known.length > 1000 ? 1000 : known.length
    for (let index = 0; index < most; index++) {
      const candidate = known[index] as string
      const distance = editDistance(safe.lowerCase(name), safe.lowerCase(candidate))
      if (distance < least) {
        least = distance
        nearest = candidate
      }
    }
    return nearest === '' ? '' : `; the nearest is ${nearest}`
  }

  function editDistance(a: string, b: string): number {
    let row = api.list<number>()
    for (let column = 0; column <= b.length; column++) row[column] = column
    for (let i = 1; i <= a.length; i++) {
      const next = api.list<number>()
      next[0] = i
      for (let j = 1; j <= b.length; j++) {
        let least = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
        if ((row[j] as number) + 1 < least) least = (row[j] as number) + 1
        if ((next[j - 1] as number) + 1 < least) least = (next[j - 1] as number) + 1
        next[j] = least
      }
      row = next
    }
    return row[b.length] as number
  }

  /** What the language itself asks every object for. */
  function isAskedByLanguage(key: unknown): boolean {
    return typeof key !== 'string' || key === 'then' || key === 'toJSON'
  }

  /** A frozen object that refuses names which it does not have, when they are read as well as when they are set. */
  function strict(
    target: object,
    what: string,
    known: readonly string[],
    set: (key: string, value: unknown) => void,
    more: (key: string) => unknown = () => undefined,
  ): object {
    safe.freeze(target)
    const unknown = (key: unknown) =>
      new safe.TypeError(`${what} has no ${safe.slice(safe.describe(key), 0, 100)}${hint(safe.describe(key), known)}`)
    return safe.proxy(target, {
      __proto__: null,
      get(_target: object, key: string | symbol): unknown {
        if (typeof key === 'string' && safe.hasOwn(target, key)) return (target as Record<string, unknown>)[key]
        const found = typeof key === 'string' ? more(key) : undefined
        if (found !== undefined || isAskedByLanguage(key)) return found
        throw unknown(key)
      },
      set(_target: object, key: string | symbol, value: unknown): boolean {
        if (typeof key !== 'string') throw unknown(key)
        if (!safe.hasOwn(target, key) && more(key) === undefined) throw unknown(key)
        set(key, value)
        return true
      },
    } as ProxyHandler<object>)
  }

  function empty(): object {
    return { __proto__: null } as object
  }

  function readOnly(path: string): (key: string) => never {
    return (key) => {
      throw new safe.TypeError(`${path}.${key} cannot be replaced`)
    }
  }

  /** @param set for what can be set: a Proxy may not take what its target has no setter for */
  function define(target: object, key: string, get: () => unknown, set?: (value: unknown) => void): void {
    safe.freeze(get)
    if (set !== undefined) safe.freeze(set)
    safe.defineProperty(target, key, {
      get,
      ...(set === undefined ? null : { set }),
      enumerable: true,
      configurable: false,
    })
  }

  function isForm(name: string): boolean {
    for (let index = 0; index < settings.names.length; index++) if (settings.names[index] === name) return true
    return false
  }

  function viewOf(name: string): object {
    const known = views[name]
    if (known !== undefined) return known
    const path = `forms.${name}`
    const target = empty()
    const names = api.list<string>()
    names[0] = 'elements'
    names[1] = 'title'
    names[2] = 'getName'
    define(target, 'elements', () => elementsViewOf(formOf(name)))
    safe.defineProperty(target, 'getName', { value: safe.freeze(() => name), enumerable: true })
    const setTitle = (value: unknown): void => {
      const form = formOf(name)
      setState(form, form.own, 'title', readText(`${path}.title`, value, 2000, false))
    }
    define(target, 'title', () => formOf(name).own.state.title, setTitle)
    const set = (key: string, value: unknown): void => {
      if (key === 'title') setTitle(value)
      else readOnly(path)(key)
    }
    // Scripts before that of the form see it too: its functions are there once that is loaded.
    const view = strict(target, path, names, set, (key) => {
      const functions = scripts[name]
      return functions === undefined ? undefined : functions[key]
    })
    views[name] = view
    return view
  }

  function formOf(name: string): Form {
    const known = made[name]
    if (known !== undefined) return known
    const { title, handlers, names } = safe.parse(api.lookUp('forms', name) as string) as Definition
    const form: Form = {
      name,
      own: { path: `forms.${name}`, state: { __proto__: null, title } as never, changed: null, told: null },
      handlers,
      names,
      elements: { __proto__: null } as never,
      made: api.list(),
      elementsView: null,
      hasLoaded: false,
    }
    made[name] = form
    return form
  }

  function elementOf(form: Form, name: string): Element | undefined {
    const known = form.elements[name]
    if (known !== undefined) return known
    const text = api.lookUp('elements', `${form.name} ${name}`)
    if (text === null) return undefined
    const element = createElement(safe.parse(text) as ElementDefinition, `forms.${form.name}.elements.${name}`)
    form.elements[name] = element
    form.made[form.made.length] = element
    return element
  }

  function elementsViewOf(form: Form): object {
    if (form.elementsView !== null) return form.elementsView
    const { names } = form
    const target = empty()
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      let view: object | null = null
      define(target, name, () => {
        view ??= elementView(form, elementOf(form, name) as Element)
        return view
      })
    }
    const path = `forms.${form.name}.elements`
    form.elementsView = strict(target, path, names, readOnly(path))
    return form.elementsView
  }

  function createElement(definition: ElementDefinition, path: string): Element {
    const state: Record<string, unknown> = { __proto__: null } as never
    const known = settings.properties[definition.type] ?? EMPTY
    for (let index = 0; index < known.length; index++) {
      const key = known[index] as string
      // A link has an address or a function, never both.
      if (key === 'href' && !safe.hasOwn(definition, key)) continue
      state[key] = safe.hasOwn(definition, key) ? (definition as unknown as Record<string, unknown>)[key] : usual(key)
    }
    const { type } = definition
    if (type === 'table') state.rows = frozenRows(read(definition, 'value') as Row[])
    else if (safe.hasOwn(state, 'options')) state.options = frozenList(state.options as Option[])
    if (safe.hasOwn(state, 'value') && state.value === undefined) state.value = TEXTS[type] === 1 ? '' : null
    if (type === 'table') state.selected = safe.freeze(safe.toArray(api.list()))
    return { definition, path, state, changed: null, told: null }
  }

  function read(value: object, key: string): unknown {
    return safe.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
  }

  function usual(key: string): unknown {
    if (key === 'value') return undefined
    if (key === 'sort') return null
    return key === 'page' ? 1 : ''
  }

  function elementView(form: Form, element: Element): object {
    const target = empty()
    const names = safe.keys(element.state)
    const set = (key: string, value: unknown): void => change(form, element, key, readProperty(element, key, value))
    for (let index = 0; index < names.length; index++) {
      const key = names[index] as string
      define(
        target,
        key,
        () => element.state[key],
        (value) => set(key, value),
      )
    }
    return strict(target, element.path, names, set)
  }

  // --- values --------------------------------------------------------------------------------------------------------------

  /** @param isSecret quoted and cut, a password could not be found in the log any more */
  function readText(path: string, value: unknown, most: number, isMany: boolean, isSecret = false): string {
    if (value === null || value === undefined) return ''
    const form = isMany ? /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/ : /[\x00-\x1f\x7f-\x9f]/
    if (
      typeof value !== 'string' ||
      value.length > most ||
      !safe.isWellFormed(value) ||
      safe.match(form, value) !== null
    ) {
      const wish = `a text of at most ${most} characters without control characters`
      fail(path, wish, isSecret && typeof value === 'string' ? '…' : value)
    }
    return value
  }

  function readProperty(element: Element, key: string, value: unknown): unknown {
    const path = `${element.path}.${key}`
    switch (key) {
      case 'visible':
      case 'enabled':
      case 'required':
        return typeof value === 'boolean' ? value : fail(path, 'true or false', value)
      case 'value':
        return readValue(element, path, value)
      case 'options':
        return readOptions(path, value)
      case 'rows':
        return readRows(element.definition, path, value)
      case 'selected':
        return readSelected(element, path, value)
      case 'sort':
        return readSort(element.definition, path, value)
      case 'page':
        return isWhole(value, MOST_PAGES) ? value : fail(path, `a whole number from 1 to ${MOST_PAGES}`, value)
      case 'href':
        if (typeof value === 'string' && api.isAllowedAddress(value)) return value
        return fail(path, 'an http, https or mailto address or a path that starts with "/"', value)
      case 'src':
        if (typeof value === 'string' && value.length <= 240 && safe.match(SOURCE, value) !== null) return value
        return fail(path, 'a path below media/ such as "logo.svg"', value)
      default:
        return readText(path, value, 2000, false)
    }
  }
  const SOURCE = /^(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)*$/

  function isWhole(value: unknown, most: number): boolean {
    return typeof value === 'number' && value >= 1 && value <= most && value % 1 === 0
  }

  function isKey(value: unknown): value is string | number {
    if (typeof value === 'string') return value !== '' && value.length <= 200 && safe.isWellFormed(value)
    return typeof value === 'number' && safe.isFinite(value)
  }

  function readValue(element: Element, path: string, value: unknown): unknown {
    const { type, maxLength, tabs } = element.definition
    if (TEXTS[type] === 1) return readText(path, value, maxLength, type === 'textarea', type === 'password')
    if (type === 'checkbox') return typeof value === 'boolean' ? value : fail(path, 'true or false', value)
    if (type === 'tabs') {
      for (let index = 0; index < tabs.length; index++) if (tabs[index] === value) return value
      return fail(path, 'the name of one of the tabs', value)
    }
    if (value === null || value === undefined) return null
    if (type === 'number')
      return typeof value === 'number' && safe.isFinite(value) ? value : fail(path, 'a number or null', value)
    if (type === 'date') return isDay(value) ? value : fail(path, 'a date written YYYY-MM-DD or null', value)
    const options = element.state.options as Option[]
    if (isKey(value)) {
      for (let index = 0; index < options.length; index++) {
        const { value: known } = options[index] as Option
        if (`${known}` === `${value}`) return known
      }
    }
    return fail(path, 'the value of one of the options or null', value)
  }

  function isDay(value: unknown): value is string {
    if (typeof value !== 'string' || safe.match(/^\d{4}-\d{2}-\d{2}$/, value) === null) return false
    const year = +safe.slice(value, 0, 4)
    const month = +safe.slice(value, 5, 7)
    const day = +safe.slice(value, 8, 10)
    const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
    const most = month === 2 ? (isLeap ? 29 : 28) : month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
    return month >= 1 && month <= 12 && day >= 1 && day <= most
  }

  function listOf(
    path: string,
    value: unknown,
    most: number,
    what: string,
  ): { list: readonly unknown[]; length: number } {
    if (!safe.isArray(value)) return fail(path, `a list of at most ${most} ${what}`, value)
    const length = api.lengthOf(value)
    if (length > most) fail(path, `a list of at most ${most} ${what}`, `${length} of them`)
    return { list: value, length }
  }

  /**
   * Lists become JSON of what was checked and then objects again: no setter or getter of a script is in those.
   * @param item the size of the last one: it goes into one command. @param all that of the list, which goes into one call
   */
  function spend(path: string, item: number, all: number): void {
    const most = (api.limits.ARGUMENT_SIZE as number) - PIECE
    if (item > most) throw api.quotaError('ARGUMENT_SIZE', most, item, `${path} has an item that is too large`)
    const mostOfAll = api.limits.CLIENT_COMMANDS_SIZE as number
    if (all > mostOfAll) throw api.quotaError('CLIENT_COMMANDS_SIZE', mostOfAll, all, `${path} is too large`)
  }

  function readOptions(path: string, value: unknown): unknown {
    const { list, length } = listOf(path, value, MOST_OPTIONS, 'options')
    const seen: Record<string, true> = { __proto__: null } as never
    let text = '['
    for (let index = 0; index < length; index++) {
      const option = list[index]
      const at = `${path}[${index}]`
      if (typeof option !== 'object' || option === null) return fail(at, 'an object with value and label', option)
      const { value: key, label } = option as { value: unknown; label: unknown }
      if (!isKey(key)) return fail(`${at}.value`, 'a text of 1 to 200 characters or a number', key)
      if (seen[`${key}`]) return fail(`${at}.value`, 'another than those of the other options', key)
      seen[`${key}`] = true
      const shown = readText(`${at}.label`, label, 2000, false)
      const item = `{"value":${safe.stringify(key)},"label":${safe.stringify(shown)}}`
      text += `${index === 0 ? '' : ','}${item}`
      spend(path, item.length, text.length)
    }
    return frozenList(safe.parse(`${text}]`) as object[])
  }

  function readRows({ columns }: ElementDefinition, path: string, value: unknown): unknown {
    const { list, length } = listOf(path, value, MOST_ROWS, 'rows')
    const seen: Record<string, true> = { __proto__: null } as never
    let text = '['
    for (let index = 0; index < length; index++) {
      const row = list[index]
      const at = `${path}[${index}]`
      if (typeof row !== 'object' || row === null) return fail(at, 'an object with id and cells', row)
      const names = safe.keys(row)
      let id: unknown
      let cells = ''
      for (let place = 0; place < names.length; place++) {
        const name = names[place] as string
        const cell = (row as Record<string, unknown>)[name]
        if (name === 'id') id = cell
        else cells += `,${safe.stringify(name)}:${readCell(columns, `${at}.${name}`, name, cell)}`
      }
      if (!isKey(id)) return fail(`${at}.id`, 'a text of 1 to 200 characters or a number', id)
      if (seen[`${id}`]) return fail(`${at}.id`, 'another than those of the other rows', id)
      seen[`${id}`] = true
      const item = `{"id":${safe.stringify(id)}${cells}}`
      text += `${index === 0 ? '' : ','}${item}`
      spend(path, item.length, text.length)
    }
    return frozenRows(safe.parse(`${text}]`) as Row[])
  }

  /** @returns JSON */
  function readCell(columns: ElementDefinition['columns'], path: string, name: string, cell: unknown): string {
    let type: string | null = null
    for (let index = 0; index < columns.length; index++) {
      const column = columns[index] as { name: string; type: string }
      if (column.name === name) type = column.type
    }
    if (type === null) throw new safe.TypeError(`${safe.slice(path, 0, 300)}: the table has no such column`)
    if (cell === null || cell === undefined) return 'null'
    if (type === 'number')
      return typeof cell === 'number' && safe.isFinite(cell)
        ? safe.stringify(cell)
        : fail(path, 'a number or null', cell)
    if (type === 'boolean')
      return typeof cell === 'boolean' ? safe.stringify(cell) : fail(path, 'true, false or null', cell)
    if (type === 'date')
      return isDay(cell) ? safe.stringify(cell) : fail(path, 'a date written YYYY-MM-DD or null', cell)
    if (typeof cell === 'string' && cell.length <= 10_000 && safe.isWellFormed(cell)) return safe.stringify(cell)
    return fail(path, 'a text of at most 10000 characters or null', cell)
  }

  function frozenRows(rows: Row[]): readonly Row[] {
    return frozenList(rows) as readonly Row[]
  }

  function frozenList(items: object[]): readonly object[] {
    for (let index = 0; index < items.length; index++) safe.freeze(items[index])
    return safe.freeze(items)
  }

  function idsOf(rows: readonly Row[]): Record<string, string | number> {
    const ids: Record<string, string | number> = { __proto__: null } as never
    for (let index = 0; index < rows.length; index++) {
      const { id } = rows[index] as { id: string | number }
      ids[`${id}`] = id
    }
    return ids
  }

  function readSelected(element: Element, path: string, value: unknown): unknown {
    const { selection } = element.definition
    const most = selection === 'none' ? 0 : selection === 'single' ? 1 : MOST_ROWS
    const { list, length } = listOf(path, value, most, 'ids')
    const ids = idsOf(element.state.rows as Row[])
    const found = api.list<string | number>()
    for (let index = 0; index < length; index++) {
      const id = list[index]
      const known = isKey(id) ? ids[`${id}`] : undefined
      if (known === undefined) return fail(`${path}[${index}]`, 'the id of a row', id)
      found[index] = known
    }
    return safe.freeze(safe.toArray(found))
  }

  function readSort({ columns }: ElementDefinition, path: string, value: unknown): unknown {
    if (value === null || value === undefined) return null
    if (typeof value !== 'object') return fail(path, 'null or an object with column and direction', value)
    const { column, direction } = value as { column: unknown; direction: unknown }
    if (direction !== 'ascending' && direction !== 'descending')
      return fail(`${path}.direction`, '"ascending" or "descending"', direction)
    for (let index = 0; index < columns.length; index++) {
      if ((columns[index] as { name: string }).name === column) return safe.freeze({ column, direction })
    }
    return fail(`${path}.column`, 'the name of a column', column)
  }

  // --- changes -------------------------------------------------------------------------------------------------------------

  function note(form: Form): void {
    for (let index = 0; index < changedForms.length; index++) if (changedForms[index] === form) return
    changedForms[changedForms.length] = form
  }

  /** In this order, since a call can be cut off at any function: nothing is set that the host would not learn of. */
  function setState(form: Form, part: Part, key: string, value: unknown): void {
    note(form)
    part.changed ??= { __proto__: null } as never
    const changed = part.changed as Record<string, unknown>
    if (!safe.hasOwn(changed, key)) changed[key] = part.state[key]
    part.state[key] = value
  }

  function change(form: Form, element: Element, key: string, value: unknown): void {
    if (key === 'rows') keepSelected(form, element, value as Row[])
    if (key === 'options') keepChoice(form, element, value as Option[])
    setState(form, element, key, value)
  }

  function keepSelected(form: Form, element: Element, rows: readonly Row[]): void {
    const selected = element.state.selected as (string | number)[]
    const ids = idsOf(rows)
    const kept = api.list<string | number>()
    for (let index = 0; index < selected.length; index++) {
      const known = ids[`${selected[index] as string}`]
      if (known !== undefined) kept[kept.length] = known
    }
    if (kept.length < selected.length) change(form, element, 'selected', safe.freeze(safe.toArray(kept)))
  }

  function keepChoice(form: Form, element: Element, options: readonly Option[]): void {
    const { value } = element.state
    for (let index = 0; index < options.length; index++) if ((options[index] as Option).value === value) return
    if (value !== null) change(form, element, 'value', null)
  }

  function partsOf({ own, made: elements }: Form): Part[] {
    const parts = api.list<Part>()
    parts[0] = own
    for (let index = 0; index < elements.length; index++) parts[index + 1] = elements[index] as Element
    return parts
  }

  /** Once the host took what the last call told, it counts as known; else it has to be told again. */
  function settle(didCount: boolean): void {
    const forms = toldForms
    toldForms = api.list()
    for (let index = 0; index < forms.length; index++) {
      const form = forms[index] as Form
      if (!didCount) note(form)
      const parts = partsOf(form)
      for (let place = 0; place < parts.length; place++) {
        const part = parts[place] as Part
        if (!didCount && part.told !== null) restoreChanges(part, part.told)
        part.told = null
      }
    }
    if (!didCount) return
    known.shown = told.shown
    known.listening = told.listening
  }

  function restoreChanges(part: Part, before: Record<string, unknown>): void {
    part.changed ??= { __proto__: null } as never
    const names = safe.keys(before)
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      ;(part.changed as Record<string, unknown>)[name] = before[name]
    }
  }

  /** Tells what changed. What is too large to be told becomes what the host knows again. @throws the last such fault */
  function flush(): void {
    let fault: unknown = null
    const forms = changedForms
    for (let index = 0; index < forms.length; index++) fault = flushSmall(forms[index] as Form) ?? fault
    for (let index = 0; index < forms.length; index++) fault = flushLarge(forms[index] as Form) ?? fault
    if (current !== known.shown) api.command('show', [current])
    const listening = listenedTypes()
    if (listening.text !== known.listening) api.command('listening', [listening.types])
    if (fault !== null) throw fault
    // First, so that `settle` finds all of them should the call be cut off here.
    toldForms = forms
    changedForms = api.list()
    told.shown = current
    told.listening = listening.text
    for (let index = 0; index < forms.length; index++) rememberTold(forms[index] as Form)
  }

  function rememberTold(form: Form): void {
    const parts = partsOf(form)
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] as Part
      part.told = part.changed
      part.changed = null
    }
  }

  /** Many elements share a command. @returns a fault, null if there was none */
  function flushSmall(form: Form): unknown {
    const parts = partsOf(form)
    let fault: unknown = null
    let pack = api.list<Part>()
    let size = 0
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] as Part
      const own = part.changed === null ? 0 : sizeOfChanges(part)
      if (own === 0 || own > PIECE) continue
      if (size + own > PIECE) {
        fault = tell(form, pack) ?? fault
        pack = api.list()
        size = 0
      }
      pack[pack.length] = part
      size += own
    }
    return (pack.length === 0 ? null : tell(form, pack)) ?? fault
  }

  function flushLarge(form: Form): unknown {
    const parts = partsOf(form)
    let fault: unknown = null
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] as Part
      if (part.changed === null || sizeOfChanges(part) <= PIECE) continue
      const pack = api.list<Part>()
      pack[0] = part
      fault = tell(form, pack) ?? fault
    }
    return fault
  }

  /** @returns why it could not be told, null if it was */
  function tell(form: Form, pack: Part[]): unknown {
    try {
      api.command('update', [updateOf(form, pack)])
      return null
    } catch (error) {
      for (let index = 0; index < pack.length; index++) goBack(pack[index] as Part)
      if (api.isQuotaError(error)) {
        const { path } = pack.length === 1 ? (pack[0] as Part) : form.own
        ;(error as Error).message = `${path}: what changed is too much for one call: ${(error as Error).message}`
      }
      return error
    }
  }

  function goBack(part: Part): void {
    const names = safe.keys(part.changed as object)
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      part.state[name] = (part.changed as Record<string, unknown>)[name]
    }
    part.changed = null
  }

  function updateOf({ name, own }: Form, pack: Part[]): Update {
    const update: Update = { __proto__: null, form: name, elements: empty() } as never
    for (let index = 0; index < pack.length; index++) {
      const part = pack[index] as Part
      if (part === own) update.title = own.state.title
      else update.elements[(part as Element).definition.name] = valuesOf(name, part as Element)
    }
    return update
  }

  /** Of lists that are too long for a command only the end: what comes before it is told by commands of its own. */
  function valuesOf(form: string, { definition, changed, state }: Element): Record<string, unknown> {
    const values = empty() as Record<string, unknown>
    const keys = safe.keys(changed as object)
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as string
      const value = state[key]
      values[key] = safe.isArray(value) ? tellBeginning(form, definition.name, key, value) : value
    }
    return values
  }

  /** @returns the rest */
  function tellBeginning(form: string, element: string, property: string, items: unknown[]): unknown[] {
    let piece = api.list<unknown>()
    let size = 0
    for (let index = 0; index < items.length; index++) {
      const own = sizeOf(items[index])
      if (size + own > PIECE && piece.length > 0) {
        api.command('beginning', [{ form, element, property, items: piece }])
        piece = api.list()
        size = 0
      }
      piece[piece.length] = items[index]
      size += own
    }
    return piece
  }

  function sizeOfChanges({ changed, state }: Part): number {
    const keys = safe.keys(changed as object)
    let size = 0
    for (let index = 0; index < keys.length; index++) size += 20 + sizeOf(state[keys[index] as string])
    return size
  }

  /** Roughly the characters of what was checked: frozen lists, their items, texts and numbers. */
  function sizeOf(value: unknown): number {
    if (typeof value === 'string') return value.length + 3
    if (typeof value !== 'object' || value === null) return 8
    let size = 4
    if (safe.isArray(value)) {
      for (let index = 0; index < value.length; index++) size += sizeOf(value[index])
      return size
    }
    const names = safe.keys(value)
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      size += name.length + 4 + sizeOf((value as Record<string, unknown>)[name])
    }
    return size
  }

  function listenedTypes(): { types: string[]; text: string } {
    const hasListeners = api.offered('hasListeners')
    const types = api.list<string>()
    let text = ''
    for (let index = 0; index < ASKED.length; index++) {
      const type = ASKED[index] as string
      if (hasListeners?.(type) !== true) continue
      types[types.length] = type
      text += `${type} `
    }
    return { types, text }
  }

  // --- events and life -------------------------------------------------------------------------------------------------

  /**
   * The form's own function, then the listeners. @param handler the function's name, if there is one
   * @returns what the function returned, and whether all listeners agreed
   */
  async function fire(form: Form, element: Element | null, type: string, args: unknown[], handler: string | undefined) {
    const events = api.offered('defaultEvent')
    const started = events?.(type, form.name, element === null ? null : element.definition.name, args) ?? null
    let returned: unknown
    const functions = scripts[form.name]
    const own = handler === undefined || functions === undefined ? undefined : read(functions, handler)
    if (typeof own === 'function') {
      const given = api.list<unknown>()
      for (let index = 0; index < args.length; index++) given[index] = args[index]
      given[given.length] = started?.event
      const call = calls
      returned = safe.apply(own as Run, viewOf(form.name), given)
      if (safe.isPromise(returned)) returned = await returned
      if (call !== calls) throw new safe.Error('the call that waited for it is over')
    }
    return { __proto__: null, returned, agreed: started === null || started.fire() } as unknown as {
      returned: unknown
      agreed: boolean
    }
  }

  function argsOf(...items: unknown[]): unknown[] {
    return items
  }

  function life(form: Form, type: string, args: unknown[] = argsOf()) {
    return fire(form, null, type, args, read(form.handlers, type) as string | undefined)
  }

  async function show(name: string): Promise<void> {
    if (name === current) return
    if (current !== null) {
      const before = formOf(current)
      const { returned, agreed } = await life(before, 'onBeforeHide')
      if (returned === false || !agreed) return
      await life(before, 'onHide')
    }
    const form = formOf(name)
    const isFirst = !form.hasLoaded
    form.hasLoaded = true
    current = name
    if (isFirst) await life(form, 'onLoad')
    await life(form, 'onShow', argsOf(isFirst))
  }

  async function showWanted(): Promise<void> {
    for (let shows = 0; wanted !== null; shows++) {
      const name = wanted
      wanted = null
      if (shows >= MOST_SHOWS) throw new safe.RangeError(`forms that are shown asked for others ${MOST_SHOWS} times`)
      await show(name)
    }
    flush()
  }

  /** The user's input. A handler that refuses it, fails or is cut off leaves the old value. */
  async function changeValue(form: Form, element: Element, value: unknown): Promise<void> {
    const before = element.state.value
    const after = readValue(element, `${element.path}.value`, value)
    const entered = { form, element, before, after }
    undecided = entered
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

  /** What the handler itself set meanwhile stays. */
  function takeBack({ form, element, before, after }: Entered): void {
    if (element.state.value === after) change(form, element, 'value', before)
  }

  function select(form: Form, element: Element, { rows, selected }: { rows: unknown[]; selected: unknown }): unknown {
    const single = element.definition.selection === 'single'
    const isMeant: Record<string, true> = { __proto__: null } as never
    for (let index = 0; index < rows.length; index++) isMeant[`${rows[index] as string}`] = true
    const before = element.state.selected as (string | number)[]
    const after = api.list<unknown>()
    for (let index = 0; index < before.length; index++) {
      if (!isMeant[`${before[index] as string}`] && !(single && selected)) after[after.length] = before[index]
    }
    for (let index = 0; index < rows.length && selected === true; index++) after[after.length] = rows[index]
    change(form, element, 'selected', readSelected(element, `${element.path}.selected`, safe.toArray(after)))
    return element.state.selected
  }

  async function handle({ form: name, element: elementName, type, value }: Event): Promise<void> {
    if (name !== current) return
    const form = formOf(name)
    const element = elementOf(form, elementName)
    if (type === 'onResize') {
      await life(form, type)
      return
    }
    // The host checked it against what it knew; a call before this one may have changed that.
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
    } else if (type === 'onAction' && element.definition.type === 'table') {
      await fire(form, element, type, argsOf(value), handler)
    } else await fire(form, element, type, argsOf(), handler)
  }

  async function close(): Promise<void> {
    for (let index = 0; index < settings.names.length; index++) {
      const form = made[settings.names[index] as string]
      if (form?.hasLoaded) await life(form, 'onUnload')
    }
  }

  function wish(name: string): boolean {
    if (!isForm(name)) return false
    const only = api.state()
    if (only !== null && name !== only) {
      throw new safe.TypeError(`application.showForm: nobody is signed in, so only the form ${only} can be shown`)
    }
    wanted = name
    return true
  }

  api.offer('showForm', wish)
  api.offer('formName', (value) => {
    const names = safe.keys(views)
    for (let index = 0; index < names.length; index++)
      if (views[names[index] as string] === value) return names[index] ?? null
    return null
  })
  api.onCall((_only, lastCounted) => {
    calls++
    // Of a call that failed. One that was cut off ran no `finally`, so what a call changes is set back here.
    wanted = null
    settle(lastCounted)
    if (undecided !== null) takeBack(undecided)
    undecided = null
  })
  api.beforeReturn(() => {
    if (wanted !== null) return showWanted()
    flush()
    return null
  })
  /** Makes the form `this` of a function that is called without a receiver; it stays the same in all else. */
  function bindTo(view: object): (run: Run) => Run {
    const apply = (run: Run, receiver: unknown, args: unknown[]): unknown =>
      safe.apply(run, receiver === undefined ? view : receiver, args)
    return safe.freeze((run: Run) => {
      const bound = safe.proxy(run, { __proto__: null, apply } as ProxyHandler<Run>)
      const { prototype } = run as { prototype?: object }
      // Async functions have none, and that of a generator names no constructor.
      if (prototype !== undefined && safe.hasOwn(prototype, 'constructor')) {
        safe.defineProperty(prototype, 'constructor', { value: bound, writable: true, configurable: true })
      }
      return bound
    })
  }

  api.onScript((name, script) => {
    const view = viewOf(name)
    scripts[name] = safe.apply(script, view, argsOf(bindTo(view))) as Record<string, Run>
  })
  api.entry('event', handle as never)
  api.entry('show', wish as never)
  api.entry('close', close)
  /** After a call that failed: what it changed all the same is told now. */
  api.entry('flush', () => {})
  api.onLoad((loaded) => {
    // A version that names no forms, as tests and the check of the guest parts have it.
    settings = loaded ?? settings
    const target = empty()
    for (let index = 0; index < settings.names.length; index++) {
      const name = settings.names[index] as string
      define(target, name, () => viewOf(name))
    }
    api.defineGlobal('forms', strict(target, 'forms', settings.names, readOnly('forms')))
  })
}
