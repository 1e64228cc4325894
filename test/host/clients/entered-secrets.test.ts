import { expect, test } from 'vitest'
import { createEnteredSecrets } from '../../../host/clients/entered-secrets.ts'
import type { FormDefinition } from '../../../runtime/forms/form-definition.ts'
import { checkedForm, formWith } from '../../support/forms.ts'

const { form } = checkedForm(
  formWith({ type: 'password', name: 'pin' }, { type: 'password', name: 'again' }, { type: 'text', name: 'name' }),
)
const FORM = form as FormDefinition

test('entered secrets: typed passwords stay secret after they are replaced; other inputs are not secret', () => {
  const secrets = createEnteredSecrets()
  secrets.entered(FORM, 'pin', 'first one')
  secrets.entered(FORM, 'pin', 'second one')
  secrets.entered(FORM, 'pin', 'first one')
  secrets.entered(FORM, 'again', 'third one')
  secrets.entered(FORM, 'name', 'Anna')
  secrets.entered(FORM, 'pin', '')
  secrets.entered(FORM, 'pin', 4711)
  expect(secrets.redact('Anna: first one, second one, third one')).toBe('Anna: [pin-2], [pin], [again]')
})

test('entered secrets: passwords that a script sets and custom_ values in the URL are secret too', () => {
  const secrets = createEnteredSecrets()
  secrets.opened(
    new Map([
      ['custom_code', 'sesame-1'],
      ['argument', 'order-5'],
    ]),
  )
  secrets.updated(FORM, { form: 'login', elements: { pin: { value: 'made up' }, name: { value: 'Anna' } } })
  secrets.updated(FORM, { form: 'login', elements: { pin: { label: 'PIN' } } })
  secrets.updated(null, { form: 'gone', elements: { pin: { value: 'nobody' } } })
  expect(secrets.redact('Anna PIN made up sesame-1 order-5 nobody')).toBe('Anna PIN [pin] [custom_code] order-5 nobody')
})

test('entered secrets: only the newest 50 are stored, with up to 100,000 characters in total', () => {
  const secrets = createEnteredSecrets()
  for (let count = 0; count < 60; count++) secrets.entered(FORM, 'pin', `password ${count};`)
  expect([...secrets.all().values()]).toEqual(Array.from({ length: 50 }, (_, index) => `password ${index + 10};`))
  for (const letter of 'abc') secrets.entered(FORM, 'again', letter.repeat(40_000))
  expect([...secrets.all().values()].map((value) => value.slice(0, 2))).toEqual(['bb', 'cc'])
})
