import { isAllowedAddress } from '../address.ts'
import {
  isWellFormed,
  list,
  OwnIdentifier,
  orUnknownKey,
  PermissionName,
  pattern,
  text,
} from '../bundle/schema-parts.ts'
import { z } from '../zod.ts'
import {
  BADGE_TONES,
  type Badge,
  MAX_BADGES,
  MAX_OPTIONS,
  MAX_TABLE_COLUMNS,
  MAX_TABLE_ROWS,
  type TableRow,
} from './form-definition.ts'

// The elements that don't contain other elements. Panels and tabs are in form-schema.ts, since they contain whole
// layouts.

/**
 * Maximum number of errors reported for one element. Chosen here: if one of 10,000 table rows is wrong, usually all
 * rows are.
 */
const MAX_REPORTED = 100

const WHETHER = { error: 'must be true or false' }

/** A text shown to users, or `i18n:` and a key. */
export const ShownText = text(2000)

export const Handler = pattern(
  /^[A-Za-z_$][A-Za-z0-9_$]*$/,
  64,
  'the name of a function in the form’s script: 1 to 64 letters (A-Z, a-z), digits, "_" and "$", not starting with a digit',
).optional()

export const Permission = PermissionName.optional().meta({
  title: 'Permission',
  description: 'The permission that users need to see or use the form or element.',
})

/**
 * The schema of an element type, with the properties that every element has. Editors show `what` as the description.
 */
export function element<Type extends string, Shape extends z.ZodRawShape>(type: Type, what: string, shape: Shape) {
  return z
    .strictObject(
      {
        type: z.literal(type).meta({ title: 'Type', description: what }),
        name: OwnIdentifier.meta({
          title: 'Name',
          description:
            'A name that is unique among the form’s elements and tabs. Scripts use forms.<form>.elements.<name>.',
        }),
        label: ShownText.optional().meta({
          title: 'Label',
          description: 'The text that the user sees, or "i18n:" followed by a key.',
        }),
        visible: whether(true, 'Visible', 'Whether the element is shown.'),
        enabled: whether(true, 'Enabled', 'Whether the user can use the element.'),
        permission: Permission,
        hint: ShownText.optional().meta({
          title: 'Hint',
          description: 'A line of help text, or "i18n:" followed by a key.',
        }),
        ...shape,
      },
      { error: orUnknownKey('must be an object with type and name') },
    )
    .meta({ title: type, description: what })
}

function input<Type extends string, Shape extends z.ZodRawShape>(type: Type, what: string, shape: Shape) {
  return element(type, what, {
    required: whether(false, 'Required', 'Whether a value is required.'),
    onElementDataChange: Handler.meta({
      title: 'On data change',
      description:
        'Function (oldValue, newValue, event) that is called after the user changes the value; returning false or a string rejects the change.',
    }),
    onElementFocusGained: Handler.meta({
      title: 'On focus gained',
      description: 'Function (event) that is called when the element gains focus.',
    }),
    onElementFocusLost: Handler.meta({
      title: 'On focus lost',
      description: 'Function (event) that is called when the element loses focus.',
    }),
    ...shape,
  })
}

function textInput<Type extends string, Shape extends z.ZodRawShape>(
  type: Type,
  what: string,
  length: { readonly usual: number; readonly most: number },
  shape: Shape,
) {
  return input(type, what, {
    placeholder: ShownText.optional().meta({
      title: 'Placeholder',
      description: 'Shown while the input is empty: text, or "i18n:" followed by a key.',
    }),
    maxLength: whole(1, length.most)
      .default(length.usual)
      .meta({ title: 'Maximum length', description: 'The maximum number of characters in the value.' }),
    autocomplete: pattern(
      /^[a-z][a-z0-9-]*( [a-z0-9-]+)*$/,
      100,
      'a value of the HTML attribute autocomplete, such as "given-name"',
    )
      .optional()
      .meta({
        title: 'Autocomplete',
        description: 'The kind of data that browsers can fill in, such as "email" or "current-password".',
      }),
    ...shape,
  })
}

