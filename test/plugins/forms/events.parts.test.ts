import { afterAll, expect, test } from 'vitest'
import forms from '../../../plugins/forms/host.ts'
import type { SolutionFacts } from '../../../runtime/plugin.ts'
import { createFormLab, definitionOf } from '../../support/form-lab.ts'
import { formWith } from '../../support/forms.ts'

const lab = createFormLab()
afterAll(() => lab.stop())

const FORM = formWith(
  {
    ...{ type: 'text', name: 'name', value: 'old', onElementDataChange: 'changed' },
    ...{ onElementFocusGained: 'note', onElementFocusLost: 'note' },
  },
  { type: 'button', name: 'go', onAction: 'note' },
  { type: 'button', name: 'off', enabled: false, onAction: 'note' },
  { type: 'button', name: 'hidden', visible: false, onAction: 'note' },
  {
    ...{ type: 'table', name: 'lines', selection: 'multiple', columns: [{ name: 'what', sortable: true }] },
    ...{ value: [{ id: 1 }, { id: 'b' }], onAction: 'note', onRecordSelection: 'note', onSort: 'note' },
  },
  {
    type: 'tabs',
    name: 'pages',
    tabs: [
      { name: 'one', label: '1', layout: [] },
      { name: 'two', label: '2', layout: [] },
    ],
  },
)
const SCRIPT = `let answer; let seen = []
  function setAnswer(code) { answer = (0, eval)(code) }
  function changed(before, after, event) { seen.push([before, after, event.type, event.source, event.elementName, event.data, forms.a.elements.name.value]); return answer?.(event) }
  function note(...args) { const event = args.pop(); seen.push([event.type, event.elementName, ...args]) }
  function onResize(event) { seen.push([event.type, event.elementName]) }
  function take() { return JSON.stringify(seen.splice(0)) }`
const GLOBALS = `let heard = []; let verdict = true
  for (const type of ['onAction', 'onElementDataChange']) eventsManager.addEventListener(type, (event, ...args) => {
    heard.push([event.type, event.source, event.elementName, ...args]); return verdict }, 'forms.a')
  function start() { application.showForm('a') }
  function answer(code) { forms.a.setAnswer(code) }
  function setVerdict(value) { verdict = value === 'yes' }
  function seen() { return forms.a.take() }
  function listened() { return JSON.stringify(heard.splice(0)) }
  function run(code) { return String((0, eval)(code)) }`

async function open(globals = GLOBALS, script = SCRIPT) {
  const client = await lab.open(globals, { a: { form: FORM, script }, b: { form: formWith(), script: '' } })
  expect(await client.run('start')).toMatchObject({ code: 'returned' })
  const json = async (entry: string) => JSON.parse((await client.result(entry)) as string)
  return { ...client, json }
}

test('a change: its function gets the old and the new value, then the listeners run, and the host receives the value', async () => {
  const client = await open()
  const { elements } = await client.changes(client.fire('a', 'name', 'onElementDataChange', 'new'))
  expect(elements).toEqual({ 'a.name': { value: 'new', error: '' } })
  expect(await client.json('seen')).toEqual([
    ['old', 'new', 'onElementDataChange', 'forms.a', 'name', ['old', 'new'], 'new'],
  ])
  expect(await client.json('listened')).toEqual([['onElementDataChange', 'forms.a', 'name', 'old', 'new']])
})

test.each([
  ['() => false', { value: 'old', error: '' }],
  ["() => 'i18n:wrong'", { value: 'old', error: 'i18n:wrong' }],
  ["async () => 'later'", { value: 'old', error: 'later' }],
  ["() => { forms.a.elements.name.value = 'own'; return false }", { value: 'own', error: '' }],
  ['() => true', { value: 'new', error: '' }],
])('a change is handled correctly if the function returns %s', async (code, state) => {
  const client = await open()
  await client.run('answer', code)
  const { elements } = await client.changes(client.fire('a', 'name', 'onElementDataChange', 'new'))
  expect(elements).toEqual({ 'a.name': state })
  expect(await client.json('listened')).toHaveLength(1)
})

