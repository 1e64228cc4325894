import { expect, test } from 'vitest'
import { checkedForm, formWith } from '../../support/forms.ts'

const FIRST = '"layout.0.columns.0.elements.0'

function faultsOf(...elements: readonly unknown[]): readonly string[] {
  return checkedForm(formWith(...elements)).faults
}

test('form: omitted properties get their defaults', () => {
  expect(checkedForm({})).toEqual({ form: { layout: [] }, faults: [], warnings: [] })
  const written = formWith(
    { type: 'label', name: 'a' },
    { type: 'text', name: 'b' },
    { type: 'textarea', name: 'c' },
    { type: 'checkbox', name: 'd' },
    { type: 'select', name: 'e' },
    { type: 'button', name: 'f' },
    { type: 'heading', name: 'g' },
    { type: 'table', name: 'h', columns: [{ name: 'x' }] },
    { type: 'panel', name: 'i' },
    { type: 'tabs', name: 'j', tabs: [{ name: 'k', label: 'K' }] },
  )
  const any = { visible: true, enabled: true }
  const input = { ...any, required: false }
  expect(checkedForm(written)).toEqual({
    form: formWith(
      { type: 'label', name: 'a', ...any },
      { type: 'text', name: 'b', ...input, maxLength: 1000 },
      { type: 'textarea', name: 'c', ...input, maxLength: 10_000, rows: 4 },
      { type: 'checkbox', name: 'd', ...input, value: false },
      { type: 'select', name: 'e', ...input, options: [] },
      { type: 'button', name: 'f', ...any, kind: 'secondary' },
      { type: 'heading', name: 'g', ...any, level: 2 },
      {
        type: 'table',
        name: 'h',
        ...any,
        columns: [{ name: 'x', type: 'text', sortable: false }],
        pageSize: 20,
        selection: 'none',
        value: [],
      },
      { type: 'panel', name: 'i', ...any, layout: [] },
      { type: 'tabs', name: 'j', ...any, tabs: [{ name: 'k', label: 'K', layout: [] }], value: 'k' },
    ),
    faults: [],
    warnings: [],
  })
})

test('form: a checked definition is accepted again unchanged', () => {
  const { form } = checkedForm(
    formWith(
      { type: 'number', name: 'a', min: 1, max: 9, value: 5, currency: 'EUR' },
      {
        type: 'tabs',
        name: 't',
        tabs: [{ name: 'k', label: 'K', layout: formWith({ type: 'label', name: 'l' }).layout }],
      },
      {
        type: 'table',
        name: 'h',
        columns: [{ name: 'x' }],
        value: [
          { id: 'é', x: '' },
          { id: 2, x: null },
        ],
      },
    ),
  )
  expect(form).not.toBeNull()
  expect(checkedForm(JSON.parse(JSON.stringify(form))).form).toEqual(form)
})

// --- unknown keys and types ----------------------------------------------------------------------------------------------

