import { afterAll, describe, expect, test } from 'vitest'
import { createFormLab } from '../../support/form-lab.ts'
import { formWith } from '../../support/forms.ts'

const lab = createFormLab()
afterAll(() => lab.stop())

const FORM = {
  title: 'Orders',
  ...formWith(
    { type: 'label', name: 'intro', label: 'Hello' },
    { type: 'text', name: 'company', label: 'Company', value: 'Example', maxLength: 10, placeholder: 'p' },
    { type: 'password', name: 'secret' },
    { type: 'email', name: 'mail' },
    { type: 'textarea', name: 'notes' },
    { type: 'number', name: 'price', value: 9.5 },
    { type: 'date', name: 'due' },
    { type: 'checkbox', name: 'news', required: true },
    {
      type: 'select',
      name: 'size',
      value: 1,
      options: [
        { value: 1, label: 'One' },
        { value: 'two', label: 'Two' },
      ],
    },
    { type: 'radio', name: 'way', options: [{ value: 'x', label: 'X' }] },
    { type: 'button', name: 'save', label: 'Save' },
    { type: 'link', name: 'terms', href: '/terms' },
    { type: 'link', name: 'more', onAction: 'more' },
    { type: 'image', name: 'logo', src: 'logo.svg', alt: '' },
    {
      type: 'table',
      name: 'lines',
      selection: 'multiple',
      columns: [
        { name: 'what' },
        { name: 'total', type: 'number', sortable: true },
        { name: 'day', type: 'date' },
        { name: 'paid', type: 'boolean' },
      ],
      value: [{ id: 1, what: 'a' }],
    },
    { type: 'table', name: 'plain', columns: [{ name: 'what' }] },
    { type: 'panel', name: 'box', layout: formWith({ type: 'text', name: 'inner' }).layout },
    {
      type: 'tabs',
      name: 'pages',
      tabs: [
        { name: 'one', label: 'One', layout: [] },
        { name: 'two', label: 'Two', layout: [] },
      ],
    },
  ),
}
const SCRIPT = 'function more() {}'

/** Opens the form's client. Its function `run` evaluates code and returns the result as JSON. */
async function open() {
  const client = await lab.open(
    "function run(code) { return JSON.stringify((0, eval)('(() => {' + code + '})()') ?? null) }",
    {
      orders: { form: FORM, script: SCRIPT },
      detail: { form: formWith() },
    },
  )
  return client
}

async function evaluate(code: string) {
  const client = await open()
  const outcome = client.run('run', code)
  const changes = await client.changes(outcome)
  const done = await outcome
  return { value: JSON.parse((done.code === 'returned' && done.result) || 'null'), ...changes }
}

async function errorOf(code: string): Promise<string> {
  const outcome = await (await open()).run('run', code)
  return outcome.code === 'returned' ? 'returned' : outcome.message
}

describe('elements: a property that a script sets can be read back and is sent to the host', () => {
  test.each([
    ['intro', 'label', '"i18n:x"'],
    ['intro', 'hint', '"Help"'],
    ['intro', 'visible', 'false'],
    ['save', 'enabled', 'false'],
    ['company', 'value', '"Short"'],
    ['company', 'required', 'true'],
    ['company', 'error', '"no"'],
    ['company', 'placeholder', '""'],
    ['secret', 'value', '"pass word"'],
    ['mail', 'value', '"a@b.example"'],
    ['notes', 'value', '"a\\nb"'],
    ['price', 'value', '-1.25'],
    ['price', 'value', 'null'],
    ['due', 'value', '"2028-02-29"'],
    ['due', 'value', 'null'],
    ['news', 'value', 'true'],
    ['size', 'value', '"two"'],
    ['size', 'options', '[{"value":1,"label":"Uno"}]'],
    ['way', 'value', '"x"'],
    ['terms', 'href', '"https://example.org/"'],
    ['logo', 'src', '"a/b.png"'],
    ['logo', 'alt', '"Logo"'],
    ['lines', 'rows', '[{"id":1,"what":"a","total":1.5,"day":"2026-01-31","paid":true},{"id":"2","what":null}]'],
    ['lines', 'selected', '[1]'],
    ['lines', 'sort', '{"column":"total","direction":"descending"}'],
    ['lines', 'page', '3'],
    ['box', 'label', '"Box"'],
    ['inner', 'value', '"in"'],
    ['pages', 'value', '"two"'],
  ])('%s.%s = %s', async (element, property, json) => {
    const at = `forms.orders.elements.${element}.${property}`
    const { value, elements } = await evaluate(`${at} = ${json}; return ${at}`)
    expect(value).toEqual(JSON.parse(json))
    expect(elements).toEqual({ [`orders.${element}`]: { [property]: JSON.parse(json) } })
  })
})

test('elements: their initial values are those in the definition, and nothing is sent before a change', async () => {
  const { value, elements, shown } = await evaluate(`const e = forms.orders.elements
    return [forms.orders.title, forms.orders.getName(), e.company.value, e.company.placeholder, e.price.value, e.news.required, e.news.value,
      e.size.value, e.size.options.length, e.way.value, e.secret.value, e.lines.rows, e.lines.selected, e.lines.sort, e.lines.page,
      e.pages.value, e.intro.label, e.intro.hint, e.intro.visible, Object.keys(forms)]`)
  expect(value).toEqual([
    ...['Orders', 'orders', 'Example', 'p', 9.5, true, false, 1, 2, null, ''],
    ...[[{ id: 1, what: 'a' }], [], null, 1, 'one', 'Hello', '', true, ['orders', 'detail']],
  ])
  expect({ elements, shown }).toEqual({ elements: {}, shown: null })
})

