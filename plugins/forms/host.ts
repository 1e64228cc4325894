import { isAllowedAddress } from '../../runtime/address.ts'
import { FORM_EVENTS } from '../../runtime/bundle/manifest.ts'
import {
  type ElementDefinition,
  type ElementType,
  elementsOf,
  FORM_HANDLERS,
  type FormDefinition,
  MAX_ELEMENTS,
  MAX_OPTIONS,
  MAX_TABLE_ROWS,
} from '../../runtime/forms/form-definition.ts'
import type { Call, Command, Json, Plugin, SolutionFacts } from '../../runtime/plugin.ts'
import { z } from '../../runtime/zod.ts'

/** The host services behind the binding `forms`. */
export interface FormsPorts {
  update(call: Call, update: FormUpdate): void
  show(call: Call, form: string): void
  /**
   * Called when a script requests another form while the user has unsaved input. The user must first agree to discard
   * it.
   */
  leaving(call: Call, form: string): void
  /** The only form that may be shown while no user is signed in; null if any form may be shown. */
  onlyForm(call: Call): string | null
  /** Sets the events, among `ASKED_EVENTS`, that scripts listen to in any form. */
  listening(call: Call, types: readonly AskedEvent[]): void
}

/** Browsers send these events only if a form's function or a listener added with `eventsManager` needs them. */
const ASKED_EVENTS = ['onElementFocusGained', 'onElementFocusLost', 'onAction', 'onResize'] as const
export type AskedEvent = (typeof ASKED_EVENTS)[number]

const EVERY = ['visible', 'enabled', 'label', 'hint'] as const
const INPUT = [...EVERY, 'value', 'required', 'error'] as const
const LINE = [...INPUT, 'placeholder'] as const

/** The properties that scripts can change, by element type. */
export const PROPERTIES: Readonly<Record<ElementType, readonly Property[]>> = {
  label: EVERY,
  heading: EVERY,
  button: EVERY,
  link: [...EVERY, 'href'],
  image: [...EVERY, 'src', 'alt'],
  text: LINE,
  password: LINE,
  email: LINE,
  textarea: LINE,
  number: LINE,
  date: INPUT,
  checkbox: INPUT,
  select: [...LINE, 'options'],
  radio: [...INPUT, 'options'],
  table: [...EVERY, 'rows', 'selected', 'sort', 'page'],
  panel: EVERY,
  tabs: [...EVERY, 'value'],
}

const Name = z.string().min(1).max(64)
const Text = z.string().max(2000)
const Cell = z.union([z.string().max(100_000), z.number(), z.boolean(), z.null()])
const Key = z.union([z.string().min(1).max(200), z.number()])
const State = z.strictObject({
  value: Cell.optional(),
  visible: z.boolean().optional(),
  enabled: z.boolean().optional(),
  required: z.boolean().optional(),
  label: Text.optional(),
  hint: Text.optional(),
  placeholder: Text.optional(),
  error: Text.optional(),
  alt: Text.optional(),
  href: z.string().max(2048).refine(isAllowedAddress).optional(),
  src: z
    .string()
    .max(240)
    .regex(/^(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)*$/)
    .optional(),
  options: z
    .array(z.strictObject({ value: Key, label: Text }))
    .max(MAX_OPTIONS)
    .optional(),
  rows: z
    .array(z.object({ id: Key }).catchall(Cell))
    .max(MAX_TABLE_ROWS)
    .optional(),
  selected: z.array(Key).max(MAX_TABLE_ROWS).optional(),
  sort: z
    .strictObject({ column: Name, direction: z.enum(['ascending', 'descending']) })
    .nullable()
    .optional(),
  page: z.int().min(1).max(1_000_000).optional(),
})
const Update = z.strictObject({
  form: Name,
  title: Text.optional(),
  unsaved: z.boolean().optional(),
  elements: z.record(Name, State).refine((elements) => Object.keys(elements).length <= MAX_ELEMENTS, {
    error: `has more than ${MAX_ELEMENTS} elements`,
  }),
})

