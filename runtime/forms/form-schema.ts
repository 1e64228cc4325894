import { list, OwnIdentifier, orUnknownKey, text } from '../bundle/schema-parts.ts'
import { z } from '../zod.ts'
import { element, Handler, ITEM_KEYS, LEAVES, Permission, refuse, ShownText, whole } from './element-schemas.ts'
import {
  type ElementDefinition,
  type FORM_HANDLERS,
  type FormDefinition,
  type Layout,
  MAX_ELEMENTS,
  MAX_ROWS,
  MAX_TABS,
  ROW_WIDTH,
} from './form-definition.ts'

const Column = z
  .strictObject(
    {
      width: whole(1, ROW_WIDTH).optional().meta({
        title: 'Width',
        description: 'The width in twelfths of the row; columns without a width share the remaining width.',
      }),
      get elements(): z.ZodType<readonly ElementDefinition[]> {
        return list(ElementSchema, MAX_ELEMENTS)
          .default([])
          .meta({ title: 'Elements', description: 'The elements, from top to bottom.' })
      },
    },
    { error: orUnknownKey('must be an object') },
  )
  .meta({ id: 'column', title: 'Column', description: 'Elements from top to bottom.' })

const Row = z
  .strictObject(
    {
      columns: list(Column, ROW_WIDTH).min(1, { error: 'must have at least one column' }).meta({
        title: 'Columns',
        description: 'The columns, in display order; stacked if the row is too narrow.',
      }),
    },
    { error: orUnknownKey('must be an object with columns') },
  )
  .superRefine(({ columns }, found) => {
    const widths = columns.reduce((sum, { width }) => sum + Math.min(width ?? 1, ROW_WIDTH), 0)
    if (widths > ROW_WIDTH) refuse(found, ['columns'], `must have a total width of at most ${ROW_WIDTH}`, columns)
  })
  .meta({
    id: 'row',
    title: 'Row',
    description: 'Columns next to each other. Their widths, in twelfths of the row, add up to at most 12.',
  })

const LayoutSchema: z.ZodType<Layout> = list(Row, MAX_ROWS)
  .default([])
  .meta({ title: 'Layout', description: 'Rows from top to bottom.' })

const Panel = element('panel', 'A group of elements. Its label is its heading.', { layout: LayoutSchema })

const Tab = z
  .strictObject(
    {
      name: OwnIdentifier.meta({
        title: 'Name',
        description: 'A name that is unique among the form’s elements and tabs.',
      }),
      label: ShownText.meta({
        title: 'Label',
        description: 'The name shown on the tab: text, or "i18n:" followed by a key.',
      }),
      permission: Permission,
      layout: LayoutSchema,
    },
    { error: orUnknownKey('must be an object with name and label') },
  )
  .meta({ title: 'Tab', description: 'A tab: one of several layouts in the same place.' })

const Tabs = element('tabs', 'Several layouts in the same place. Only one of them is visible at a time.', {
  tabs: list(Tab, MAX_TABS)
    .min(1, { error: 'must have at least one tab' })
    .meta({ title: 'Tabs', description: 'The tabs, in display order.' }),
  value: OwnIdentifier.optional().meta({
    title: 'Value',
    description: 'The name of the tab that is initially open. Default: the first tab.',
  }),
})
  .superRefine(({ tabs, value }, found) => {
    if (value !== undefined && !tabs.some(({ name }) => name === value))
      refuse(found, ['value'], 'must be the name of one of the tabs', value)
  })
  .transform((tabs) => ({ ...tabs, value: tabs.value ?? (tabs.tabs[0]?.name as string) }))

const ELEMENTS = [...LEAVES, Panel, Tabs] as const

/** Each element type's keys. */
const SHAPES = new Map(
  [...LEAVES, Panel, Tabs.in].map((schema) => [schema.shape.type.value as string, Object.keys(schema.shape)]),
)

export const ELEMENT_TYPES: readonly string[] = [...SHAPES.keys()]

