import { describe, expect, test } from 'vitest'
import { createMessages } from '../../../base/bundles/messages.ts'
import { checkEvent } from '../../../host/clients/check-event.ts'
import type { RenderContext } from '../../../host/clients/render/context.ts'
import type { ElementState, FormView } from '../../../host/clients/view.ts'
import type { BrowserEvent } from '../../../host/web/frames.ts'
import type { FormDefinition } from '../../../runtime/forms/form-definition.ts'
import { checkedForm, formWith } from '../../support/forms.ts'
import { SAMPLE_FORM } from '../../support/sample-form.ts'

const context: RenderContext = {
  form: 'order',
  locale: 'en',
  messages: createMessages({}, 'en'),
  permissions: new Set(['Users']),
  isTesting: false,
  mediaBase: '/solution/orders/media/',
}
/** Properties that every JavaScript object inherits. */
const PROTOTYPE_NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']

type Fired = readonly [element: string, type: BrowserEvent['type'], value?: unknown]

function check(
  [element, type, value = null]: Fired,
  states: Readonly<Record<string, ElementState>> = {},
  form: FormDefinition = SAMPLE_FORM,
  permissions: readonly string[] = ['Users'],
) {
  const event = { kind: 'event', seq: 1, form: 'order', element, type, value } as BrowserEvent
  const view: FormView = { elements: new Map(Object.entries(states)) }
  return checkEvent(event, form, view, { ...context, permissions: new Set(permissions) })
}

function formOf(...elements: readonly unknown[]): FormDefinition {
  const { form, faults } = checkedForm(formWith(...elements), { functions: new Set(['f']) })
  expect(faults).toEqual([])
  return form as FormDefinition
}

/** Pairs each event with a readable name. */
const named = (...all: readonly Fired[]) =>
  all.map((fired) => [fired.map((part) => JSON.stringify(part)).join(' '), fired] as const)

const rows = (ids: readonly (string | number)[], selected = true) => ({ rows: ids, selected })
const sort = (column: string) => ({ column, direction: 'ascending' })

describe('events that a user can cause are accepted', () => {
  test.each(
    named(
      ['save', 'onAction'],
      ['cancel', 'onAction'],
      ['more', 'onAction'],
      ['orders', 'onAction', 20],
      ['customer', 'onElementDataChange', 'Bolt'],
      ['amount', 'onElementDataChange', null],
      ['due', 'onElementDataChange', '2026-06-01'],
      ['express', 'onElementDataChange', true],
      ['country', 'onElementDataChange', 'nl'],
      ['priority', 'onElementDataChange', '2'],
      ['customer', 'onElementFocusGained'],
      ['customer', 'onElementFocusLost'],
      ['orders', 'onSort', sort('total')],
      ['orders', 'onRecordSelection', rows([1, 20])],
      ['orders', 'showPage', 3],
      ['details', 'showTab', 'history'],
    ),
  )('%s', (_what, fired) => {
    expect(check(fired)).toMatchObject({ kind: 'accepted', place: { element: { name: fired[0] } } })
  })
})

test.each([
  ['amount', null, { kind: 'faulty', fault: { key: 'platform.form.badnumber' }, entered: null }],
  ['due', null, { kind: 'faulty', fault: { key: 'platform.form.baddate' }, entered: null }],
  ['amount', 5, { kind: 'forged' }],
  ['customer', null, { kind: 'forged' }],
  ['save', null, { kind: 'forged' }],
])('an unreadable value in the input "%s" with the value %j is checked', (element, value, result) => {
  const event = {
    kind: 'event',
    seq: 1,
    form: 'order',
    element,
    type: 'onElementDataChange',
    value,
    isUnreadable: true,
  }
  expect(checkEvent(event as BrowserEvent, SAMPLE_FORM, { elements: new Map() }, context)).toEqual(result)
})

