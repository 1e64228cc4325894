import * as z from 'zod'
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

/** What the binding `forms` needs of the host. */
export interface FormsPorts {
  update(call: Call, update: FormUpdate): void
  show(call: Call, form: string): void
}

const EVERY = ['visible', 'enabled', 'label', 'hint'] as const
const INPUT = [...EVERY, 'value', 'required', 'error'] as const
const LINE = [...INPUT, 'placeholder'] as const

/** What scripts can change of an element, by its type. */
const PROPERTIES: Readonly<Record<ElementType, readonly Property[]>> = {
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
  elements: z
    .record(Name, State)
    .refine((elements) => Object.keys(elements).length <= MAX_ELEMENTS, { error: 'has too many elements' }),
})

type Property = keyof z.infer<typeof State>

/** What changed of one form; what is absent stays as it was. */
export type FormUpdate = z.infer<typeof Update>

/** The elements of each definition, by name. */
const knownElements = new WeakMap<FormDefinition, ReadonlyMap<string, ElementDefinition>>()

export default function forms(ports: FormsPorts): Plugin {
  return {
    name: 'forms',
    clientsOnly: true,
    guest: new URL('./guest.ts', import.meta.url),
    commands: {
      update: platformCommand(
        ([update], solution) => checkUpdate(Update.parse(update), solution),
        (call, update) => ports.update(call, update),
      ),
      show: platformCommand(
        ([form], solution) => {
          needForm(Name.parse(form), solution)
          return form as string
        },
        (call, form) => ports.show(call, form),
      ),
    },
    settings: ({ definitions }): Json => ({ names: [...definitions.keys()], properties: PROPERTIES }),
    tables: ({ definitions }) => ({
      forms: Object.fromEntries([...definitions].map(([name, form]) => [name, JSON.stringify(guestForm(form))])),
    }),
  }
}

function platformCommand<T>(
  check: (args: readonly unknown[], solution: SolutionFacts) => T,
  apply: (call: Call, checked: T) => void,
): Command {
  return {
    withoutLogin: false,
    decidesLogin: false,
    check: (args, solution) => check(z.array(z.unknown()).length(1).parse(args), solution),
    apply,
  }
}

/** @throws TypeError */
function needForm(name: string, { definitions }: SolutionFacts): FormDefinition {
  const form = definitions.get(name)
  if (form === undefined) throw new TypeError('there is no such form')
  return form
}

/** @throws TypeError for what the form's definition does not know */
function checkUpdate(update: FormUpdate, solution: SolutionFacts): FormUpdate {
  const known = elementsByName(needForm(update.form, solution))
  for (const [name, state] of Object.entries(update.elements)) {
    const element = known.get(name)
    if (element === undefined) throw new TypeError('the form has no such element')
    for (const property of Object.keys(state) as Property[]) {
      if (!PROPERTIES[element.type].includes(property)) throw new TypeError('the element has no such property')
    }
    if (state.value !== undefined && !isValue(element, state.value)) throw new TypeError('the value is of another type')
    if (element.type === 'table' && state.rows !== undefined) {
      const columns = new Set(['id', ...element.columns.map((column) => column.name)])
      if (state.rows.some((row) => Object.keys(row).some((key) => !columns.has(key)))) {
        throw new TypeError('the table has no such column')
      }
    }
  }
  return update
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
  const made = new Map([...elementsOf(form.layout)].map((element) => [element.name, element]))
  knownElements.set(form, made)
  return made
}

/** A form as the guest part reads it at its first use: without its layout. */
function guestForm(form: FormDefinition): Json {
  const handlers = Object.fromEntries(FORM_HANDLERS.map((event) => [event, form[event] ?? event]))
  return { title: form.title ?? '', handlers, elements: [...elementsOf(form.layout)].map(guestElement) }
}

function guestElement(element: ElementDefinition): Json {
  const { layout: _, tabs, ...rest } = element as unknown as Record<string, Json> & { tabs?: { name: string }[] }
  const handlers = Object.fromEntries(Object.entries(rest).filter(([key]) => FORM_EVENTS.some((name) => name === key)))
  return { ...rest, handlers, ...(tabs ? { tabs: tabs.map(({ name }) => name) } : {}) }
}