const LINE = { usual: 1000, most: 10_000 }

const OneLine = z
  .string({ error: 'must be a string without control characters' })
  .regex(/^[^\x00-\x1f\x7f-\x9f]*$/, { error: 'must be a string without control characters' })
  .refine(isWellFormed, { error: 'must be a string without lone surrogates' })
  .optional()
  .meta({ title: 'Value', description: 'The initial value.' })

const Lines = z
  .string({ error: 'must be a string' })
  .regex(/^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$/, {
    error: 'must be a string without control characters except line breaks and tabs',
  })
  .refine(isWellFormed, { error: 'must be a string without lone surrogates' })
  .optional()
  .meta({ title: 'Value', description: 'The initial value.' })

const Decimal = z.number({ error: 'must be a number' })

const Day = z.iso.date({ error: 'must be a date in the format YYYY-MM-DD' })

const NUMBER_FORMAT = {
  decimals: whole(0, 10)
    .optional()
    .meta({ title: 'Decimals', description: 'The number of digits after the decimal separator.' }),
  currency: pattern(/^[A-Z]{3}$/, 3, 'an ISO 4217 currency code such as EUR')
    .optional()
    .meta({ title: 'Currency', description: 'An ISO 4217 code, such as EUR.' }),
}

const OptionValue = z.union([text(200), Decimal], { error: 'must be a string of 1 to 200 characters or a number' })

const Option = z
  .strictObject(
    {
      value: OptionValue.meta({ title: 'Value', description: 'The value that scripts get; unique among the options.' }),
      label: ShownText.meta({ title: 'Label', description: 'What the user sees: text, or "i18n:" followed by a key.' }),
    },
    { error: orUnknownKey('must be an object with value and label') },
  )
  .meta({ title: 'Option', description: 'An option that users can choose.' })

const CHOICE = {
  options: list(Option, MAX_OPTIONS)
    .default([])
    .meta({ title: 'Options', description: 'The options to choose from; a script can also set them.' }),
  value: OptionValue.optional().meta({
    title: 'Value',
    description: 'The value of the option that is initially selected.',
  }),
}

const BadgeSchema = z
  .strictObject(
    {
      value: text(200).meta({ title: 'Value', description: 'The cell’s value; unique among the column’s badges.' }),
      label: ShownText.meta({ title: 'Label', description: 'What the user sees: text, or "i18n:" followed by a key.' }),
      tone: z
        .enum(BADGE_TONES, { error: `must be one of ${BADGE_TONES.join(', ')}` })
        .default('neutral')
        .meta({ title: 'Tone', description: 'The color.' }),
    },
    { error: orUnknownKey('must be an object with value and label') },
  )
  .meta({ title: 'Badge', description: 'A badge that replaces one of the column’s values.' })

const TableColumn = z
  .strictObject(
    {
      name: OwnIdentifier.meta({
        title: 'Name',
        description: 'The key under which each row stores its cell for this column; unique in the table.',
      }),
      label: ShownText.optional().meta({
        title: 'Label',
        description: 'The column’s heading: text, or "i18n:" followed by a key.',
      }),
      type: z
        .enum(['text', 'number', 'date', 'boolean'], { error: 'must be one of text, number, date, boolean' })
        .default('text')
        .meta({ title: 'Type', description: 'The type of the column’s cells.' }),
      ...NUMBER_FORMAT,
      sortable: whether(false, 'Sortable', 'Whether the user can sort by this column.'),
      badges: list(BadgeSchema, MAX_BADGES).optional().meta({
        title: 'Badges',
        description:
          'For columns of type text: values that are shown as badges with labels. Sorting by the column uses the order of this list.',
      }),
      line: z
        .union([z.literal(1), z.literal(2)], { error: 'must be 1 or 2' })
        .optional()
        .meta({
          title: 'Line',
          description:
            'For narrow windows: the line (1 or 2) of the table row on which the cell is shown, without the column’s label.',
        }),
    },
    { error: orUnknownKey('must be an object with name') },
  )
  .meta({ title: 'Table column', description: 'A column of a table.' })