describe('events that no page offers are classified as forged', () => {
  test.each(
    named(
      ['nothing', 'onAction'],
      ['list', 'onAction'],
      ['intro', 'onAction'],
      ['manual', 'onAction'],
      ['customer', 'onAction'],
      ['save', 'onAction', 1],
      ['more', 'onAction', 'x'],
      ['orders', 'onAction', null],
      ['save', 'onElementDataChange', 'x'],
      ['orders', 'onElementDataChange', 'x'],
      ['details', 'onElementDataChange', 'history'],
      ['intro', 'onElementFocusGained'],
      ['save', 'onElementFocusLost'],
      ['customer', 'onSort', sort('customer')],
      ['orders', 'onSort', sort('paid')],
      ['orders', 'onSort', sort('nothing')],
      ['orders', 'onSort', sort('id')],
      ['customer', 'onRecordSelection', rows([1])],
      ['orders', 'onRecordSelection', rows([])],
      ['customer', 'showPage', 1],
      ['orders', 'showTab', 'list'],
      ['details', 'showTab', 'nothing'],
      ['details', 'showTab', 'secret'],
      ['cost', 'onAction'],
    ),
  )('%s', (_what, fired) => {
    expect(check(fired)).toEqual({ kind: 'forged' })
  })

  test.each(PROTOTYPE_NAMES)('%s as an element, column or tab is classified as forged; as a row, as stale', (name) => {
    expect(check([name, 'onAction'])).toEqual({ kind: 'forged' })
    expect(check([name, 'onElementDataChange', 'x'])).toEqual({ kind: 'forged' })
    expect(check(['orders', 'onSort', sort(name)])).toEqual({ kind: 'forged' })
    expect(check(['details', 'showTab', name])).toEqual({ kind: 'forged' })
    expect(check(['orders', 'onAction', name])).toEqual({ kind: 'stale' })
    expect(check(['orders', 'onRecordSelection', rows([name])])).toEqual({ kind: 'stale' })
    expect(check(['country', 'onElementDataChange', name])).toMatchObject({ kind: 'faulty' })
  })

  test.each(
    named(
      ['customer', 'onElementDataChange', 5],
      ['customer', 'onElementDataChange', null],
      ['pin', 'onElementDataChange', false],
      ['notes', 'onElementDataChange', 1],
      ['mail', 'onElementDataChange', true],
      ['amount', 'onElementDataChange', '5'],
      ['due', 'onElementDataChange', 20260517],
      ['express', 'onElementDataChange', 'true'],
      ['express', 'onElementDataChange', null],
      ['country', 'onElementDataChange', true],
      ['priority', 'onElementDataChange', false],
    ),
  )('a value of a type that the input never has is classified as forged: %s', (_what, fired) => {
    expect(check(fired)).toEqual({ kind: 'forged' })
  })

  test('selecting several rows in a single-selection table, or any row where selection is off, is classified as forged', () => {
    const table = { type: 'table', name: 't', columns: [{ name: 'a' }], value: [{ id: 1 }, { id: 2 }] }
    const single = formOf({ ...table, selection: 'single' })
    expect(check(['t', 'onRecordSelection', rows([1])], {}, single)).toMatchObject({ kind: 'accepted' })
    expect(check(['t', 'onRecordSelection', rows([1, 2])], {}, single)).toEqual({ kind: 'forged' })
    const none = formOf({ ...table, selection: 'none' })
    expect(check(['t', 'onRecordSelection', rows([1])], {}, none)).toEqual({ kind: 'forged' })
  })
})