test('forms: a title is sent with its form', async () => {
  const { titles, elements } = await evaluate("forms.detail.title = 'New'; forms.orders.elements.company.value = null")
  expect(titles).toEqual({ detail: 'New' })
  expect(elements).toEqual({ 'orders.company': { value: '' } })
})

describe('elements: a value that a property does not accept causes a TypeError with the property’s name', () => {
  test.each([
    [
      'company.value = 5',
      'forms.orders.elements.company.value must be a string of at most 10 characters without control characters, not 5',
    ],
    ['company.value = "12345678901"', 'forms.orders.elements.company.value must be a string of at most 10'],
    ['company.value = "a\\nb"', 'company.value must be a string'],
    ['company.value = "\\ud800"', 'company.value must be a string'],
    ['price.value = "5"', 'forms.orders.elements.price.value must be a number or null, not "5"'],
    ['price.value = NaN', 'price.value must be a number'],
    ['due.value = "2026-02-29"', 'due.value must be a date in the format YYYY-MM-DD or null, not "2026-02-29"'],
    ['due.value = new Date()', 'due.value must be a date'],
    ['news.value = 1', 'news.value must be true or false, not 1'],
    ['size.value = "three"', 'size.value must be the value of one of the options or null'],
    ['pages.value = "three"', 'pages.value must be the name of one of the tabs'],
    ['intro.visible = "no"', 'intro.visible must be true or false'],
    ['terms.href = "javascript:alert(1)"', 'terms.href must be an http'],
    ['logo.src = "../x"', 'logo.src must be a path below media/'],
    ['more.href = "/x"', 'forms.orders.elements.more has no href'],
    [
      'size.options = [{ value: 1, label: "a" }, { value: "1", label: "b" }]',
      'size.options[1].value must be unique among the options',
    ],
    ['lines.rows = [{ id: 1 }, { id: "1" }]', 'lines.rows[1].id must be unique among the rows'],
    ['lines.rows = [{ what: "a" }]', 'lines.rows[0].id must be a string of 1 to 200'],
    ['lines.rows = [{ id: 1, other: 1 }]', 'lines.rows[0].other: the table has no such column'],
    ['lines.rows = [{ id: 1, total: "1" }]', 'lines.rows[0].total must be a number or null'],
    ['lines.rows = { length: 1 }', 'lines.rows must be a list of at most 10000 rows'],
    [
      'lines.rows = Promise.resolve([])',
      'lines.rows must be a list of at most 10000 rows, not [promise]; use "await" to get its value',
    ],
    ['lines.selected = [9]', 'lines.selected[0] must be the id of a row in the table'],
    ['plain.selected = [1]', 'plain.selected must be a list of at most 0 ids'],
    ['lines.sort = { column: "x", direction: "ascending" }', 'lines.sort.column must be the name of a column'],
    ['lines.page = 0', 'lines.page must be a whole number'],
    ['company.valeu = "x"', 'forms.orders.elements.company has no valeu; did you mean value?'],
    ['compani.value = "x"', 'forms.orders.elements has no compani; did you mean company?'],
    ['company = "x"', 'forms.orders.elements.company cannot be replaced'],
    ['intro.value', 'forms.orders.elements.intro has no value'],
    ['constructor', 'forms.orders.elements has no constructor'],
  ])('%s', async (code, message) => {
    expect(await errorOf(`forms.orders.elements.${code}`)).toContain(
      `TypeError: ${message.startsWith('forms') ? '' : 'forms.orders.elements.'}${message}`,
    )
  })

  test('forms and their functions are protected against typos and replacement, like elements', async () => {
    expect(await errorOf('forms.order')).toBe('TypeError: forms has no order; did you mean orders?')
    expect(await errorOf('forms.orders.mroe()')).toContain('forms.orders has no mroe')
    expect(await errorOf('forms.orders = 1')).toBe('TypeError: forms.orders cannot be replaced')
    expect(await errorOf('forms.orders.more = 1')).toBe('TypeError: forms.orders.more cannot be replaced')
    expect(await errorOf('"use strict"; forms = 1')).toContain('TypeError: Cannot assign to read only property')
  })
})

test('elements: changing rows or options also resets the selection that depends on them', async () => {
  const { elements } = await evaluate(`const { lines, size } = forms.orders.elements
    lines.selected = [1]; lines.rows = [{ id: 2 }]; size.options = []`)
  expect(elements).toEqual({
    'orders.lines': { selected: [], rows: [{ id: 2 }] },
    'orders.size': { options: [], value: null },
  })
})

test('elements: a table accepts at most 10,000 rows', async () => {
  const set = (count: number, cell: string) =>
    `forms.orders.elements.lines.rows = Array.from({ length: ${count} }, (_, id) => ({ id${cell} }))`
  const { elements } = await evaluate(set(10_000, ''))
  expect((elements['orders.lines'] as { rows: unknown[] }).rows).toHaveLength(10_000)
  expect(await errorOf(set(10_001, ''))).toContain('lines.rows must be a list of at most 10000 rows')
})

test('elements: a failed call’s changes are sent with the next call', async () => {
  const client = await open()
  expect(await client.run('run', "forms.orders.elements.company.error = 'no'; throw 1")).toMatchObject({
    code: 'script_error',
  })
  expect((await client.changes(client.run('forms.flush'))).elements).toEqual({ 'orders.company': { error: 'no' } })
  expect((await client.changes(client.run('forms.flush'))).elements).toEqual({})
})

test('elements: each client has separate elements, which keep their state between calls', async () => {
  const [one, other] = [await open(), await open()]
  await one.run('run', "forms.orders.elements.company.value = 'mine'")
  expect(await one.result('run', 'return forms.orders.elements.company.value')).toBe('"mine"')
  expect(await other.result('run', 'return forms.orders.elements.company.value')).toBe('"Example"')
})
