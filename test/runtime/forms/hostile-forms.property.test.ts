import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseStrictJson } from '../../../runtime/bundle/strict-json.ts'
import { elementsOf, FORM_HANDLERS } from '../../../runtime/forms/form-definition.ts'
import { ELEMENT_TYPES, FormSchema, keysOf } from '../../../runtime/forms/form-schema.ts'
import { checkedForm, formWith } from '../../support/forms.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const SEED = 20_260_102

// --- any JSON ------------------------------------------------------------------------------------------------------------

const TEXTS = [
  '',
  'a',
  'b',
  'save',
  'i18n:',
  'i18n:x',
  '__proto__',
  'constructor',
  'toString',
  '\ud800',
  'a\u0000b',
  '/x',
]
const NUMBERS = [0, -0, 1, 2, 13, 0.5, -1, 1e308, -1e308, Number.MAX_SAFE_INTEGER + 1, Number.MIN_VALUE]
const Text = fc.oneof(
  fc.constantFrom(...TEXTS, ...ELEMENT_TYPES, '2026-01-01'),
  fc.string({ unit: 'binary', maxLength: 8 }),
)
const Scalar = fc.oneof(Text, fc.constantFrom(...NUMBERS, null, true, false))
const KEYS = [
  ...new Set([...ELEMENT_TYPES.flatMap(keysOf), ...FORM_HANDLERS, 'width', 'elements', 'id', 'toString', 'x']),
]

/** Generates forms that are partly valid: the containers and keys exist, but the values can have any type. */
const { element, layout } = fc.letrec<{ element: unknown; layout: unknown; any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    Scalar,
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie('any'), { maxKeys: 3, noNullPrototype: false }),
    tie('layout'),
  ),
  layout: fc.oneof(
    { maxDepth: 4 },
    fc.constant([]),
    fc.array(
      fc.record({
        columns: fc.array(fc.record({ elements: fc.array(tie('element'), { maxLength: 3 }) }), { maxLength: 2 }),
      }),
      { maxLength: 2 },
    ),
  ),
  element: fc
    .tuple(
      fc.record({ type: fc.constantFrom(...ELEMENT_TYPES), name: fc.stringMatching(/^[a-z]{1,3}$/) }),
      fc.dictionary(fc.constantFrom(...KEYS), fc.oneof({ maxDepth: 4 }, Scalar, tie('any')), { maxKeys: 2 }),
      tie('layout'),
    )
    .map(([named, more, inner]) => ({ ...named, ...more, ...(named.type === 'panel' ? { layout: inner } : {}) })),
}))
const Form = fc.oneof(
  fc.record({ title: Text, layout }, { requiredKeys: [] }),
  fc.array(element, { maxLength: 4 }).map((elements) => formWith(...elements)),
  fc.dictionary(fc.constantFrom(...KEYS, 'layout', 'title'), fc.oneof(Scalar, layout)),
  fc.jsonValue({ maxDepth: 6 }),
)

test('form: any JSON results in a definition that passes the schema unchanged, or in errors, and never in an exception', () => {
  const counts = { sound: 0, refused: 0 }
  fc.assert(
    fc.property(Form, (value) => {
      const { form, faults } = checkedForm(value, { functions: new Set(['save']) })
      expect(form === null).toBe(faults.length > 0)
      counts[form === null ? 'refused' : 'sound']++
      if (form === null) return
      const stored: unknown = JSON.parse(JSON.stringify(form))
      expect(FormSchema.parse(stored)).toEqual(stored)
      const names = [...elementsOf(form.layout)].map(({ name }) => name)
      expect(new Set(names).size).toBe(names.length)
    }),
    { numRuns: propertyRuns(6000), seed: SEED },
  )
  expect(counts.sound).toBeGreaterThan(propertyRuns(500))
  expect(counts.refused).toBeGreaterThan(propertyRuns(1000))
})

test('form: almost valid JSON is rejected or accepted as a form, and never causes an exception', () => {
  const text = JSON.stringify(formWith({ type: 'select', name: 'a', options: [{ value: 1, label: 'One' }], value: 1 }))
  fc.assert(
    fc.property(fc.nat(text.length), fc.string({ maxLength: 4 }), fc.nat(4), (at, added, removed) => {
      const parsed = parseStrictJson(text.slice(0, at) + added + text.slice(at + removed), 64)
      if ('error' in parsed) return
      const { form, faults } = checkedForm(parsed.value)
      expect(form === null).toBe(faults.length > 0)
    }),
    { numRuns: propertyRuns(3000), seed: SEED },
  )
})

// --- hostile forms -------------------------------------------------------------------------------------------------------

const labels = (count: number) => Array.from({ length: count }, (_, index) => ({ type: 'label', name: `l${index}` }))

function nested(depth: number, type: 'panel' | 'tabs'): Record<string, unknown> {
  let inner: Record<string, unknown> = formWith({ type: 'label', name: 'innermost' })
  for (let level = depth; level > 0; level--) {
    const name = `n${level}`
    inner = formWith(
      type === 'panel'
        ? { type, name, ...inner }
        : { type, name, tabs: [{ name: `${name}_tab`, label: 'T', ...inner }] },
    )
  }
  return inner
}

test.each(['panel', 'tabs'] as const)('form: %s can be nested six levels deep, and no deeper', (type) => {
  // Parse the form from text, because the strict JSON parser has a depth limit too.
  const read = (depth: number) => parseStrictJson(JSON.stringify(nested(depth, type)), 64) as { value: unknown }
  expect(checkedForm(read(6).value)).toMatchObject({ form: expect.anything(), faults: [] })
  const tooDeep = ['form_invalid: the form nests panels and tabs more than 6 levels deep']
  expect(checkedForm(nested(7, type)).faults).toEqual(tooDeep)
  expect(checkedForm(nested(50_000, type)).faults).toEqual(tooDeep)
})