test.each<[unknown, string]>([
  [{ titel: 'x' }, 'the form has an unknown property "titel"; did you mean "title"?'],
  [
    { elements: [] },
    expect.stringMatching(/^the form has an unknown property "elements"; did you mean "/) as unknown as string,
  ],
  [{ layout: [{ colums: [], columns: [{}] }] }, '"layout.0" has an unknown property "colums"; did you mean "columns"?'],
  [
    { layout: [{ columns: [{ widht: 1 }] }] },
    '"layout.0.columns.0" has an unknown property "widht"; did you mean "width"?',
  ],
  [
    formWith({ type: 'text', name: 'a', lable: 'x' }),
    `${FIRST}" (a) has an unknown property "lable"; did you mean "label"?`,
  ],
  [
    formWith({ type: 'select', name: 'a', options: [{ value: 'x', label: 'X', txt: 1 }] }),
    `${FIRST}.options.0" (a) has an unknown property "txt"; did you mean "value"?`,
  ],
  [
    formWith({ type: 'table', name: 'a', columns: [{ name: 'x', sortabel: true }] }),
    `${FIRST}.columns.0" (a) has an unknown property "sortabel"; did you mean "sortable"?`,
  ],
  [
    formWith({ type: 'tabs', name: 'a', tabs: [{ name: 'x', label: 'X', layuot: [] }] }),
    `${FIRST}.tabs.0" (x) has an unknown property "layuot"; did you mean "layout"?`,
  ],
  [
    formWith({ type: 'label', name: 'a', onAction: 'x' }),
    `${FIRST}" (a) is of type label, which has no "onAction"; these types have it: button, link, table`,
  ],
  [
    formWith({ type: 'button', name: 'a', onElementDataChange: 'x' }),
    `${FIRST}" (a) is of type button, which has no "onElementDataChange"; these types have it: text, password, email, textarea, number, date, checkbox, select, radio`,
  ],
  [
    formWith({ type: 'password', name: 'a', value: 'hunter2' }),
    `${FIRST}" (a) is of type password, which has no "value"; these types have it: text, email, textarea, number, date, checkbox, select, radio, table, tabs`,
  ],
])(
  'form: the error for the unknown key in %j suggests the nearest key, or the elements that have it',
  (form, message) => {
    const { faults, form: definition } = checkedForm(form)
    expect(definition).toBeNull()
    expect(faults.map((fault) => fault.replace('form_unknown_key: ', ''))).toEqual([message])
  },
)

const TYPES =
  'label, heading, button, link, image, text, password, email, textarea, number, date, checkbox, select, radio, table, panel, tabs'

test.each<[unknown, string]>([
  [{ type: 'txt', name: 'a' }, `${FIRST}.type" (a) must be one of ${TYPES}, not "txt"; did you mean "text"?`],
  [{ type: 'Label', name: 'a' }, `${FIRST}.type" (a) must be one of ${TYPES}, not "Label"; did you mean "label"?`],
  [{ name: 'a' }, `${FIRST}.type" (a) is missing; it must be one of ${TYPES}`],
  [{ type: 'toString', name: 'a' }, expect.stringContaining('not "toString"') as unknown as string],
  [{ type: 5 }, `${FIRST}.type" must be one of ${TYPES}, not 5`],
  [null, `${FIRST}" must be an object with type and name, not null`],
  ['text', `${FIRST}" must be an object with type and name, not "text"`],
  [[], `${FIRST}" must be an object with type and name`],
])('form: an error says that the element %j has no valid type', (element, message) => {
  expect(faultsOf(element)).toEqual([expect.stringMatching(/^form_invalid: /)])
  expect(faultsOf(element)[0]?.replace('form_invalid: ', '')).toEqual(message)
})

// --- wrong values --------------------------------------------------------------------------------------------------------

const COLUMNS = [{ name: 'x' }]
const BADGE = { value: 'a', label: 'A' }
const OPTIONS = [
  { value: 'a', label: 'A' },
  { value: 1, label: 'One' },
]

/**
 * Invalid elements. Each row contains the element, the path of the invalid key, and the last part of the error message.
 */
const WRONG: readonly (readonly [Record<string, unknown>, string, string])[] = [
  [
    { type: 'label', name: undefined },
    'name',
    'is missing; it must be a name of 1 to 64 letters (A-Z, a-z), digits, "_" and "$" that does not start with a digit',
  ],
  [
    { type: 'label', name: '' },
    'name',
    'must be a name of 1 to 64 letters (A-Z, a-z), digits, "_" and "$" that does not start with a digit, not ""',
  ],
  [
    { type: 'label', name: 'a b' },
    'name',
    'must be a name of 1 to 64 letters (A-Z, a-z), digits, "_" and "$" that does not start with a digit, not "a b"',
  ],
  [
    { type: 'label', name: '1a' },
    'name',
    'must be a name of 1 to 64 letters (A-Z, a-z), digits, "_" and "$" that does not start with a digit, not "1a"',
  ],
  [
    { type: 'label', name: 'é' },
    'name',
    'must be a name of 1 to 64 letters (A-Z, a-z), digits, "_" and "$" that does not start with a digit, not "\\u00e9"',
  ],
  [{ type: 'label', name: 'x'.repeat(65) }, 'name', 'at most 64 characters'],
  [
    { type: 'label', name: 'toString' },
    'name',
    'must not be the name of a property that every JavaScript object has (such as "constructor"), not "toString"',
  ],
  [
    { type: 'label', name: '__proto__' },
    'name',
    'must not be the name of a property that every JavaScript object has (such as "constructor"), not "__proto__"',
  ],
  [
    { type: 'label', label: '' },
    'label',
    'must be a string of 1 to 2000 characters without control characters, not ""',
  ],
  [{ type: 'label', label: 'a\n' }, 'label', 'without control characters, not "a\\n"'],
  [{ type: 'label', label: 'x'.repeat(2001) }, 'label', 'at most 2000 characters'],
  [{ type: 'label', label: '\ud800' }, 'label', 'must be a string of 1 to 2000 characters'],
  [{ type: 'label', label: 5 }, 'label', 'not 5'],
  [{ type: 'label', hint: [] }, 'hint', 'must be a string'],
  [{ type: 'label', visible: 'yes' }, 'visible', 'must be true or false, not "yes"'],
  [{ type: 'label', enabled: null }, 'enabled', 'must be true or false, not null'],
  [{ type: 'label', permission: '' }, 'permission', 'must be 1 to 200 visible characters'],
  [{ type: 'heading', level: 1 }, 'level', 'must be 2, 3 or 4, not 1'],
  [{ type: 'heading', level: '2' }, 'level', 'must be 2, 3 or 4, not "2"'],
  [{ type: 'button', kind: 'big' }, 'kind', 'must be one of primary, secondary, danger, not "big"'],
  [{ type: 'button', onAction: 'save()' }, 'onAction', 'must be the name of a function in the form’s script'],
  [{ type: 'button', onAction: true }, 'onAction', 'must be the name of a function in the form’s script'],
  [{ type: 'link' }, '', 'must have either href or onAction'],
  [{ type: 'link', href: '/a', onAction: 'b' }, '', 'must have either href or onAction'],
  ...[
    'javascript:alert(1)',
    'orders',
    '//evil.example',
    'data:text/html,x',
    '/\\evil.example',
    'https://u:p@x.example',
  ].map((href) => [{ type: 'link', href }, 'href', 'must be an http, https or mailto URL or a path'] as const),
  [{ type: 'link', href: `/${'x'.repeat(3000)}` }, 'href', 'must have at most 2048 characters'],
  ...['../x.png', '/x.png', 'https://example.org/x.png', 'a//b', 'a/./b', '..', 'a\\b', 'a b', ''].map(
    (src) => [{ type: 'image', src, alt: '' }, 'src', 'must be a path in media/, such as "logo.svg"'] as const,
  ),
  [{ type: 'image', src: 'a.png' }, 'alt', 'is missing; it must be a string; empty if the image is decorative'],
  [{ type: 'text', maxLength: 0 }, 'maxLength', 'must be a whole number from 1 to 10000, not 0'],
  [{ type: 'text', maxLength: 1.5 }, 'maxLength', 'must be a whole number from 1 to 10000, not 1.5'],
  [{ type: 'text', maxLength: 1e308 }, 'maxLength', 'must be a whole number from 1 to 10000'],
  [{ type: 'text', maxLength: 2, value: 'abc' }, 'value', 'must have at most 2 characters (maxLength), not "abc"'],
  [{ type: 'text', value: 'a\nb' }, 'value', 'must be a string without control characters'],
  [{ type: 'text', value: 5 }, 'value', 'must be a string without control characters, not 5'],
  [{ type: 'text', value: '\udc00' }, 'value', 'must be a string without lone surrogates'],
  [{ type: 'text', autocomplete: 'On!' }, 'autocomplete', 'must be a value of the HTML attribute autocomplete'],
  [{ type: 'text', required: 1 }, 'required', 'must be true or false, not 1'],
  [{ type: 'text', placeholder: '' }, 'placeholder', 'must be a string'],
  [{ type: 'email', maxLength: 10_001 }, 'maxLength', 'must be a whole number from 1 to 10000'],
  [{ type: 'textarea', maxLength: 100_001 }, 'maxLength', 'must be a whole number from 1 to 100000'],
  [{ type: 'textarea', rows: 51 }, 'rows', 'must be a whole number from 1 to 50'],
  [
    { type: 'textarea', value: 'a\u0000' },
    'value',
    'must be a string without control characters except line breaks and tabs',
  ],
  [{ type: 'number', min: '1' }, 'min', 'must be a number, not "1"'],
  [{ type: 'number', min: 2, max: 1 }, 'max', 'must be at least 2 (min), not 1'],
  [{ type: 'number', min: 2, value: 1 }, 'value', 'must be at least 2 (min), not 1'],
  [{ type: 'number', max: 2, value: 2.1 }, 'value', 'must be at most 2 (max), not 2.1'],
  [{ type: 'number', step: 0 }, 'step', 'must be a number greater than 0, not 0'],
  [{ type: 'number', step: -1 }, 'step', 'must be a number greater than 0, not -1'],
  [{ type: 'number', decimals: 11 }, 'decimals', 'must be a whole number from 0 to 10, not 11'],
  [{ type: 'number', currency: 'eur' }, 'currency', 'must be an ISO 4217 currency code such as EUR, not "eur"'],
  [{ type: 'number', value: Number.POSITIVE_INFINITY }, 'value', 'must be a number, not Infinity'],
  [{ type: 'date', value: '2026-02-30' }, 'value', 'must be a date in the format YYYY-MM-DD, not "2026-02-30"'],
  [{ type: 'date', value: '1.2.2026' }, 'value', 'must be a date in the format YYYY-MM-DD'],
  [{ type: 'date', min: '2026-02-01', max: '2026-01-01' }, 'max', 'must be at least 2026-02-01 (min)'],
  [{ type: 'date', min: '2026-02-01', value: '2026-01-31' }, 'value', 'must be at least 2026-02-01 (min)'],
  [{ type: 'date', max: '2026-02-01', value: '2026-02-02' }, 'value', 'must be at most 2026-02-01 (max)'],
  [{ type: 'checkbox', value: 'true' }, 'value', 'must be true or false, not "true"'],
  [{ type: 'select', options: {} }, 'options', 'must be a list'],
  [
    { type: 'select', options: [{ value: '', label: 'x' }] },
    'options.0.value',
    'must be a string of 1 to 200 characters',
  ],
  [{ type: 'select', options: [{ value: 'x' }] }, 'options.0.label', 'is missing; it must be a string'],
  [{ type: 'select', options: ['x'] }, 'options.0', 'must be an object with value and label, not "x"'],
  [{ type: 'select', options: Array(1001).fill(OPTIONS[0]) }, 'options', 'must have at most 1000 items'],
  [{ type: 'select', options: [...OPTIONS, { value: '1', label: 'x' }] }, 'options.2.value', 'must be unique, not "1"'],
  [{ type: 'select', options: OPTIONS, value: 'b' }, 'value', 'must be the value of one of the options, not "b"'],
  [{ type: 'select', options: OPTIONS, value: '1' }, 'value', 'must be the value of one of the options, not "1"'],
  [{ type: 'radio', options: OPTIONS, value: null }, 'value', 'must be a string of 1 to 200 characters or a number'],
  [{ type: 'radio', value: 'a' }, 'value', 'must be the value of one of the options, not "a"'],
  [{ type: 'table' }, 'columns', 'is missing; it must be a list'],
  [{ type: 'table', columns: [] }, 'columns', 'must have at least one column'],
  [
    { type: 'table', columns: Array.from({ length: 51 }, (_, i) => ({ name: `c${i}` })) },
    'columns',
    'at most 50 items',
  ],
  [{ type: 'table', columns: [{ name: 'x', type: 'html' }] }, 'columns.0.type', 'must be one of text, number, date'],
  [
    { type: 'table', columns: [{ name: 'valueOf' }] },
    'columns.0.name',
    'must not be the name of a property that every JavaScript',
  ],
  [{ type: 'table', columns: [{ name: 'x' }, { name: 'x' }] }, 'columns.1.name', 'must be unique, not "x"'],
  [{ type: 'table', columns: [{ name: 'x', line: 3 }] }, 'columns.0.line', 'must be 1 or 2, not 3'],
  [
    { type: 'table', columns: [{ name: 'x', badges: [{ value: 'a', label: 'A', tone: 'red' }] }] },
    'columns.0.badges.0.tone',
    'must be one of neutral, info, success, warning, error, not "red"',
  ],
  [
    { type: 'table', columns: [{ name: 'x', badges: [BADGE, BADGE] }] },
    'columns.0.badges.1.value',
    'must be unique, not "a"',
  ],
  [
    { type: 'table', columns: [{ name: 'x', type: 'number', badges: [BADGE] }] },
    'columns.0.badges',
    'must be removed: only columns of type text can have badges',
  ],
  [{ type: 'table', columns: COLUMNS, pageSize: 201 }, 'pageSize', 'must be a whole number from 1 to 200, not 201'],
  [{ type: 'table', columns: COLUMNS, selection: 'all' }, 'selection', 'must be one of none, single, multiple'],
  [{ type: 'table', columns: COLUMNS, value: [{}] }, 'value.0.id', 'is missing; it must be a string of 1 to 200'],
  [{ type: 'table', columns: COLUMNS, value: [5] }, 'value.0', 'must be an object with id, not 5'],
  [{ type: 'table', columns: COLUMNS, value: [{ id: 1 }, { id: '1' }] }, 'value.1.id', 'must be unique'],
  [{ type: 'table', columns: COLUMNS, value: [{ id: 1, y: 'a' }] }, 'value.0.y', 'the table has no column "y"'],
  [{ type: 'table', columns: COLUMNS, value: [{ id: 1, x: 5 }] }, 'value.0.x', 'must be a string of at most 10000'],
  ...(
    [
      ['number', '5', 'must be a number or null'],
      ['boolean', 0, 'must be true, false or null'],
      ['date', '2026-13-01', 'must be a date in the format YYYY-MM-DD or null'],
    ] as const
  ).map(
    ([type, x, message]) =>
      [{ type: 'table', columns: [{ name: 'x', type }], value: [{ id: 1, x }] }, 'value.0.x', message] as const,
  ),
  [{ type: 'panel', layout: {} }, 'layout', 'must be a list'],
  [{ type: 'panel', layout: [{}] }, 'layout.0.columns', 'is missing; it must be a list'],
  [{ type: 'panel', layout: [{ columns: [] }] }, 'layout.0.columns', 'must have at least one column'],
  [{ type: 'panel', layout: [{ columns: [{ width: 13 }] }] }, 'layout.0.columns.0.width', 'from 1 to 12, not 13'],
  [{ type: 'panel', layout: [{ columns: Array(13).fill({}) }] }, 'layout.0.columns', 'must have at most 12 items'],
  [
    { type: 'panel', layout: [{ columns: [{ width: 8 }, { width: 5 }] }] },
    'layout.0.columns',
    'have a total width of at most 12',
  ],
  [
    { type: 'panel', layout: [{ columns: [{ width: 12 }, {}] }] },
    'layout.0.columns',
    'have a total width of at most 12',
  ],
  [{ type: 'tabs' }, 'tabs', 'is missing; it must be a list'],
  [{ type: 'tabs', tabs: [] }, 'tabs', 'must have at least one tab'],
  [{ type: 'tabs', tabs: [{ name: 'x' }] }, 'tabs.0.label', 'is missing; it must be a string'],
  [
    { type: 'tabs', tabs: [{ name: 'x', label: 'X' }], value: 'y' },
    'value',
    'must be the name of one of the tabs, not "y"',
  ],
]

test.each(WRONG)('form: %j is rejected at "%s": %s', (written, place, message) => {
  const element = { name: 'a', ...written }
  if (element.name === undefined) Reflect.deleteProperty(element, 'name')
  const { form, faults } = checkedForm(formWith(element))
  expect(form).toBeNull()
  expect(faults).toHaveLength(1)
  expect(faults[0]).toContain(message)
  const path = place === '' ? FIRST : `${FIRST}.${place}`
  expect(faults[0]?.startsWith(`form_invalid: ${path}"`)).toBe(true)
})

test.each<[unknown, string]>([
  [{ title: '' }, '"title" must be a string of 1 to 2000 characters without control characters, not ""'],
  [{ permission: 5 }, '"permission" must be 1 to 200 visible characters without spaces at the start or end, not 5'],
  [{ layout: {} }, '"layout" must be a list'],
  [{ layout: ['x'] }, '"layout.0" must be an object with columns, not "x"'],
  [{ layout: Array(201).fill({ columns: [{}] }) }, 'the form has a layout with more than 200 rows'],
  [{ $schema: 5 }, '"$schema" must be a string of 1 to 500 characters without control characters, not 5'],
  [[], 'the form must be an object'],
  [null, 'the form must be an object, not null'],
])('form: %j is rejected', (form, message) => {
  expect(checkedForm(form).faults).toEqual([`form_invalid: ${message}`])
})

test('form: every error is listed, one per location', () => {
  expect(faultsOf({ type: 'text', name: '', label: 5, foo: 1 }, { type: 'nothing' })).toEqual([
    expect.stringContaining('elements.0.name" must be'),
    expect.stringContaining('elements.0.label" must be'),
    expect.stringContaining('elements.0" has an unknown property "foo"'),
    expect.stringContaining('elements.1.type" must be one of'),
  ])
})

// --- names ---------------------------------------------------------------------------------------------------------------

const label = (name: string) => ({ type: 'label', name })

test.each<[string, readonly unknown[], string]>([
  ['two elements', [label('a'), label('a')], `${FIRST.slice(0, -1)}1" has the same name "a" as ${FIRST}"`],
  [
    'an element and an element in a panel',
    [label('a'), { type: 'panel', name: 'p', layout: formWith(label('a')).layout }],
    `${FIRST.slice(0, -1)}1.layout.0.columns.0.elements.0" has the same name "a" as ${FIRST}"`,
  ],
  [
    'a panel and an element in it',
    [{ type: 'panel', name: 'a', layout: formWith(label('a')).layout }],
    `${FIRST}.layout.0.columns.0.elements.0" has the same name "a" as ${FIRST}"`,
  ],
  [
    'an element and a tab',
    [label('a'), { type: 'tabs', name: 't', tabs: [{ name: 'a', label: 'A' }] }],
    `${FIRST.slice(0, -1)}1.tabs.0" has the same name "a" as ${FIRST}"`,
  ],
  [
    'two tabs in different elements',
    [
      { type: 'tabs', name: 's', tabs: [{ name: 'a', label: 'A' }] },
      { type: 'tabs', name: 't', tabs: [{ name: 'a', label: 'A' }] },
    ],
    `${FIRST.slice(0, -1)}1.tabs.0" has the same name "a" as ${FIRST}.tabs.0"`,
  ],
])('form: %s can’t have the same name', (_what, elements, message) => {
  expect(faultsOf(...elements)).toEqual([
    `form_name_twice: ${message}; names of elements and tabs must be unique in a form`,
  ])
})

test('form: names that differ only in case count as different', () => {
  expect(faultsOf(label('a'), label('A'), label('elements'), label('title'))).toEqual([])
})

// --- handlers ------------------------------------------------------------------------------------------------------------

const FUNCTIONS = new Set(['save', 'onShow', 'onHide', 'onElementDataChange', 'onAction'])

test('form: a function named after a form event is that event’s handler, unless the form sets another one', () => {
  const written = { onHide: 'save', ...formWith({ type: 'button', name: 'b' }, { type: 'text', name: 't' }) }
  const { form, faults } = checkedForm(written, { functions: FUNCTIONS })
  expect(faults).toEqual([])
  expect(form).toMatchObject({ onShow: 'onShow', onHide: 'save' })
  expect([form?.onLoad, form?.onUnload]).toEqual([undefined, undefined])
  const [button, text] = form?.layout[0]?.columns[0]?.elements ?? []
  expect([button, text].flatMap((one) => Object.keys(one ?? {})).filter((key) => /^on[A-Z]/.test(key))).toEqual([])
})

const BUTTON = formWith({ type: 'button', name: 'b', onAction: 'svae' })

test.each<[string, unknown, object, string]>([
  [
    'that the script does not declare',
    BUTTON,
    { functions: FUNCTIONS },
    `${FIRST}.onAction" (b) names the function "svae", which forms/orders.js does not declare at its top level; did you mean "save"?`,
  ],
  [
    'with a script without functions',
    BUTTON,
    { functions: new Set() },
    `${FIRST}.onAction" (b) names the function "svae", which forms/orders.js does not declare at its top level`,
  ],
  [
    'without a script',
    BUTTON,
    { functions: new Set(), hasScript: false },
    `${FIRST}.onAction" (b) names the function "svae", but there is no forms/orders.js`,
  ],
  [
    'that the form itself sets',
    { onShow: 'show' },
    { functions: new Set(['shown']) },
    '"onShow" names the function "show", which forms/orders.js does not declare at its top level; did you mean "shown"?',
  ],
])('form: a handler %s is an error', (_what, form, around, message) => {
  expect(checkedForm(form, around)).toEqual({ form: null, faults: [`form_function_missing: ${message}`], warnings: [] })
})

test('form: handlers are not checked if the script has an error', () => {
  expect(checkedForm(BUTTON, { functions: null }).faults).toEqual([])
})

// --- warnings ------------------------------------------------------------------------------------------------------------

test.each<[string, unknown, readonly string[]]>([
  [
    'a key that is missing in all tables, once even if it is used twice,',
    { title: 'i18n:a', ...formWith({ type: 'label', name: 'x', label: 'i18n:a', hint: 'i18n:b' }) },
    [
      'form_text_missing: no file in i18n/ contains the key "a"',
      'form_text_missing: no file in i18n/ contains the key "b"',
    ],
  ],
  [
    'a key that is only in the table of another language',
    { title: 'i18n:german' },
    [
      'form_text_missing: no default.json contains the key "german", so users whose language has no translation see "!german!"',
    ],
  ],
  [
    'a missing text in a placeholder, option, column, tab or image',
    formWith(
      { type: 'select', name: 's', placeholder: 'i18n:p', options: [{ value: 1, label: 'i18n:o' }] },
      { type: 'table', name: 't', columns: [{ name: 'x', label: 'i18n:c' }] },
      { type: 'tabs', name: 'u', tabs: [{ name: 'v', label: 'i18n:t' }] },
      { type: 'image', name: 'w', src: 'logo.svg', alt: 'i18n:i' },
    ),
    ['p', 'o', 'c', 't', 'i'].map((key) => `form_text_missing: no file in i18n/ contains the key "${key}"`),
  ],
  [
    'a missing image',
    formWith({ type: 'image', name: 'x', src: 'a/b.png', alt: '' }),
    ['form_image_missing: the file media/a/b.png does not exist'],
  ],
  [
    'an image with media/ in its path',
    formWith({ type: 'image', name: 'x', src: 'media/logo.svg', alt: '' }),
    ['form_image_missing: the file media/media/logo.svg does not exist; write the path without "media/"'],
  ],
  [
    'a permission that no manifest lists',
    { permission: 'user', ...formWith({ type: 'label', name: 'x', permission: 'user' }) },
    ['form_permission_unlisted: no manifest lists the permission "user", so nobody can have it; did you mean "Users"?'],
  ],
  [
    'an unlisted permission in a tab',
    formWith({ type: 'tabs', name: 'u', tabs: [{ name: 'v', label: 'V', permission: 'Admin' }] }),
    [
      'form_permission_unlisted: no manifest lists the permission "Admin", so nobody can have it; did you mean "Users"?',
    ],
  ],
])('form: %s causes a warning', (_what, form, warnings) => {
  const around = {
    texts: new Set(['known', 'german']),
    defaultTexts: new Set(['known']),
    media: new Set(['logo.svg']),
    permissions: new Set(['Users']),
  }
  const checked = checkedForm(form, around)
  expect(checked.form).not.toBeNull()
  expect([checked.faults, checked.warnings]).toEqual([[], warnings])
})

test('form: known texts, platform texts, values and media cause no warnings; nor do permissions if no manifest lists any', () => {
  const form = {
    title: 'i18n:known',
    permission: 'Anybody',
    ...formWith(
      { type: 'image', name: 'x', src: 'logo.svg', alt: '' },
      { type: 'label', name: 'y', label: 'i18n:platform.logindialog.title' },
      { type: 'text', name: 'z', value: 'i18n:unknown' },
    ),
  }
  const around = { defaultTexts: new Set(['known']), media: new Set(['logo.svg']) }
  expect(checkedForm(form, around)).toMatchObject({ faults: [], warnings: [] })
})

test('form: the login form must not have a permission, but its elements may', () => {
  const form = { permission: 'Users', ...formWith({ type: 'label', name: 'x', permission: 'Users' }) }
  const message =
    '"permission" is not allowed in the login form, because users have no permissions before they sign in; remove it'
  expect(checkedForm(form, { isLoginForm: true })).toEqual({
    form: null,
    faults: [`form_invalid: ${message}`],
    warnings: [],
  })
  expect(checkedForm({ ...form, permission: undefined }, { isLoginForm: true }).faults).toEqual([])
})

test('form: "saves" must be the name of one of its buttons', () => {
  const form = (saves: string) => ({
    saves,
    ...formWith(
      { type: 'panel', name: 'box', ...formWith({ type: 'button', name: 'save' }) },
      { type: 'text', name: 'company' },
    ),
  })
  expect(checkedForm(form('save'))).toMatchObject({ faults: [], form: { saves: 'save' } })
  const fault = (rest: string) => [`form_invalid: "saves" names the button ${rest}`]
  expect(checkedForm(form('sav')).faults).toEqual(fault('"sav", which the form does not have; did you mean "save"?'))
  expect(checkedForm(form('company')).faults).toEqual(
    fault('"company", which the form does not have; did you mean "save"?'),
  )
  expect(checkedForm({ saves: 'save' }).faults).toEqual(fault('"save", which the form does not have'))
  expect(checkedForm(form('save'), { functions: new Set(['unsaved']) }).warnings).toEqual([
    'form_function_hidden: the function "unsaved" cannot be called through the form, because a form with "saves" has a built-in "unsaved"; rename the function',
  ])
})

test('form: a function named like a built-in function of forms causes a warning', () => {
  expect(checkedForm({}, { functions: new Set(['elements', 'getName', 'titles']) }).warnings).toEqual([
    'form_function_hidden: the function "elements" cannot be called through the form, because every form has a built-in "elements"; rename the function',
    'form_function_hidden: the function "getName" cannot be called through the form, because every form has a built-in "getName"; rename the function',
  ])
})
