import { expect, test } from 'vitest'
import { createFormViews } from '../../../host/clients/form-views.ts'

test('form views: changes by scripts accumulate per form and element', () => {
  const views = createFormViews()
  views.apply({ form: 'order', title: 'Order 1', elements: { name: { value: 'Anna', label: 'Name' } } })
  views.apply({ form: 'order', elements: { name: { value: 'Bert' }, save: { enabled: false } } })
  views.apply({ form: 'other', elements: { name: { value: 'Carl' } } })
  expect(views.of('order')).toEqual({
    title: 'Order 1',
    elements: new Map<string, object>([
      ['name', { value: 'Bert', label: 'Name' }],
      ['save', { enabled: false }],
    ]),
  })
  expect(views.of('other')).toEqual({ elements: new Map([['name', { value: 'Carl' }]]) })
  expect(views.of('third')).toEqual({ elements: new Map() })
})

test('form views: an error found by the host hides the script’s error until it is cleared', () => {
  const views = createFormViews()
  views.apply({ form: 'order', elements: { amount: { value: 5, error: 'of the script' } } })
  views.setFault('order', 'amount', 'too much')
  views.setFault('order', 'unchanged', 'missing')
  expect([...views.of('order').elements]).toEqual([
    ['amount', { value: 5, error: 'too much' }],
    ['unchanged', { error: 'missing' }],
  ])
  expect(views.hasFault('order', 'amount')).toBe(true)
  views.clearFault('order', 'amount')
  expect(views.hasFault('order', 'amount')).toBe(false)
  expect(views.of('order').elements.get('amount')).toEqual({ value: 5, error: 'of the script' })
})

test('form views: unsaved input and rejected values are stored per form', () => {
  const views = createFormViews()
  views.apply({ form: 'order', unsaved: true, elements: {} })
  views.setFault('order', 'amount', 'too much')
  expect(views.of('order')).toMatchObject({ unsaved: true })
  expect([views.hasFaults('order'), views.hasFaults('other')]).toEqual([true, false])
  views.apply({ form: 'order', unsaved: false, elements: {} })
  views.clearFault('order', 'amount')
  expect(views.of('order')).toEqual({ unsaved: false, elements: new Map() })
  expect(views.hasFaults('order')).toBe(false)
})

test('form views: an invalid value is shown until the input gets a valid one, a script sets it, or the form is shown again', () => {
  const views = createFormViews()
  const shown = () => views.of('order').elements.get('mail')
  const reject = () => views.setFault('order', 'mail', 'no address', 'anna@')
  views.apply({ form: 'order', elements: { mail: { value: 'anna@example.org', label: 'Mail' } } })
  reject()
  expect(shown()).toEqual({ value: 'anna@', label: 'Mail', error: 'no address' })
  // Nobody has saved it.
  expect(views.of('order').unsaved).toBe(true)
  expect([views.isInvalid('order', 'mail'), views.isInvalid('order', 'other')]).toEqual([true, false])
  views.setFault('order', 'other', 'missing')
  expect(views.isInvalid('order', 'other')).toBe(false)
  const before = { value: 'anna@example.org', label: 'Mail' }
  views.apply({ form: 'order', elements: { mail: { label: 'Mail' } } })
  expect(views.isInvalid('order', 'mail')).toBe(true)
  for (const change of [{ value: 'anna@example.org' }, { error: '' }]) {
    reject()
    views.apply({ form: 'order', elements: { mail: change } })
    expect(shown()).toMatchObject(before)
    expect(views.isInvalid('order', 'mail')).toBe(false)
  }
  reject()
  views.clearFaults('order')
  expect(views.of('order').unsaved).toBeUndefined()
  expect(shown()).toMatchObject(before)
  expect(views.hasFaults('order')).toBe(false)
})

test('form views: a value that only the browser knows is invalid until the page is reloaded', () => {
  const views = createFormViews()
  views.apply({ form: 'order', elements: { amount: { value: 5 } } })
  views.setFault('order', 'amount', 'no number', null)
  views.setFault('order', 'mail', 'no address', 'anna@')
  expect(views.of('order').elements.get('amount')).toEqual({ value: null, error: 'no number' })
  expect([views.isInvalid('order', 'amount'), views.hasInvalid('order'), views.hasInvalid('other')]).toEqual([
    true,
    true,
    false,
  ])
  views.forgetUnreadable()
  expect(views.of('order').elements.get('amount')).toEqual({ value: 5 })
  expect([views.isInvalid('order', 'amount'), views.isInvalid('order', 'mail')]).toEqual([false, true])
})

test('form views: names of inherited properties are ordinary names', () => {
  const views = createFormViews()
  const elements = JSON.parse('{"__proto__":{"value":"1"},"constructor":{"visible":false}}')
  views.apply({ form: '__proto__', elements })
  expect([...views.of('__proto__').elements]).toEqual([
    ['__proto__', { value: '1' }],
    ['constructor', { visible: false }],
  ])
  expect(views.of('constructor').elements.size).toBe(0)
  expect(({} as { value?: unknown }).value).toBeUndefined()
})
