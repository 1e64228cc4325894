import { afterAll, beforeAll, expect, test } from 'vitest'
import forms, { type FormUpdate } from '../../../plugins/forms/host.ts'
import type { Call, SolutionFacts } from '../../../runtime/plugin.ts'
import { createClientLab } from '../../support/clients.ts'
import { createFormLab, definitionOf, type FormLab } from '../../support/form-lab.ts'
import { formWith } from '../../support/forms.ts'

// Tests how changes in a client reach the host, including oversized changes and changes by failed calls.

let lab: FormLab
/** A lab with smaller limits on the data that a call may send. */
let narrow: FormLab
beforeAll(() => {
  lab = createFormLab()
  narrow = createFormLab({ limits: { ARGUMENT_SIZE: 32_768, CLIENT_COMMANDS_SIZE: 131_072 } })
})
afterAll(() => {
  lab.stop()
  narrow.stop()
})

const columns = ['customer', 'street', 'town', 'note'].map((name) => ({ name }))
const FORM = {
  title: 'Orders',
  ...formWith(
    { type: 'table', name: 'lines', selection: 'multiple', columns, value: [{ id: 'first' }] },
    { type: 'table', name: 'others', selection: 'multiple', columns },
    { type: 'select', name: 'size' },
    { type: 'text', name: 'company', maxLength: 10_000 },
    ...Array.from({ length: 12 }, (_, index) => ({ type: 'textarea', name: `notes${index}` })),
  ),
}
const SCRIPT = `const { lines, others, size, company } = forms.a.elements
  const rowsOf = (count, text) => Array.from({ length: count }, (_, id) => ({ id: 'row-' + id, customer: text + id, street: text, town: null }))
  function run(code) { return JSON.stringify((0, eval)('(() => {' + code + '})()') ?? null) }
  function fail(code) { (0, eval)(code); throw new Error('no') }
  function tooLong(code) { (0, eval)(code); return 'x'.repeat(100000) }`

async function open(of = lab) {
  const client = await of.open(SCRIPT, { a: { form: FORM, script: '' }, b: { form: formWith(), script: '' } })
  return {
    ...client,
    after: (code: string) => client.changes(client.run('run', code)),
    value: async (code: string) => JSON.parse((await client.result('run', `return ${code}`)) as string),
  }
}

test('a table: 10,000 rows of ordinary width reach the host complete and in order, with all of them selected', async () => {
  const client = await open()
  const { elements } = await client.after(
    "lines.rows = rowsOf(10000, 'Some customer of a usual length '); lines.selected = lines.rows.map((row) => row.id); company.value = 'x'",
  )
  const { rows, selected } = elements['a.lines'] as { rows: unknown[]; selected: string[] }
  expect(rows).toHaveLength(10_000)
  expect(rows).toEqual(
    Array.from({ length: 10_000 }, (_, id) => ({
      id: `row-${id}`,
      customer: `Some customer of a usual length ${id}`,
      street: 'Some customer of a usual length ',
      town: null,
    })),
  )
  expect(selected).toEqual(Array.from({ length: 10_000 }, (_, id) => `row-${id}`))
  expect(elements['a.company']).toEqual({ value: 'x' })
  expect((await client.after('')).elements).toEqual({})
})

test('a table: cells reach the host even if each character takes six characters in JSON', async () => {
  const client = await open(narrow)
  const { elements } = await client.after('lines.rows = rowsOf(20, String.fromCharCode(1).repeat(400))')
  const { rows } = elements['a.lines'] as { rows: { street: string }[] }
  expect(rows.map(({ street }) => street === '\u0001'.repeat(400))).toEqual(Array.from({ length: 20 }, () => true))
})

test('a select: 1,000 options with long labels reach the host', async () => {
  const client = await open()
  const { elements } = await client.after(
    "size.options = Array.from({ length: 1000 }, (_, value) => ({ value, label: 'x'.repeat(1000) + value })); size.value = 999",
  )
  const { options, value } = elements['a.size'] as { options: { value: number; label: string }[]; value: number }
  expect([options.length, options[999]?.label.length, value]).toEqual([1000, 1003, 999])
})

test('a table: setting rows that are too large throws an error with the name and sizes', async () => {
  const client = await open(narrow)
  expect(await client.run('run', "lines.rows = rowsOf(2000, 'x'.repeat(50))")).toMatchObject({
    code: 'script_quota',
    message:
      'RangeError: forms.a.elements.lines.rows is too large: the limit CLIENT_COMMANDS_SIZE (131072) is exceeded',
    limit: { name: 'CLIENT_COMMANDS_SIZE', allowed: 131_072, used: expect.any(Number) },
  })
  expect(
    await client.run(
      'run',
      "lines.rows = [{ id: 1 }, { id: 2, note: 'x'.repeat(10000), town: 'x'.repeat(9990), street: 'x'.repeat(9900) }]",
    ),
  ).toMatchObject({
    code: 'script_quota',
    message: expect.stringContaining(
      'forms.a.elements.lines.rows has an item that is too large: the limit ARGUMENT_SIZE',
    ),
  })
  expect(await client.value('lines.rows.map((row) => row.id)')).toEqual(['first'])
  const caught = "try { lines.rows = rowsOf(2000, 'x'.repeat(50)) } catch { lines.rows = [{ id: 1 }] }"
  expect((await client.after(caught)).elements).toEqual({ 'a.lines': { rows: [{ id: 1 }] } })
})