/** The cast is safe because `checkTable` checks the cells against the columns. It also stops after some errors. */
const Row = z
  .looseObject(
    { id: OptionValue.meta({ title: 'Id', description: 'Identifies the row; unique in the table.' }) },
    { error: 'must be an object with id' },
  )
  .meta({
    title: 'Table row',
    description: 'A row of a table: its id, and its cells by column name.',
  }) as unknown as z.ZodType<TableRow>

const Label = element('label', 'Static text. The label is the text that is shown.', {})

const Heading = element('heading', 'A heading. The label is the text that is shown.', {
  level: z
    .union([z.literal(2), z.literal(3), z.literal(4)], { error: 'must be 2, 3 or 4' })
    .default(2)
    .meta({ title: 'Level', description: 'The heading’s level. The form’s title has level 1.' }),
})

const ButtonStyle = z.enum(['primary', 'secondary', 'danger'], { error: 'must be one of primary, secondary, danger' })

const Button = element('button', 'A button.', {
  kind: ButtonStyle.default('secondary').meta({
    title: 'Kind',
    description:
      '"primary": the main action. Enter triggers it, and all required inputs must have a value. "secondary": another action. "danger": a destructive action.',
  }),
  style: ButtonStyle.optional().meta({
    title: 'Style',
    description:
      'The button’s appearance, if it differs from its kind: for example, a button that looks primary but does not react to the Enter key.',
  }),
  confirm: text(200).optional().meta({
    title: 'Confirm',
    description:
      'If set, users must confirm their identity (with a code or their password) before the function runs. The value is the reason that is shown: plain text, or "i18n:" followed by a key.',
  }),
  onAction: Handler.meta({
    title: 'On action',
    description: 'Function (event) that is called when the user presses the button.',
  }),
})

const Link = element('link', 'A link that opens a URL or calls a function.', {
  href: z
    .string({ error: 'must be a string' })
    .max(2048, { error: 'must have at most 2048 characters' })
    .refine(isAllowedAddress, { error: 'must be an http, https or mailto URL or a path that starts with "/"' })
    .optional()
    .meta({ title: 'Address', description: 'An http, https or mailto URL, or a path on the same server.' }),
  onAction: Handler.meta({
    title: 'On action',
    description: 'Function (event) that is called when the user follows the link.',
  }),
}).superRefine(({ href, onAction }, found) => {
  if ((href === undefined) === (onAction === undefined)) refuse(found, [], 'must have either href or onAction', {})
})

const Image = element('image', 'An image from the solution’s media.', {
  src: pattern(
    /^(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)*$/,
    240,
    'a path in media/, such as "logo.svg"',
  ).meta({ title: 'Source', description: 'The file’s path, relative to media/, such as "logo.svg".' }),
  alt: z
    .union([z.literal(''), ShownText], { error: 'must be a string; empty if the image is decorative' })
    .meta({ title: 'Alternative text', description: 'A description of the image; empty if it is decorative.' }),
})

const Text = textInput('text', 'An input for one line of text.', LINE, { value: OneLine }).superRefine(checkLength)
const Password = textInput(
  'password',
  'An input for a secret, which is not shown while the user types. It has no initial value.',
  LINE,
  {},
)
const Email = textInput('email', 'An input for an email address.', LINE, { value: OneLine }).superRefine(checkLength)
const Textarea = textInput(
  'textarea',
  'An input for several lines of text.',
  { usual: 10_000, most: 100_000 },
  {
    value: Lines,
    rows: whole(1, 50).default(4).meta({ title: 'Rows', description: 'The number of visible lines.' }),
  },
).superRefine(checkLength)