describe('events on something that was available a moment ago are classified as stale', () => {
  test.each<[string, Readonly<Record<string, ElementState>>, Fired]>([
    ['a disabled button', { save: { enabled: false } }, ['save', 'onAction']],
    ['a hidden button', { save: { visible: false } }, ['save', 'onAction']],
    ['an input in a hidden panel', { customerPanel: { visible: false } }, ['customer', 'onElementDataChange', 'x']],
    ['an input in a disabled panel', { customerPanel: { enabled: false } }, ['customer', 'onElementDataChange', 'x']],
    ['focus in a disabled input', { customer: { enabled: false } }, ['customer', 'onElementFocusGained']],
    ['a tab in hidden tabs', { details: { visible: false } }, ['details', 'showTab', 'history']],
    ['a table in disabled tabs', { details: { enabled: false } }, ['orders', 'onSort', sort('total')]],
    ['a row on another page', {}, ['orders', 'onAction', 21]],
    ['a row that never existed', {}, ['orders', 'onAction', 4711]],
    ['a row id of the wrong type', {}, ['orders', 'onAction', '1']],
    ['a row on another page and one on this page', {}, ['orders', 'onRecordSelection', rows([1, 21])]],
    ['rows that no longer exist', { orders: { rows: [] } }, ['orders', 'onRecordSelection', rows([1])]],
    ['a page that the table does not have', {}, ['orders', 'showPage', 4]],
  ])('%s', (_what, states, fired) => {
    expect(check(fired, states)).toEqual({ kind: 'stale' })
  })

  test('rows are accepted if they are on the current page in the current sort order', () => {
    const second: Readonly<Record<string, ElementState>> = {
      orders: { page: 2, sort: { column: 'total', direction: 'descending' } },
    }
    expect(check(['orders', 'onAction', 25], second)).toMatchObject({ kind: 'accepted' })
    expect(check(['orders', 'onAction', 45], second)).toEqual({ kind: 'stale' })
  })

  test('the check does not reveal which values a hidden or disabled element accepts', () => {
    for (const state of [{ visible: false }, { enabled: false }]) {
      expect(check(['country', 'onElementDataChange', 'be'], { country: state })).toEqual({ kind: 'stale' })
      expect(check(['country', 'onElementDataChange', 'xx'], { country: state })).toEqual({ kind: 'stale' })
      expect(check(['amount', 'onElementDataChange', -1], { amount: state })).toEqual({ kind: 'stale' })
    }
  })
})

describe('an event with an invalid value is classified as faulty', () => {
  test.each<[Fired, string]>([
    [['country', 'onElementDataChange', 'fr'], 'platform.form.badchoice'],
    [['priority', 'onElementDataChange', 4], 'platform.form.badchoice'],
    [['amount', 'onElementDataChange', -0.01], 'platform.form.toolow'],
    [['pin', 'onElementDataChange', 'x'.repeat(101)], 'platform.form.toolong'],
  ])('%j: %s', (fired, key) => {
    expect(check(fired)).toMatchObject({ kind: 'faulty', fault: { key } })
  })

  test('a select accepts only the options that a script set last', () => {
    const offered = { country: { options: [{ value: 'fr', label: 'France' }] } }
    expect(check(['country', 'onElementDataChange', 'fr'], offered)).toMatchObject({ kind: 'accepted' })
    expect(check(['country', 'onElementDataChange', 'be'], offered)).toMatchObject({ kind: 'faulty' })
  })
})

describe('elements cannot be used without their permission', () => {
  const button = { type: 'button', label: 'B', onAction: 'f' }
  const within = (...elements: unknown[]) => [{ columns: [{ elements }] }]
  const form = formOf(
    { ...button, name: 'own', permission: 'Managers' },
    { type: 'panel', name: 'panel', permission: 'Managers', layout: within({ ...button, name: 'inPanel' }) },
    {
      type: 'tabs',
      name: 'tabs',
      tabs: [
        { name: 'open', label: 'Open', layout: within({ ...button, name: 'inOpen' }) },
        {
          name: 'closed',
          label: 'Closed',
          permission: 'Managers',
          layout: within({ type: 'panel', name: 'deep', layout: within({ ...button, name: 'inDeep' }) }),
        },
      ],
    },
  )
  test.each(['own', 'inPanel', 'inDeep'])(
    'an event on %s is classified as forged, even if the element is also hidden, and accepted from a manager',
    (name) => {
      expect(check([name, 'onAction'], {}, form)).toEqual({ kind: 'forged' })
      expect(check([name, 'onAction'], { [name]: { visible: false } }, form)).toEqual({ kind: 'forged' })
      expect(check([name, 'onAction'], {}, form, ['Managers'])).toMatchObject({ kind: 'accepted' })
    },
  )

  test('an event in a form that requires a permission is classified as forged, and accepted from a manager', () => {
    const managers = { ...form, permission: 'Managers' }
    expect(check(['inOpen', 'onAction'], {}, managers)).toEqual({ kind: 'forged' })
    expect(check(['inOpen', 'onAction'], {}, managers, ['Managers'])).toMatchObject({ kind: 'accepted' })
  })
})