test('if all tables together are too large, the call fails with a table’s name, that table is reset, and the rest is sent next', async () => {
  const client = await open(narrow)
  const outcome = await client.run(
    'run',
    "company.value = 'kept'; lines.selected = ['first']; lines.rows = rowsOf(400, 'x'.repeat(50)); others.rows = rowsOf(600, 'x'.repeat(50))",
  )
  expect(outcome).toMatchObject({
    code: 'script_quota',
    message: expect.stringMatching(
      /^RangeError: forms\.a\.elements\.others: the changes are too large for one call: the limit CLIENT_COMMANDS_SIZE \(131072\) is exceeded$/,
    ),
    limit: { name: 'CLIENT_COMMANDS_SIZE', allowed: 131_072 },
  })
  const { elements } = await client.changes(client.run('forms.flush'))
  expect(Object.keys(elements)).toEqual(['a.company', 'a.lines'])
  expect((elements['a.lines'] as { rows: unknown[] }).rows).toHaveLength(400)
  expect(elements['a.lines']).toMatchObject({ selected: [] })
  expect(await client.value('[others.rows.length, lines.rows.length, lines.selected, company.value]')).toEqual([
    0,
    400,
    [],
    'kept',
  ])
  expect((await client.after('others.rows = [{ id: 1 }]')).elements).toEqual({ 'a.others': { rows: [{ id: 1 }] } })
})

test('if all texts together are too large, those that do not fit are reset, and later calls work', async () => {
  const client = await open(narrow)
  const fill =
    "for (let n = 0; n < 12; n++) forms.a.elements['notes' + n].value = '\"'.repeat(10000); forms.a.title = 'New'"
  expect(await client.run('run', fill)).toMatchObject({
    code: 'script_quota',
    message: expect.stringContaining('forms.a.elements.notes'),
  })
  const { elements, titles } = await client.changes(client.run('forms.flush'))
  const sent = Object.keys(elements)
  expect(titles).toEqual({ a: 'New' })
  expect(sent.length).toBeGreaterThan(3)
  const lengths = Array.from({ length: 12 }, (_, index) => (sent.includes(`a.notes${index}`) ? 10_000 : 0))
  expect(
    await client.value('Array.from({ length: 12 }, (_, n) => forms.a.elements["notes" + n].value.length)'),
  ).toEqual(lengths)
})

test('if a script uses up all its requests, its call fails, its changes are reverted, and the next call works', async () => {
  const client = await open()
  const outcome = await client.run('run', "company.value = 'x'; for (let n = 0; n < 2000; n++) i18n.setLocale('nl')")
  expect(outcome).toMatchObject({ code: 'script_quota', limit: { name: 'CALL_REQUESTS' } })
  expect((await client.changes(client.run('forms.flush'))).elements).toEqual({})
  expect(await client.value('company.value')).toBe('')
  expect((await client.after("company.value = 'y'")).elements).toEqual({ 'a.company': { value: 'y' } })
})

test('if a call fails after its changes were sent, the latest state is sent again with the next call', async () => {
  const client = await open()
  const change = "company.value = 'one'; lines.rows = []; forms.a.title = 'T'; application.showForm('b')"
  expect(await client.run('tooLong', change)).toMatchObject({ code: 'script_quota', limit: { name: 'RESULT_SIZE' } })
  expect(await client.changes(client.run('run', "company.value = 'two'"))).toEqual({
    shown: 'b',
    elements: { 'a.company': { value: 'two' }, 'a.lines': { rows: [] } },
    titles: { a: 'T' },
    unsaved: {},
    leaving: null,
    listening: null,
  })
  expect(await client.changes(client.run('forms.flush'))).toEqual({
    shown: null,
    elements: {},
    titles: {},
    unsaved: {},
    leaving: null,
    listening: null,
  })
})

test('changes that a script makes after its function returned are sent with the next call', async () => {
  const client = await open()
  const first = await client.after(
    "company.value = 'one'; Promise.resolve().then(() => { company.value = 'two' }); return null",
  )
  expect(first.elements).toEqual({ 'a.company': { value: 'one' } })
  expect((await client.after('')).elements).toEqual({ 'a.company': { value: 'two' } })
  expect((await client.after('')).elements).toEqual({})
})

test('listening: scripts report to the host which events they listen to, but only for events that browsers report on request', async () => {
  const client = await open()
  expect((await client.after('')).listening).toBeNull()
  const add = (type: string) =>
    `globalThis.${type}Off = eventsManager.addEventListener('${type}', () => {}, 'anything')`
  expect((await client.after(`${add('onShow')}; ${add('onSort')}`)).listening).toBeNull()
  expect((await client.after(`${add('onResize')}; ${add('onAction')}`)).listening).toEqual(['onAction', 'onResize'])
  expect((await client.after(add('onElementFocusLost'))).listening).toEqual([
    'onElementFocusLost',
    'onAction',
    'onResize',
  ])
  expect((await client.after('onActionOff(); onResizeOff(); return onElementFocusLostOff()')).listening).toEqual([])
  expect(await client.run('fail', add('onElementFocusGained'))).toMatchObject({ code: 'script_error' })
  expect((await client.changes(client.run('forms.flush'))).listening).toEqual(['onElementFocusGained'])
})