const Numeral = input('number', 'An input for a number, which is formatted for the user’s locale.', {
  min: Decimal.optional().meta({ title: 'Minimum', description: 'The smallest allowed value.' }),
  max: Decimal.optional().meta({ title: 'Maximum', description: 'The largest allowed value.' }),
  step: z
    .number({ error: 'must be a number greater than 0' })
    .positive({ error: 'must be a number greater than 0' })
    .optional()
    .meta({ title: 'Step', description: 'The interval between allowed values.' }),
  ...NUMBER_FORMAT,
  grouping: z.boolean(WHETHER).optional().meta({
    title: 'Grouping',
    description:
      'Whether the number is formatted for the user’s locale, such as "1,234.50", except while the user edits it. Default: true if the input has a currency.',
  }),
  placeholder: ShownText.optional().meta({
    title: 'Placeholder',
    description: 'Shown while the input is empty: text, or "i18n:" followed by a key.',
  }),
  value: Decimal.optional().meta({ title: 'Value', description: 'The initial value.' }),
}).superRefine(checkRange)

const DateInput = input(
  'date',
  'An input for a date. Users see the date in the format of their locale; its value has the format YYYY-MM-DD.',
  {
    min: Day.optional().meta({ title: 'Minimum', description: 'The earliest allowed day.' }),
    max: Day.optional().meta({ title: 'Maximum', description: 'The latest allowed day.' }),
    value: Day.optional().meta({ title: 'Value', description: 'The initial value.' }),
  },
).superRefine(checkRange)

const Checkbox = input('checkbox', 'A choice between yes and no.', {
  value: whether(false, 'Value', 'Whether the checkbox is initially selected.'),
})

const Select = input('select', 'A choice of one option from a drop-down list.', {
  ...CHOICE,
  placeholder: ShownText.optional().meta({
    title: 'Placeholder',
    description: 'Shown while no option is selected: text, or "i18n:" followed by a key.',
  }),
}).superRefine(checkChoice)

const Radio = input('radio', 'A choice of one option; all options are visible.', CHOICE).superRefine(checkChoice)

const Table = element('table', 'A table whose rows can be sorted, selected and opened. Its label is the caption.', {
  columns: list(TableColumn, MAX_TABLE_COLUMNS)
    .min(1, { error: 'must have at least one column' })
    .meta({ title: 'Columns', description: 'The table’s columns.' }),
  pageSize: whole(1, 200).default(20).meta({ title: 'Page size', description: 'The number of rows per page.' }),
  selection: z
    .enum(['none', 'single', 'multiple'], { error: 'must be one of none, single, multiple' })
    .default('none')
    .meta({ title: 'Selection', description: 'Whether users can select no rows, one row or several rows.' }),
  value: list(Row, MAX_TABLE_ROWS)
    .default([])
    .meta({ title: 'Rows', description: 'The initial rows; usually a script sets them.' }),
  onAction: Handler.meta({
    title: 'On action',
    description: 'Function (id, event) that is called when the user opens a row.',
  }),
  onRecordSelection: Handler.meta({
    title: 'On record selection',
    description: 'Function (ids, event) that is called when the user changes the selection.',
  }),
  onSort: Handler.meta({
    title: 'On sort',
    description: 'Function (column, direction, event) that is called after the user sorts by a column.',
  }),
}).superRefine(checkTable)

export const LEAVES = [
  Label,
  Heading,
  Button,
  Link,
  Image,
  Text,
  Password,
  Email,
  Textarea,
  Numeral,
  DateInput,
  Checkbox,
  Select,
  Radio,
  Table,
] as const

/** The keys of the items in elements. Errors use them to suggest the most similar key. */
export const ITEM_KEYS = {
  option: Object.keys(Option.shape),
  tableColumn: Object.keys(TableColumn.shape),
  badge: Object.keys(BadgeSchema.shape),
} as const

export function whether(usual: boolean, title: string, description: string) {
  return z.boolean(WHETHER).default(usual).meta({ title, description })
}

