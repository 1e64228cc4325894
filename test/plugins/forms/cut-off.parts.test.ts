import { afterAll, expect, test } from 'vitest'
import { createFormLab } from '../../support/form-lab.ts'
import { formWith } from '../../support/forms.ts'

// Tests the state of forms after a call times out. The script's `finally` blocks don't run in that case.

const lab = createFormLab({ limits: { CALL_TIME: 500, EVENT_DEPTH: 1 } })
afterAll(() => lab.stop())

const FORM = formWith({ type: 'text', name: 'name', value: 'old', onElementDataChange: 'changed' })
const SCRIPT = `let answer = () => true
  function setAnswer(code) { answer = (0, eval)(code) }
  function changed() { return answer() }`
const GLOBALS = `let settle = null; let heard = 0; let listen = () => true
  eventsManager.addEventListener('onElementDataChange', () => { heard++; return listen() })
  function start() { application.showForm('a') }
  function answer(code) { forms.a.setAnswer(code) }
  function setListener(code) { listen = (0, eval)(code) }
  function settleNow(value) { settle(value) }
  function state() { return JSON.stringify([forms.a.elements.name.value, forms.a.elements.name.error, heard]) }`

async function open() {
  const client = await lab.open(GLOBALS, { a: { form: FORM, script: SCRIPT } })
  await client.run('start')
  return {
    ...client,
    change: (value: string) => client.fire('a', 'name', 'onElementDataChange', value),
    state: async () => JSON.parse((await client.result('state')) as string),
  }
}

test.each([
  ['loops', '() => { for (;;); }'],
  ['never settles', '() => new Promise(() => {})'],
  ['loops after an await', 'async () => { await null; for (;;); }'],
])('if the function for a change %s, the old value is kept', async (_what, code) => {
  const client = await open()
  await client.run('answer', code)
  expect(await client.change('new')).toMatchObject({ code: 'script_timeout' })
  expect((await client.changes(client.run('forms.flush'))).elements).toEqual({ 'a.name': { value: 'old', error: '' } })
  expect(await client.state()).toEqual(['old', '', 0])
})

test('if a listener for a change loops, the old value is kept, and the event depth is reset', async () => {
  const client = await open()
  await client.run('setListener', '() => { for (;;); }')
  expect(await client.change('new')).toMatchObject({ code: 'script_timeout' })
  expect(await client.state()).toEqual(['old', '', 1])
  await client.run('setListener', '() => true')
  expect(await client.change('newer')).toMatchObject({ code: 'returned' })
  expect(await client.state()).toEqual(['newer', '', 2])
})

test.each([['true'], ['a text']])(
  'if a function’s promise settles with %s after its call, that has no effect',
  async (value) => {
    const client = await open()
    await client.run('answer', '() => new Promise((resolve) => { settle = resolve })')
    expect(await client.change('new')).toMatchObject({ code: 'script_timeout' })
    await client.run('forms.flush')
    expect((await client.changes(client.run('settleNow', value))).elements).toEqual({})
    expect(await client.state()).toEqual(['old', '', 0])
  },
)
