import { afterAll, expect, test } from 'vitest'
import { createFormLab } from '../../support/form-lab.ts'
import { formWith } from '../../support/forms.ts'

const lab = createFormLab({ manifest: { eventTypes: { onSaved: {} } } })
afterAll(() => lab.stop())

const FORM = formWith({ type: 'text', name: 'name', value: 'old', onElementDataChange: 'changed' })
/** Code for the solution's scripts. `seen` returns, as JSON, the values that they recorded with `note`. */
const GLOBALS = `let notes = []
  function note(...what) { notes.push(what) }
  function start() { application.showForm('a') }
  function call(name) { return String(forms.a[name]()) }
  function fire(context) { return String(eventsManager.fireEventListeners('onSaved', context === 'form' ? forms.a : context)) }
  function seen() { return JSON.stringify(notes.splice(0)) }`

async function open(script: string, { shows = true } = {}) {
  const client = await lab.open(GLOBALS, {
    a: { form: { ...FORM, onShow: script.includes('onShow(') ? 'onShow' : undefined }, script },
    b: { form: formWith() },
  })
  if (shows) expect(await client.run('start')).toMatchObject({ code: 'returned' })
  const seen = async () => JSON.parse((await client.result('seen')) as string)
  return { ...client, seen }
}

test('a form script: `this` is the form at the top level, in handlers and in functions that they call', async () => {
  const client = await open(`
    note('top', this === forms.a)
    const arrow = () => note('arrow', this === forms.a)
    function onShow() { note('handler', this === forms.a); helper(); [1].forEach(helper); arrow(); this.helper() }
    function helper() { note('helper', this === forms.a, this.elements.name.value) }
    function changed() { note('changed', this.getName()) }`)
  const helper = ['helper', true, 'old']
  expect(await client.seen()).toEqual([['top', true], ['handler', true], helper, helper, ['arrow', true], helper])
  await client.fire('a', 'name', 'onElementDataChange', 'new')
  expect(await client.seen()).toEqual([['changed', 'a']])
})

test('addEventListener(type, callback, this) in a form script: the listener belongs to the form, which is its `this`', async () => {
  const client = await open(`
    function onShow() { register() }
    function register() {
      eventsManager.addEventListener('onSaved', this.saved, this)
      eventsManager.addEventListener('onSaved', function (event) { note('function', this === forms.a, event.source) }, this)
      eventsManager.addEventListener('onSaved', saved)
    }
    function saved(event, ...rest) { note('saved', this === forms.a, event.source, ...rest); return true }
    function remove() { return eventsManager.removeEventListener('onSaved', this.saved, this) }`)
  await client.result('fire', 'elsewhere')
  expect(await client.seen()).toEqual([['saved', true, 'elsewhere']])
  await client.result('fire', 'form')
  const own = ['saved', true, 'forms.a']
  expect(await client.seen()).toEqual([own, ['function', true, 'forms.a'], own])
  expect(await client.result('call', 'remove')).toBe('true')
  await client.result('fire', 'form')
  expect(await client.seen()).toEqual([['function', true, 'forms.a'], own])
})

test.each([0, 1, 2, 3, 4])('a listener whose context is a form receives the event’s %i arguments', async (count) => {
  const client = await open(`
    function onShow() { eventsManager.addEventListener('onSaved', this.saved, this) }
    function saved(event, ...rest) { note(...rest); return true }
    function fireMany() { return eventsManager.fireEventListeners('onSaved', this, ${JSON.stringify([1, 2, 3, 4].slice(0, count))}) }`)
  expect(await client.result('call', 'fireMany')).toBe('true')
  expect(await client.seen()).toEqual([[1, 2, 3, 4].slice(0, count)])
})

test('a form’s function works like any other with receivers, `new`, prototypes and names', async () => {
  const client = await open(
    `function Line(price) { this.price = price }
    Line.prototype.twice = function () { return 2 * this.price }
    function own() { return this }
    function onShow() {
      const line = new Line(3)
      note(line instanceof Line, line.twice(), line.constructor === Line, Line.name, Line.length, typeof Line)
      note(own.call(5) == 5, own.call('x') == 'x', own.call(line) === line, own() === forms.a, this.own === own)
    }`,
  )
  expect(await client.seen()).toEqual([
    [true, 6, true, 'Line', 1, 'function'],
    [true, true, true, true, true],
  ])
})

test('a strict script: `this` is the form in handlers, and undefined where the language requires it', async () => {
  const client = await open(`'use strict'
    function onShow() { note(this === forms.a, plain() === undefined) }
    function plain() { return this }`)
  expect(await client.seen()).toEqual([[true, true]])
})

test('errors in a form script with bound functions report the line and column in the file', async () => {
  const client = await open('function onShow() { fail() } function fail() { this.missing() }', { shows: false })
  expect(await client.run('start')).toMatchObject({
    code: 'script_error',
    position: { file: 'forms/a.js', line: 1, column: 53 },
  })
})