export function whole(least: number, most: number) {
  const error = `must be a whole number from ${least} to ${most}`
  return z.int({ error }).min(least, { error }).max(most, { error })
}

type Found = z.core.$RefinementCtx

export function refuse(found: Found, path: PropertyKey[], message: string, value: unknown): void {
  found.addIssue({ code: 'custom', path, message, input: value })
}

function checkLength({ value, maxLength }: { value?: string | undefined; maxLength: number }, found: Found): void {
  if (value !== undefined && value.length > maxLength)
    refuse(found, ['value'], `must have at most ${maxLength} characters (maxLength)`, value)
}

type Range<Value> = { min?: Value | undefined; max?: Value | undefined; value?: Value | undefined }

/** Dates are compared as strings, which works for their format. */
function checkRange<Value extends number | string>({ min, max, value }: Range<Value>, found: Found): void {
  if (min !== undefined && max !== undefined && min > max) refuse(found, ['max'], `must be at least ${min} (min)`, max)
  else if (value !== undefined && min !== undefined && value < min)
    refuse(found, ['value'], `must be at least ${min} (min)`, value)
  else if (value !== undefined && max !== undefined && value > max)
    refuse(found, ['value'], `must be at most ${max} (max)`, value)
}

type Choice = { options: readonly { value: string | number }[]; value?: string | number | undefined }

function checkChoice({ options, value }: Choice, found: Found): void {
  refuseTwice(options, 'options', 'value', found)
  if (value !== undefined && !options.some((option) => option.value === value))
    refuse(found, ['value'], 'must be the value of one of the options', value)
}

/** `1` and `"1"` are treated as equal, because a browser sends strings. */
function refuseTwice<Key extends string>(
  items: readonly { readonly [K in Key]: string | number }[],
  list: string,
  key: Key,
  found: Found,
  around: readonly PropertyKey[] = [],
): void {
  const seen = new Set<string>()
  for (const [index, item] of items.entries()) {
    if (seen.has(String(item[key]))) refuse(found, [...around, list, index, key], 'must be unique', item[key])
    seen.add(String(item[key]))
  }
}

type TableParts = {
  columns: readonly { name: string; type: string; badges?: readonly Badge[] | undefined }[]
  value: readonly TableRow[]
}

function checkBadges(path: PropertyKey[], type: string, badges: readonly Badge[] | undefined, found: Found): void {
  if (badges === undefined) return
  if (type !== 'text')
    refuse(found, [...path, 'badges'], 'must be removed: only columns of type text can have badges', badges)
  refuseTwice(badges, 'badges', 'value', found, path)
}

function checkTable({ columns, value }: TableParts, found: Found): void {
  refuseTwice(columns, 'columns', 'name', found)
  for (const [index, { type, badges }] of columns.entries()) checkBadges(['columns', index], type, badges, found)
  refuseTwice(value, 'value', 'id', found)
  const types = new Map(columns.map(({ name, type }) => [name, type]))
  let reported = 0
  for (const [index, row] of value.entries()) {
    for (const [key, cell] of Object.entries(row)) {
      if (reported >= MAX_REPORTED) return
      const type = types.get(key)
      if (key === 'id' || cell === null) continue
      const problem =
        type === undefined ? `must be removed: the table has no column "${key}"` : problemOfCell(type, cell)
      if (problem === null) continue
      refuse(found, ['value', index, key], problem, cell)
      reported++
    }
  }
}

function problemOfCell(type: string, cell: unknown): string | null {
  switch (type) {
    case 'number':
      return typeof cell === 'number' ? null : 'must be a number or null'
    case 'boolean':
      return typeof cell === 'boolean' ? null : 'must be true, false or null'
    case 'date':
      return Day.safeParse(cell).success ? null : 'must be a date in the format YYYY-MM-DD or null'
    default:
      return typeof cell === 'string' && cell.length <= 10_000 && isWellFormed(cell)
        ? null
        : 'must be a string of at most 10000 characters or null'
  }
}