test('listening: listeners added while scripts are loading are sent with the first call', async () => {
  const client = await lab.open("eventsManager.addEventListener('onAction', () => {}); function run() {}", {})
  expect((await client.changes(client.run('run'))).listening).toEqual(['onAction'])
})

const LOGIN = {
  login: { definition: definitionOf(FORM), script: '' },
  other: { definition: definitionOf(FORM), script: '' },
}

test('a login form: its effects apply without a sign-in, and no other form can be shown', async () => {
  const clients = createClientLab()
  const client = await clients.hosted(
    `function open(form) { forms.login.elements.company.error = 'wrong'; application.showForm(form)
      eventsManager.addEventListener('onAction', () => {}) }`,
    LOGIN,
  )
  const facts = { kind: 'login', onlyForm: 'login' } as const
  const { effects } = await client.call('open', ['login'], facts)
  expect(effects).toMatchObject({
    login: null,
    form: 'login',
    formUpdates: [{ form: 'login', elements: { company: { error: 'wrong' } } }],
    listening: ['onAction'],
  })
  const refused = await client.call('open', ['other'], facts)
  expect(refused.outcome).toMatchObject({
    message: 'TypeError: application.showForm: nobody is signed in, so only the form login can be shown',
  })
  // Sends forged commands, as a compromised guest could.
  const free = await client.call('open', ['other'])
  expect(free.effects.form).toBe('other')
  expect(clients.applied(free.outcome, { onlyForm: 'login', solution: factsOf(LOGIN) }).effects.form).toBeNull()
  clients.stop()
})

function factsOf(written: typeof LOGIN): SolutionFacts {
  const definitions = new Map(Object.entries(written).map(([name, { definition }]) => [name, definition]))
  return { definitions, forms: [...definitions.keys()] } as unknown as SolutionFacts
}

function host() {
  const updates: FormUpdate[] = []
  const { commands } = forms({
    update: (_call, update) => void updates.push(update),
    show: () => {},
    leaving: () => {},
    onlyForm: () => null,
    listening: () => {},
  })
  const facts = { definitions: new Map([['a', definitionOf(FORM)]]) } as unknown as SolutionFacts
  const send = (call: Call, method: string, argument: unknown) => {
    const command = commands[method]
    if (command === undefined) throw new Error(`no command ${method}`)
    command.apply(call, command.check([argument], facts) as never)
  }
  return { updates, send }
}

const beginning = (property: string, items: unknown, element = 'lines') => ({ form: 'a', element, property, items })

test.each([
  ['beginning', beginning('rows', [{ id: 1, other: 1 }])],
  ['beginning', beginning('rows', [{ customer: 'without id' }])],
  [
    'beginning',
    beginning(
      'rows',
      Array.from({ length: 10_001 }, (_, id) => ({ id })),
    ),
  ],
  ['beginning', beginning('rows', [{ id: 1 }], 'company')],
  ['beginning', beginning('rows', [{ id: 1 }], 'nobody')],
  ['beginning', beginning('value', ['x'], 'company')],
  ['beginning', beginning('selected', [true])],
  ['beginning', { ...beginning('rows', []), form: 'x' }],
  ['listening', ['onShow']],
  ['listening', 'onAction'],
])('the host rejects a forged command %s %j', (method, argument) => {
  const { send } = host()
  expect(() => send({} as Call, method, argument)).toThrow()
  send({} as Call, 'beginning', beginning('rows', [{ id: 1 }]))
  send({} as Call, 'listening', ['onAction'])
})

test('the host stores partial transfers by call and element, up to the maximum number of rows in a table', () => {
  const { send, updates } = host()
  const [one, other] = [{} as Call, {} as Call]
  const many = Array.from({ length: 9999 }, (_, id) => ({ id }))
  send(one, 'beginning', beginning('rows', many))
  send(one, 'beginning', beginning('rows', [{ id: 'a' }, { id: 'b' }]))
  send(one, 'beginning', beginning('selected', [1, 2]))
  send(one, 'beginning', beginning('rows', [{ id: 'x' }], 'others'))
  const rest = { form: 'a', elements: { lines: { rows: [{ id: 'c' }, { id: 'd' }], selected: [3] } } }
  send(other, 'update', rest)
  send(one, 'update', rest)
  send(one, 'update', rest)
  expect(updates.map(({ elements }) => [elements.lines?.rows?.length, elements.lines?.selected])).toEqual([
    [2, [3]],
    [10_000, [1, 2, 3]],
    [2, [3]],
  ])
  expect(updates[1]?.elements.lines?.rows?.at(-1)).toEqual({ id: 'c' })
})