test('a change: a listener can reject it, the function can stop the listeners, and if a listener fails, the old value is kept', async () => {
  const client = await open()
  const change = (value: string) => client.changes(client.fire('a', 'name', 'onElementDataChange', value))
  await client.run('setVerdict', 'no')
  expect((await change('new')).elements).toEqual({ 'a.name': { value: 'old', error: '' } })
  await client.run('answer', '(event) => event.stopPropagation()')
  expect((await change('new')).elements).toEqual({ 'a.name': { value: 'new', error: '' } })
  await client.run('answer', '() => { throw new Error("no") }')
  expect(await client.fire('a', 'name', 'onElementDataChange', 'newer')).toMatchObject({ message: 'Error: no' })
  expect((await client.changes(client.run('forms.flush'))).elements).toEqual({ 'a.name': { value: 'new', error: '' } })
})

test('other events: their functions get the arguments that docs/forms.md describes, with the event as the last one', async () => {
  const client = await open()
  const { elements } = await client.changes(
    client.fire('a', 'lines', 'onSort', { column: 'what', direction: 'descending' }),
  )
  expect(elements).toEqual({ 'a.lines': { sort: { column: 'what', direction: 'descending' }, page: 1 } })
  await client.fire('a', 'lines', 'onRecordSelection', { rows: [1, 'b'], selected: true })
  await client.fire('a', 'lines', 'onRecordSelection', { rows: [1], selected: false })
  await client.fire('a', 'lines', 'onAction', 'b')
  await client.fire('a', 'go', 'onAction')
  await client.fire('a', 'name', 'onElementFocusGained')
  await client.fire('a', 'name', 'onElementFocusLost')
  await client.fire('a', '', 'onResize')
  expect(await client.json('seen')).toEqual([
    ['onSort', 'lines', 'what', 'descending'],
    ['onRecordSelection', 'lines', [1, 'b']],
    ['onRecordSelection', 'lines', ['b']],
    ['onAction', 'lines', 'b'],
    ['onAction', 'go'],
    ['onElementFocusGained', 'name'],
    ['onElementFocusLost', 'name'],
    ['onResize', null],
  ])
  expect((await client.changes(client.fire('a', 'pages', 'showTab', 'two'))).elements).toEqual({
    'a.pages': { value: 'two' },
  })
  expect((await client.changes(client.fire('a', 'lines', 'showPage', 2))).elements).toEqual({ 'a.lines': { page: 2 } })
})

test('events on hidden, disabled or unknown elements and in forms that are not shown are ignored', async () => {
  const client = await open()
  for (const [form, element] of [
    ['a', 'off'],
    ['a', 'hidden'],
    ['a', 'nobody'],
    ['a', 'constructor'],
    ['b', 'go'],
    ['c', 'go'],
  ]) {
    expect(await client.fire(form as string, element as string, 'onAction')).toMatchObject({ code: 'returned' })
  }
  expect(await client.json('seen')).toEqual([])
  expect(await client.json('listened')).toEqual([])
})

test('scripts cannot fire, define or shadow the platform’s events', async () => {
  const client = await open(`${GLOBALS}
    globalThis['forms.event'] = () => { throw new Error('shadowed') }
    function event() { throw new Error('shadowed') }`)
  expect(await client.fire('a', 'go', 'onAction')).toMatchObject({ code: 'returned' })
  expect(await client.json('listened')).toEqual([['onAction', 'forms.a', 'go']])
  expect(await client.run('run', "eventsManager.fireEventListeners('onAction')")).toMatchObject({
    message: expect.stringContaining('only the platform fires it'),
  })
  expect(await client.run('forms.nothing')).toMatchObject({ code: 'script_error' })
})

test('malicious scripts: changed built-ins and prototypes do not affect the platform', async () => {
  const client = await open(
    `${GLOBALS}
    const loot = []
    for (const type of [Object, Array, String, Function, Promise, Reflect, JSON, Proxy])
      for (const target of [type, type.prototype]) if (target) for (const key of Reflect.ownKeys(target)) {
        const own = Object.getOwnPropertyDescriptor(target, key)
        if (typeof key === 'string' && typeof own.value === 'function' && own.configurable && !['eval', 'push', 'splice', 'stringify', 'then', 'pop'].includes(key)) hidden.push([target, key]) }
    function attack() {
      const define = Object.defineProperty
      for (const key of ['get', 'set', 'value', 'rows', 'changed', 'visible', 'writable', 'prototypeName', 'sort', 'error'])
        define(Object.prototype, key, { __proto__: null, configurable: true, get() { return undefined }, set(value) { loot.push(key) } })
      define(Array.prototype, '0', { __proto__: null, configurable: true, get() { return 'x' }, set(value) {} })
      for (const [target, key] of hidden) target[key] = function () { loot.push(String(key)); return {} }
    }
    function loots() { return loot.length + '' }`.replace('const loot', 'const hidden = []; const loot'),
  )
  expect(await client.run('attack')).toMatchObject({ code: 'returned' })
  const { elements } = await client.changes(client.fire('a', 'name', 'onElementFocusGained'))
  expect(elements).toEqual({})
  const changed = await client.changes(client.fire('a', 'lines', 'onSort', { column: 'what', direction: 'ascending' }))
  expect(changed.elements).toEqual({ 'a.lines': { sort: { column: 'what', direction: 'ascending' }, page: 1 } })
  expect(await client.result('loots')).toBe('0')
})