const ElementSchema: z.ZodType<ElementDefinition> = z
  .discriminatedUnion('type', ELEMENTS, {
    error: ({ code }) =>
      code === 'invalid_union' ? `must be one of ${ELEMENT_TYPES.join(', ')}` : 'must be an object with type and name',
  })
  .meta({ id: 'element', title: 'Element', description: 'An element that the user sees or uses.' })

const HANDLERS = {
  onLoad: Handler.meta({
    title: 'On load',
    description: 'Function (event) that is called before the form is shown for the first time.',
  }),
  onShow: Handler.meta({
    title: 'On show',
    description: 'Function (firstShow, event) that is called each time the form is shown.',
  }),
  onBeforeHide: Handler.meta({
    title: 'On before hide',
    description: 'Function (event) that is called before another form is shown; returning false keeps this form open.',
  }),
  onHide: Handler.meta({
    title: 'On hide',
    description: 'Function (event) that is called when another form is shown.',
  }),
  onUnload: Handler.meta({
    title: 'On unload',
    description: 'Function (event) that is called when the client closes.',
  }),
  onResize: Handler.meta({
    title: 'On resize',
    description: 'Function (event) that is called when the window is resized.',
  }),
} satisfies Record<(typeof FORM_HANDLERS)[number], unknown>

const WrittenForm = z
  .strictObject(
    {
      $schema: text(500).optional().meta({ title: 'Schema', description: 'URL of this schema, used by code editors.' }),
      title: ShownText.optional().meta({
        title: 'Title',
        description: 'The heading of the form and its page: text, or "i18n:" followed by a key.',
      }),
      permission: Permission,
      saves: OwnIdentifier.optional().meta({
        title: 'Saves',
        description:
          'The name of the button that saves the form; users who leave the form with unsaved input are asked to confirm.',
      }),
      ...HANDLERS,
      layout: LayoutSchema,
    },
    { error: orUnknownKey('must be an object') },
  )
  .meta({ title: 'Form', description: 'forms/<name>.json of a solution or module.' })

/**
 * The content of a form's file, as an author writes it. The result, with every default filled in, is also valid input
 * and is returned unchanged. Strict: unknown keys are errors. Call `boundsProblem` first.
 */
export const FormSchema: z.ZodType<FormDefinition> = WrittenForm

/** The keys allowed in an object at `path` of `form`, if it is a part of a form. */
export function formKeys(path: readonly PropertyKey[], form: unknown): readonly string[] {
  const owner = path.at(-4)
  switch (path.at(-2)) {
    case undefined:
      return Object.keys(WrittenForm.shape)
    case 'layout':
      return Object.keys(Row.shape)
    case 'columns':
      return owner === 'layout' ? Object.keys(Column.shape) : ITEM_KEYS.tableColumn
    case 'options':
      return ITEM_KEYS.option
    case 'badges':
      return ITEM_KEYS.badge
    case 'tabs':
      return Object.keys(Tab.shape)
    default:
      return SHAPES.get(String(valueAt([...path, 'type'], form))) ?? []
  }
}

/** The element types that have `key`. */
export function typesWith(key: string): readonly string[] {
  return [...SHAPES].filter(([, keys]) => keys.includes(key)).map(([type]) => type)
}

export function keysOf(type: string): readonly string[] {
  return SHAPES.get(type) ?? []
}

const ELEMENT_HANDLERS = new Map([...SHAPES].map(([type, keys]) => [type, keys.filter((key) => /^on[A-Z]/.test(key))]))

/** An element type's keys whose value is the name of a function in the form's script. */
export function handlersOf(type: string): readonly string[] {
  return ELEMENT_HANDLERS.get(type) ?? []
}

export function valueAt(path: readonly PropertyKey[], form: unknown): unknown {
  let value = form
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<PropertyKey, unknown>)[key]
  }
  return value
}

/** JSON Schema (2020-12) of a form, for completion and checks in editors. */
export function formJsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(WrittenForm, { io: 'input' })
  return { $schema, $id: 'urn:solhost:schema:form.json', ...schema }
}
