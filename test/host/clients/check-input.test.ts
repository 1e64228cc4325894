import { describe, expect, test } from 'vitest'
import { createMessages } from '../../../base/bundles/messages.ts'
import { checkInput, isMissing } from '../../../host/clients/check-input.ts'
import type { RenderContext } from '../../../host/clients/render/context.ts'
import { outlineOf, type Place } from '../../../host/clients/render/outline.ts'
import { type InputDefinition, type Shown, shown } from '../../../host/clients/render/parts.ts'
import type { ElementState } from '../../../host/clients/view.ts'
import type { FormDefinition } from '../../../runtime/forms/form-definition.ts'
import { checkedForm, formWith } from '../../support/forms.ts'

const context: RenderContext = {
  form: 'order',
  locale: 'de',
  messages: createMessages({}, 'de'),
  permissions: new Set(),
  isTesting: false,
  mediaBase: '/solution/orders/media/',
}

function inputOf(written: object, state: ElementState = {}): Shown<InputDefinition> {
  const { form, faults } = checkedForm(formWith({ name: 'input', ...written }))
  expect(faults).toEqual([])
  const place = outlineOf(form as FormDefinition).get('input') as Place
  const view = { elements: new Map([['input', state]]) }
  return { ...shown(place, view, context), element: place.element as InputDefinition }
}

const WRONG = 'wrong type'
const fault = (key: string, ...values: string[]) =>
  values.length === 0 ? { key: `platform.form.${key}` } : { key: `platform.form.${key}`, values }
const OPTIONS = [
  { value: 1, label: 'One' },
  { value: 'two', label: 'Two' },
]

describe('checkInput', () => {
  test.each<[object, unknown, ReturnType<typeof checkInput>]>([
    [{ type: 'text' }, '', null],
    [{ type: 'text', maxLength: 3 }, 'abc', null],
    [{ type: 'text', maxLength: 3 }, 'abcd', fault('toolong', '3')],
    // Each character is two UTF-16 code units, and browsers count code units.
    [{ type: 'text', maxLength: 3 }, '😀😀', fault('toolong', '3')],
    [{ type: 'text' }, null, WRONG],
    [{ type: 'text' }, 1, WRONG],
    [{ type: 'password', maxLength: 1000 }, 'x'.repeat(1001), fault('toolong', '1.000')],
    [{ type: 'password' }, true, WRONG],
    [{ type: 'textarea' }, 'a\nb', null],
    [{ type: 'textarea' }, null, WRONG],
    [{ type: 'email' }, '', null],
    [{ type: 'email' }, ' anna@example.org ', null],
    [{ type: 'email' }, 'anna@', fault('bademail')],
    [{ type: 'email' }, 'anna', fault('bademail')],
    [{ type: 'number' }, null, null],
    [{ type: 'number' }, -1.5, null],
    [{ type: 'number' }, '1', WRONG],
    [{ type: 'number' }, true, WRONG],
    [{ type: 'number' }, Number.NaN, WRONG],
    [{ type: 'number' }, Number.POSITIVE_INFINITY, WRONG],
    [{ type: 'number', min: 1, max: 1000 }, 1, null],
    [{ type: 'number', min: 1, max: 1000 }, 1000, null],
    [{ type: 'number', min: 1, max: 1000 }, 0.99, fault('toolow', '1')],
    [{ type: 'number', min: 1, max: 1000 }, 1000.01, fault('toohigh', '1.000')],
    [{ type: 'number', step: 0.1 }, 0.3, null],
    [{ type: 'number', step: 0.1 }, 0.35, fault('badstep', '0,1')],
    [{ type: 'number', min: 2, step: 5 }, 12, null],
    [{ type: 'number', min: 2, step: 5 }, 10, fault('badstep', '5')],
    [{ type: 'number', decimals: 2 }, 1.23, null],
    [{ type: 'number', decimals: 2 }, 1.234, fault('badstep', '0,01')],
    [{ type: 'number', decimals: 2 }, 1e300, null],
    [{ type: 'date' }, null, null],
    [{ type: 'date' }, '2024-02-29', null],
    [{ type: 'date' }, '2026-02-29', fault('baddate')],
    [{ type: 'date' }, '', fault('baddate')],
    [{ type: 'date' }, '2026-05-17T00:00', fault('baddate')],
    [{ type: 'date' }, 5, WRONG],
    [{ type: 'date', min: '2026-05-01', max: '2026-05-31' }, '2026-05-31', null],
    [{ type: 'date', min: '2026-05-01' }, '2026-04-30', fault('toolow', '01.05.2026')],
    [{ type: 'date', max: '2026-05-31' }, '2026-06-01', fault('toohigh', '31.05.2026')],
    [{ type: 'checkbox' }, true, null],
    [{ type: 'checkbox' }, null, WRONG],
    [{ type: 'checkbox' }, 1, WRONG],
    [{ type: 'select', options: OPTIONS }, null, null],
    [{ type: 'select', options: OPTIONS }, 'two', null],
    // Browsers send every value as text.
    [{ type: 'select', options: OPTIONS }, '1', null],
    [{ type: 'select', options: OPTIONS }, 'three', fault('badchoice')],
    [{ type: 'select', options: OPTIONS }, '', fault('badchoice')],
    [{ type: 'select', options: OPTIONS }, '__proto__', fault('badchoice')],
    [{ type: 'radio', options: OPTIONS }, 1, null],
    [{ type: 'radio', options: OPTIONS }, 2, fault('badchoice')],
    [{ type: 'radio', options: OPTIONS }, true, WRONG],
  ])('for the input %j, the value %j has the result %j', (written, value, expected) => {
    expect(checkInput(inputOf(written), value)).toEqual(expected)
  })

  test('text of maximum length that could slow down a regular expression is checked quickly', () => {
    const long = `${'a.'.repeat(2500)}@${'a-'.repeat(2400)}`
    expect(checkInput(inputOf({ type: 'email', maxLength: 10_000 }), long)).toEqual(fault('bademail'))
  })
})

describe('isMissing', () => {
  test.each<[object, ElementState, boolean]>([
    [{ type: 'text', required: true }, {}, true],
    [{ type: 'text', required: true, value: 'x' }, {}, false],
    [{ type: 'text', required: true, value: 'x' }, { value: ' ' }, true],
    [{ type: 'text' }, {}, false],
    [{ type: 'text' }, { required: true }, true],
    [{ type: 'text', required: true }, { required: false }, false],
    [{ type: 'number', required: true }, { value: 0 }, false],
    [{ type: 'number', required: true }, { value: null }, true],
    [{ type: 'checkbox', required: true }, { value: false }, true],
    [{ type: 'checkbox', required: true }, { value: true }, false],
    [{ type: 'select', required: true, options: OPTIONS }, {}, true],
    [{ type: 'select', required: true, options: OPTIONS }, { value: 1 }, false],
  ])('the input %j in the state %j lacks a required value: %j', (written, state, expected) => {
    expect(isMissing(inputOf(written, state))).toBe(expected)
  })
})