test.each([
  ['Object.defineProperty(forms, "a", { value: 1 })', 'TypeError'],
  ['Object.setPrototypeOf(forms.a, {})', 'TypeError'],
  ['delete forms.a.elements.name || (() => { "use strict"; delete forms.a.elements.name })()', 'TypeError'],
  ['Object.defineProperty(forms.a.elements.name, "value", { value: 1 })', 'TypeError'],
  ['forms.a.elements.lines.rows.push({ id: 9 })', 'TypeError'],
  ['(() => { "use strict"; forms.a.elements.lines.rows[0].id = 9 })()', 'TypeError'],
  ['forms.a.elements.name.value = new Proxy({}, { get() { throw 1 } })', 'TypeError'],
  ['{ const a = []; a[0] = a; forms.a.elements.name.value = a }', 'TypeError'],
  ['forms.a.elements.name.value = { toString() { return "x" } }', 'TypeError'],
  ['forms.a.elements.lines.rows = new Proxy([], { get: (t, k) => (k === "length" ? 1e9 : {}) })', 'TypeError'],
  ['{ const a = {}; a.id = a; forms.a.elements.lines.rows = [a] }', 'TypeError'],
])('malicious scripts: the code %s does not affect the platform', async (code, name) => {
  const client = await open()
  const outcome = await client.run('run', code)
  expect(outcome).toMatchObject({ code: 'script_error', message: expect.stringContaining(name) })
  expect((await client.changes(client.run('forms.flush'))).elements).toEqual({})
})

test('malicious scripts: a getter is read once, and the checked value is used', async () => {
  const client = await open()
  const code = `let n = 0; forms.a.elements.lines.rows = [{ get id() { return ++n }, what: 'a' }]; String(n) + forms.a.elements.lines.rows[0].id`
  const outcome = client.run('run', code)
  expect((await client.changes(outcome)).elements).toEqual({ 'a.lines': { rows: [{ id: 1, what: 'a' }] } })
  expect(await outcome).toMatchObject({ result: '11' })
})

const definitions = new Map([['a', definitionOf(FORM)]])
const facts = { definitions } as unknown as SolutionFacts
const nothing = () => {}
const ports = { update: nothing, show: nothing, leaving: nothing, onlyForm: () => null, listening: nothing }
const { commands } = forms(ports)

test.each([
  ['update', { form: 'x', elements: {} }],
  ['update', { form: '__proto__', elements: {} }],
  ['update', { form: 'a', unsaved: true, elements: {} }],
  ['update', { form: 'a', elements: { nobody: { value: 'x' } } }],
  ['update', { form: 'a', elements: { constructor: { visible: true } } }],
  ['update', { form: 'a', elements: { name: { rows: [] } } }],
  ['update', { form: 'a', elements: { name: { value: 5 } } }],
  ['update', { form: 'a', elements: { name: { value: 'x'.repeat(1001) } } }],
  ['update', { form: 'a', elements: { name: { visible: 'yes' } } }],
  ['update', { form: 'a', elements: { name: { label: 'x'.repeat(2001) } } }],
  ['update', { form: 'a', elements: { name: { html: 'x' } } }],
  ['update', { form: 'a', elements: { lines: { rows: [{ id: 1, other: 1 }] } } }],
  ['update', { form: 'a', elements: { lines: { rows: Array.from({ length: 10_001 }, (_, id) => ({ id })) } } }],
  ['update', { form: 'a', elements: { pages: { value: 'three' } } }],
  ['update', { form: 'a', elements: {}, more: 1 }],
  ['show', 'x'],
  ['show', 5],
])('the host rejects a forged command %s %j', (method, argument) => {
  expect(() => commands[method]?.check([argument], facts)).toThrow()
  expect(commands.update?.check([{ form: 'a', elements: { name: { value: 'x' } } }], facts)).toBeTruthy()
})
