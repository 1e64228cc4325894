import { expect, test } from 'vitest'
import { createUserWork } from '../../../host/clients/user-work.ts'
import type { BrowserEvent } from '../../../host/web/frames.ts'

const done = (type: string, element: string, value: unknown, form = 'main') =>
  ({ kind: 'event', seq: 1, form, element, type, value }) as BrowserEvent
const enter = (element: string, value: unknown, form?: string) => done('onElementDataChange', element, value, form)
const words = (events: readonly BrowserEvent[] | undefined) =>
  events?.map(({ type, element, value }) => `${type} ${element} ${JSON.stringify(value)}`)

/** @returns the events that are repeated if the client's context is lost while `form` is shown */
function again(work: ReturnType<typeof createUserWork>, form = 'main') {
  work.putAside(form)
  return words(work.takeUp()?.events)
}

test('user work: the last value of each input is repeated in order; button presses are not', () => {
  const work = createUserWork()
  work.note(enter('name', 'A'))
  work.note(enter('age', 3))
  work.note(done('onAction', 'save', null))
  work.note(done('onElementFocusGained', 'name', null))
  work.note(enter('name', 'Ada'))
  expect(again(work)).toEqual(['onElementDataChange age 3', 'onElementDataChange name "Ada"'])
  expect(again(work)).toEqual([])
})

test('user work: values that a script changed are not repeated; values that it left as entered are', () => {
  const work = createUserWork()
  work.note(enter('name', 'Ada'))
  work.note(enter('choice', '1'))
  work.note(enter('empty', null))
  work.note(done('onSort', 'table', { column: 'id', direction: 'ascending' }))
  work.note(done('showPage', 'table', 3))
  work.told({
    form: 'main',
    elements: {
      name: { value: 'Ada', label: 'Name' },
      choice: { value: 1 },
      empty: { value: '' },
      table: { sort: { column: 'id', direction: 'ascending' }, page: 1 },
    },
  })
  work.told({ form: 'other', elements: { name: { value: '' } } })
  expect(again(work)).toEqual([
    'onElementDataChange name "Ada"',
    'onElementDataChange choice "1"',
    'onElementDataChange empty null',
    'onSort table {"column":"id","direction":"ascending"}',
  ])
  work.note(enter('name', 'Bob'))
  work.told({ form: 'main', elements: { name: { value: '' } } })
  expect(again(work)).toEqual([])
})

test('user work: rows selected one by one are selected together, without deselected ones', () => {
  const work = createUserWork()
  const select = (rows: number[], selected: boolean) =>
    work.note(done('onRecordSelection', 'table', { rows, selected }))
  select([1], true)
  select([2, 3], true)
  select([1], false)
  work.told({ form: 'main', elements: { table: { selected: [2, 3] } } })
  expect(again(work)).toEqual(['onRecordSelection table {"rows":[2,3],"selected":true}'])
  select([4], true)
  work.told({ form: 'main', elements: { table: { selected: [] } } })
  expect(again(work)).toEqual([])
})

test('user work: only events in the form that is shown are replayed, even if an intermediate version failed to open', () => {
  const work = createUserWork()
  work.note(enter('name', 'Ada'))
  work.note(enter('name', 'of another form', 'other'))
  work.putAside('main')
  // The host shows no form. The user continues in the form that is still in the browser.
  work.told({ form: 'main', elements: { name: { value: 'of the next version' } } })
  work.note(enter('name', 'Ada L.'))
  work.putAside(null)
  const taken = work.takeUp()
  expect([taken?.form, words(taken?.events)]).toEqual(['main', ['onElementDataChange name "Ada L."']])
  expect(work.takeUp()).toBe(null)
  work.note(enter('name', 'Bob'))
  work.forget()
  expect(again(work)).toEqual([])
})
