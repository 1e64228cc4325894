import { expect, test } from 'vitest'
import { readCheckedForms } from '../../../base/bundles/checked-forms.ts'
import { checkedForm, formWith } from '../../support/forms.ts'

const bundle = { forms: [{ module: null, form: 'a', file: 'forms/a.json', source: '{}' }] }
const label = { type: 'label', name: 'a' }

test('the result of a form check is read unchanged', async () => {
  const { form } = checkedForm(formWith(label, { type: 'tabs', name: 'b', tabs: [{ name: 'c', label: 'C' }] }))
  const sent: unknown = JSON.parse(JSON.stringify(form))
  expect(await readCheckedForms(bundle, { forms: [sent] })).toEqual({ forms: [form], fault: null })
})

test.each<[string, readonly unknown[]]>([
  ['nothing', []],
  ['null', [null]],
  ['a text', ['{}']],
  ['a list', [[]]],
  ['an unknown key', [{ layout: [], x: 1 }]],
  ['an element without a type', [formWith({ name: 'a' })]],
  ['a URL that is not allowed', [formWith({ type: 'link', name: 'a', href: 'javascript:alert(1)' })]],
  ['too many elements', [formWith(...Array.from({ length: 1001 }, (_, i) => ({ ...label, name: `l${i}` })))]],
  ['huge numbers of empty options', [formWith(...Array(900).fill({ type: 'select', options: Array(900).fill({}) }))]],
  [
    'much more data than the file contained',
    [
      formWith({
        type: 'table',
        name: 't',
        columns: [{ name: 'x' }],
        value: Array.from({ length: 1000 }, (_, id) => ({ id, x: 'x'.repeat(5000) })),
      }),
    ],
  ],
])('if a sandbox process returns %s for a form, the result is not trusted', async (_what, forms) => {
  const fault = { code: 'form_invalid', file: 'forms/a.json', message: 'the sandbox process returned an invalid form' }
  expect(await readCheckedForms(bundle, { forms })).toEqual({ forms: [], fault })
})