/** The first items of a list that doesn't fit in one command. */
const Beginning = z.discriminatedUnion('property', [
  z.strictObject({ form: Name, element: Name, property: z.literal('rows'), items: State.shape.rows.unwrap() }),
  z.strictObject({ form: Name, element: Name, property: z.literal('options'), items: State.shape.options.unwrap() }),
  z.strictObject({ form: Name, element: Name, property: z.literal('selected'), items: State.shape.selected.unwrap() }),
])
const LISTS = ['rows', 'options', 'selected'] as const
const MOST_ITEMS = { rows: MAX_TABLE_ROWS, options: MAX_OPTIONS, selected: MAX_TABLE_ROWS }

type Property = keyof z.infer<typeof State>
type Beginning = z.infer<typeof Beginning>

/** Changes to one form; absent properties are unchanged. */
export type FormUpdate = z.infer<typeof Update>

/** Each definition's elements, by name. */
const knownElements = new WeakMap<FormDefinition, ReadonlyMap<string, ElementDefinition>>()

export default function forms(ports: FormsPorts): Plugin {
  /** The first items of lists, by call and `keyOf`. They are stored until `update` receives the other items. */
  const begun = new WeakMap<Call, Map<string, unknown[]>>()

  function begin(call: Call, { form, element, property, items }: Beginning): void {
    const ofCall = begun.get(call) ?? new Map<string, unknown[]>()
    begun.set(call, ofCall)
    const key = keyOf(form, element, property)
    const before = ofCall.get(key) ?? []
    ofCall.set(key, before)
    // Only a compromised guest gets here: the binding never sends more items than allowed.
    if (before.length + items.length <= MOST_ITEMS[property]) before.push(...items)
  }

  function finish(call: Call, update: FormUpdate): FormUpdate {
    const ofCall = begun.get(call)
    if (ofCall === undefined) return update
    const elements = Object.entries(update.elements).map(([name, state]) => {
      const lists = LISTS.flatMap((property) => {
        const key = keyOf(update.form, name, property)
        const before = ofCall.get(key)
        const rest = state[property]
        if (before === undefined || rest === undefined) return []
        ofCall.delete(key)
        return [[property, [...before, ...rest].slice(0, MOST_ITEMS[property])]]
      })
      return [name, { ...state, ...Object.fromEntries(lists) }]
    })
    return { ...update, elements: Object.fromEntries(elements) }
  }

  function formCommand(apply: (call: Call, form: string) => void): Command {
    return platformCommand(
      ([form], solution) => {
        needForm(Name.parse(form), solution)
        return form as string
      },
      (call, form) => {
        const only = ports.onlyForm(call)
        if (only === null || form === only) apply(call, form)
      },
    )
  }

  return {
    name: 'forms',
    clientsOnly: true,
    guest: new URL('./guest.ts', import.meta.url),
    commands: {
      update: platformCommand(
        ([update], solution) => checkUpdate(Update.parse(update), solution),
        (call, update) => ports.update(call, finish(call, update)),
      ),
      beginning: platformCommand(
        ([beginning], solution) => checkBeginning(Beginning.parse(beginning), solution),
        begin,
      ),
      show: formCommand(ports.show),
      leaving: formCommand(ports.leaving),
      listening: platformCommand(
        ([types]) => z.array(z.enum(ASKED_EVENTS)).max(ASKED_EVENTS.length).parse(types),
        (call, types) => ports.listening(call, types),
      ),
    },
    state: (call): Json => ports.onlyForm(call),
    settings: ({ definitions }): Json => ({
      names: [...definitions.keys()],
      properties: PROPERTIES,
      saves: Object.fromEntries([...definitions].flatMap(([name, { saves }]) => (saves ? [[name, saves]] : []))),
    }),
    tables: ({ definitions }) => ({
      forms: Object.fromEntries([...definitions].map(([name, form]) => [name, JSON.stringify(guestForm(form))])),
      elements: Object.fromEntries(
        [...definitions].flatMap(([form, { layout }]) =>
          [...elementsOf(layout)].map((one) => [`${form} ${one.name}`, JSON.stringify(guestElement(one))]),
        ),
      ),
    }),
  }
}

function keyOf(form: string, element: string, property: (typeof LISTS)[number]): string {
  return `${property} ${element} ${form}`
}