const MANY = 'form_invalid: the form has more than'
const ITEMS = [`${MANY} 20000 options, table columns, badges and table rows in total`]

test.each<[string, unknown, readonly string[]]>([
  ['1,000 elements', formWith(...labels(1000)), []],
  ['1,001 elements', formWith(...labels(1001)), [`${MANY} 1000 elements`]],
  ['100,000 elements', formWith(...labels(100_000)), [`${MANY} 1000 elements`]],
  ['100,000 elements that are null', formWith(...Array(100_000).fill(null)), [`${MANY} 1000 elements`]],
  [
    '600 elements in each of two panels',
    formWith(
      { type: 'panel', name: 'a', ...formWith(...labels(600)) },
      { type: 'panel', name: 'b', ...formWith(...labels(600)) },
    ),
    [`${MANY} 1000 elements`],
  ],
  [
    '100,000 rows',
    { layout: Array(100_000).fill({}) },
    ['form_invalid: the form has a layout with more than 200 rows'],
  ],
  [
    '200 rows with 12 columns each',
    { layout: Array(200).fill({ columns: Array(12).fill({}) }) },
    [`${MANY} 2000 columns`],
  ],
  ['100,000 columns', { layout: [{ columns: Array(100_000).fill(0) }] }, [`${MANY} 2000 columns`]],
  [
    '350,000 empty options',
    formWith(
      ...Array.from({ length: 350 }, (_, i) => ({ type: 'select', name: `s${i}`, options: Array(1000).fill({}) })),
    ),
    ITEMS,
  ],
  [
    '100,000 table rows',
    formWith({ type: 'table', name: 't', columns: [{ name: 'x' }], value: Array(100_000).fill({}) }),
    ITEMS,
  ],
  [
    '50 columns with 1,000 badges each',
    formWith({
      type: 'table',
      name: 't',
      columns: Array.from({ length: 50 }, (_, i) => ({ name: `c${i}`, badges: Array(1000).fill({}) })),
    }),
    ITEMS,
  ],
  [
    '100,000 tabs',
    formWith({ type: 'tabs', name: 't', tabs: Array(100_000).fill({}) }),
    ['form_invalid: the form has an element with more than 50 tabs'],
  ],
])('form: %s are accepted, or rejected with a single error', (_what, form, faults) => {
  expect(checkedForm(form).faults).toEqual(faults)
})

test('form: if there are thousands of errors, 100 are listed and the rest are counted', () => {
  const cells = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`c${index}`, []]))
  const table = { type: 'table', name: 't', columns: [{ name: 'x' }], value: [{ id: 1, ...cells }] }
  expect(checkedForm(formWith(table)).faults).toHaveLength(100)
  const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`key${index}`, 1]))
  expect(checkedForm(keys).faults.at(-1)).toBe('more_faults: 99900 more errors are not listed')
  const wrong = Array.from({ length: 1000 }, () => ({ type: 'label', name: 5, label: 5 }))
  expect(checkedForm(formWith(...wrong)).faults.at(-1)).toBe('more_faults: 1900 more errors are not listed')
})

test('form: 100 errors are listed for thousands of handlers without a function, in a script with thousands of functions', () => {
  const functions = new Set(Array.from({ length: 30_000 }, (_, index) => `${'f'.repeat(58)}${index}`))
  const buttons = Array.from({ length: 1000 }, (_, i) => ({ type: 'button', name: `b${i}`, onAction: `g${i}` }))
  expect(checkedForm(formWith(...buttons), { functions }).faults).toHaveLength(101)
})

test('form: 100 warnings are listed for thousands of unknown permissions and keys', () => {
  const permissions = new Set(Array.from({ length: 1000 }, (_, index) => `${'p'.repeat(60)}${index}`))
  const elements = labels(1000).map((one, i) => ({ ...one, permission: `q${i}`, label: `i18n:k${i}` }))
  const { form, warnings } = checkedForm(formWith(...elements), { permissions })
  expect(form).not.toBeNull()
  expect([warnings.length, warnings.at(-1)]).toEqual([101, 'more_warnings: 1900 more warnings are not listed'])
})

test('form: property names of Object.prototype do not count as keys, types, functions or texts', () => {
  for (const name of ['toString', 'valueOf', 'hasOwnProperty', 'constructor', '__proto__']) {
    const own = (key: string, value: unknown) => Object.assign(Object.create(null), { [key]: value })
    if (name !== '__proto__')
      expect(checkedForm(own(name, 'x')).faults[0]).toContain(`has an unknown property "${name}"`)
    expect(checkedForm(formWith({ type: name, name: 'a' })).faults[0]).toContain(`not "${name}"`)
    const { faults } = checkedForm({ onShow: name, title: `i18n:${name}` }, { functions: new Set() })
    expect(faults[0]).toContain(`names the function "${name}"`)
    expect(checkedForm({ title: `i18n:${name}` }).warnings).toEqual([
      `form_text_missing: no file in i18n/ contains the key "${name}"`,
    ])
  }
})

test('form: an error never quotes unprintable or very long text', () => {
  const odd = `\u202e\ud800\u0000${'x'.repeat(100_000)}`
  const form = {
    [odd]: 1,
    title: odd,
    ...formWith({ type: odd, name: odd }, { type: 'label', name: 'a', permission: odd }),
  }
  const { faults } = checkedForm(form)
  expect(faults).toHaveLength(4)
  for (const fault of faults) {
    expect(fault).toMatch(/^[\x20-\x7e’…]*$/)
    expect(fault.length).toBeLessThan(500)
  }
})
