import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFormLab, type FormClient, type FormLab } from '../../support/form-lab.ts'
import { formWith } from '../../support/forms.ts'

// Tests which input is treated as unsaved in forms with a save button (`saves`), and when the user must confirm
// leaving.

const button = (name: string) => ({ type: 'button', name, onAction: name })
const FORM = {
  saves: 'save',
  ...formWith(
    { type: 'text', name: 'company', onElementDataChange: 'check' },
    { type: 'text', name: 'note' },
    button('save'),
    button('back'),
    button('discard'),
  ),
}
const SCRIPT = `
  let answer
  function save() {
    if (answer === 'throw') throw new Error('no')
    if (answer === 'error') forms.a.elements.note.error = 'Too short'
    return answer === 'refuse' ? false : undefined
  }
  function setAnswer(value) { answer = value; forms.a.elements.note.error = '' }
  function back() { application.showForm('b') }
  function discard() { forms.a.unsaved = false; application.showForm('b') }
  function check(oldValue, newValue) { if (newValue === 'throw') throw new Error('no'); return newValue !== 'refuse' }
  function onBeforeHide() { return answer !== 'stay' }`

let lab: FormLab
beforeAll(() => {
  lab = createFormLab()
})
afterAll(() => lab.stop())

async function open(form: object = FORM) {
  const client = await lab.open(
    `function go(form) { application.showForm(form) }
     function answer(value) { forms.a.setAnswer(value) }
     function mark(value) { try { forms.a.unsaved = value === 'true' ? true : value } catch (error) { return error.message } }
     function unsaved() { return String(forms.a.unsaved) }`,
    { a: { form, script: SCRIPT }, b: { form: formWith(), script: '' } },
  )
  await client.run('go', 'a')
  const changed = (run: ReturnType<FormClient['fire']>) => client.changes(run)
  return {
    ...client,
    changed,
    enter: (element: string, value: string) => changed(client.fire('a', element, 'onElementDataChange', value)),
    press: (element: string) => changed(client.fire('a', element, 'onAction')),
  }
}

test('unsaved input: an accepted change marks the form once, a rejected or failed one does not', async () => {
  const client = await open()
  await client.enter('company', 'refuse')
  expect(await client.result('unsaved')).toBe('false')
  expect(await client.fire('a', 'company', 'onElementDataChange', 'throw')).toMatchObject({ code: 'script_error' })
  await client.run('forms.flush')
  expect(await client.result('unsaved')).toBe('false')
  expect((await client.enter('company', '')).unsaved).toEqual({})
  expect((await client.enter('company', 'Alder')).unsaved).toEqual({ a: true })
  expect((await client.enter('note', 'x')).unsaved).toEqual({})
  expect((await client.enter('company', 'refuse')).unsaved).toEqual({})
  expect(await client.result('unsaved')).toBe('true')
})

test('unsaved input: the button saves it unless it throws, returns false or leaves an error at an element', async () => {
  const client = await open()
  await client.enter('company', 'Alder')
  for (const answer of ['refuse', 'error', 'throw']) {
    await client.run('answer', answer)
    await client.fire('a', 'save', 'onAction')
    expect([answer, await client.result('unsaved')]).toEqual([answer, 'true'])
  }
  await client.run('answer', '')
  const faulty = { form: 'a', element: 'save', type: 'onAction', value: null, hasFaults: true }
  expect((await client.changed(client.run('forms.event', faulty))).unsaved).toEqual({})
  expect((await client.press('save')).unsaved).toEqual({ a: false })
})

test('unsaved input: the user is asked before a press shows another form, and agrees or stays', async () => {
  const client = await open()
  await client.enter('company', 'Alder')
  expect(await client.press('back')).toMatchObject({ leaving: 'b', shown: null, unsaved: {} })
  await client.run('answer', 'stay')
  expect(await client.changed(client.run('forms.leave', 'b'))).toMatchObject({ shown: null, unsaved: {} })
  await client.run('answer', '')
  expect(await client.changed(client.run('forms.leave', 'b'))).toMatchObject({ shown: 'b', unsaved: { a: false } })
})

test('unsaved input: an invalid value that only the host knows counts when the user presses something', async () => {
  const client = await open()
  const press = (element: string) =>
    client.changed(client.run('forms.event', { form: 'a', element, type: 'onAction', value: null, isInvalid: true }))
  expect(await press('discard')).toMatchObject({ leaving: null, shown: 'b' })
  await client.run('go', 'a')
  expect(await press('back')).toMatchObject({ leaving: 'b', shown: null, unsaved: { a: true } })
  expect(await client.changed(client.run('forms.leave', 'b'))).toMatchObject({ shown: 'b', unsaved: { a: false } })
})

test('unsaved input: the user is not asked if a script discards it, or shows a form without a press', async () => {
  const client = await open()
  await client.enter('company', 'Alder')
  expect(await client.changed(client.run('go', 'b'))).toMatchObject({ leaving: null, shown: 'b', unsaved: {} })
  await client.run('go', 'a')
  expect(await client.result('unsaved')).toBe('true')
  expect(await client.press('discard')).toMatchObject({ leaving: null, shown: 'b', unsaved: { a: false } })
  expect(await client.result('mark', 'yes')).toBe('forms.a.unsaved must be true or false, not "yes"')
  expect((await client.changed(client.run('mark', 'true'))).unsaved).toEqual({ a: true })
})

test('unsaved input: a form without a save button never has any, and the user is never asked', async () => {
  const { saves, ...form } = FORM
  const client = await open(form)
  expect((await client.enter('company', 'Alder')).unsaved).toEqual({})
  expect(await client.result('mark', 'true')).toMatch(/^forms.a has no unsaved/)
  expect(await client.press('back')).toMatchObject({ leaving: null, shown: 'b' })
})