/** Allowed without a signed-in user, so that a login form can show messages, for example about a wrong password. */
function platformCommand<T>(
  check: (args: readonly unknown[], solution: SolutionFacts) => T,
  apply: (call: Call, checked: T) => void,
): Command {
  return {
    withoutLogin: true,
    decidesLogin: false,
    check: (args, solution) => check(z.array(z.unknown()).length(1).parse(args), solution),
    apply,
  }
}

/**
 * Returns the definition of a form.
 * @throws TypeError if the solution has no form with this name
 */
function needForm(name: string, { definitions }: SolutionFacts): FormDefinition {
  const form = definitions.get(name)
  if (form === undefined) throw new TypeError(`the solution has no form "${name}"`)
  return form
}

/** @throws TypeError if the update doesn't match the form's definition */
function checkUpdate(update: FormUpdate, solution: SolutionFacts): FormUpdate {
  const form = needForm(update.form, solution)
  if (update.unsaved !== undefined && form.saves === undefined)
    throw new TypeError(`the form "${update.form}" cannot have unsaved changes, because its JSON file has no "saves"`)
  const known = elementsByName(form)
  for (const [name, state] of Object.entries(update.elements)) {
    const element = known.get(name)
    if (element === undefined) throw new TypeError(`the form "${update.form}" has no element "${name}"`)
    for (const property of Object.keys(state) as Property[]) {
      if (!PROPERTIES[element.type].includes(property))
        throw new TypeError(`the element "${name}" has no property "${property}"`)
    }
    if (state.value !== undefined && !isValue(element, state.value))
      throw new TypeError(`the value of "${name}" has the wrong type`)
    if (element.type === 'table' && state.rows !== undefined) {
      const columns = new Set(['id', ...element.columns.map((column) => column.name)])
      if (state.rows.some((row) => Object.keys(row).some((key) => !columns.has(key)))) {
        throw new TypeError(`a row in the table "${name}" has a cell for a column that does not exist`)
      }
    }
  }
  return update
}

/** @throws TypeError if the items don't match the form's definition */
function checkBeginning(beginning: Beginning, solution: SolutionFacts): Beginning {
  const { form, element, property, items } = beginning
  checkUpdate({ form, elements: { [element]: { [property]: items } } }, solution)
  return beginning
}

function isValue(element: ElementDefinition, value: z.infer<typeof Cell>): boolean {
  switch (element.type) {
    case 'checkbox':
      return typeof value === 'boolean'
    case 'number':
      return value === null || typeof value === 'number'
    case 'select':
    case 'radio':
      return value === null || typeof value === 'string' || typeof value === 'number'
    case 'date':
      return value === null || z.iso.date().safeParse(value).success
    case 'tabs':
      return element.tabs.some(({ name }) => name === value)
    case 'text':
    case 'password':
    case 'email':
    case 'textarea':
      return typeof value === 'string' && value.length <= element.maxLength
    default:
      return false
  }
}

function elementsByName(form: FormDefinition): ReadonlyMap<string, ElementDefinition> {
  const known = knownElements.get(form)
  if (known !== undefined) return known
  const created = new Map([...elementsOf(form.layout)].map((element) => [element.name, element]))
  knownElements.set(form, created)
  return created
}

/** The data about a form that the guest part requests on first use. */
function guestForm(form: FormDefinition): Json {
  const handlers = Object.fromEntries(FORM_HANDLERS.map((event) => [event, form[event] ?? event]))
  return { title: form.title ?? '', handlers, names: [...elementsOf(form.layout)].map(({ name }) => name) }
}

/** The data about an element that the guest part needs, without the elements that it contains. */
function guestElement(element: ElementDefinition): Json {
  const shown: Record<string, Json> = {}
  const handlers: Record<string, Json> = {}
  for (const [key, value] of Object.entries(element) as [string, Json | undefined][]) {
    if (key === 'layout' || value === undefined) continue
    shown[key] = value
    if (FORM_EVENTS.some((name) => name === key)) handlers[key] = value
  }
  return { ...shown, handlers, ...(element.type === 'tabs' ? { tabs: element.tabs.map(({ name }) => name) } : {}) }
}
