import { afterAll, expect, test } from 'vitest'
import { proportionalSize } from '../../../runtime/process-memory.ts'
import { createFormLab, type FormClient } from '../../support/form-lab.ts'
import { formWith } from '../../support/forms.ts'

const MEGABYTE = 1024 ** 2
const CLIENTS = 100
const FORMS = ['customer', 'orders', 'detail']

const lab = createFormLab()
afterAll(() => lab.stop())

/** Twenty elements, as in a typical form in a business application. */
const FORM = formWith(
  ...Array.from({ length: 14 }, (_, index) => ({
    type: 'text',
    name: `text${index}`,
    label: `Text ${index}`,
    onElementDataChange: 'changed',
  })),
  { type: 'number', name: 'price', label: 'Price' },
  { type: 'date', name: 'due', label: 'Due' },
  {
    type: 'select',
    name: 'country',
    label: 'Country',
    options: Array.from({ length: 30 }, (_, value) => ({ value, label: `Country ${value}` })),
  },
  { type: 'button', name: 'save', label: 'Save', onAction: 'save' },
  { type: 'table', name: 'lines', label: 'Lines', columns: ['what', 'total', 'day'].map((name) => ({ name })) },
  { type: 'label', name: 'note', label: 'A note' },
)
const SCRIPT = `function onShow() { for (const name of ['text0', 'text1', 'text2']) forms[NAME].elements[name].value = 'shown' }
  function changed(before, after) { return after !== 'refused' }
  function save() { forms[NAME].elements.note.label = 'Saved' }`
const GLOBALS = `eventsManager.addEventListener('onShow', () => true)
  function open(name) { application.showForm(name); forms[name].elements.lines.rows = Array.from({ length: 10 }, (_, id) => ({ id, what: 'thing ' + id, total: '9.50', day: 'Monday' })) }`

async function use(client: FormClient): Promise<void> {
  for (const form of FORMS) {
    expect(await client.run('open', form)).toMatchObject({ code: 'returned' })
    expect(await client.fire(form, 'text3', 'onElementDataChange', 'by the user')).toMatchObject({ code: 'returned' })
    expect(await client.fire(form, 'save', 'onAction')).toMatchObject({ code: 'returned' })
  }
}

test('forms: 100 clients, each with three forms of twenty elements, need little memory', async () => {
  const forms = Object.fromEntries(
    FORMS.map((name) => [name, { form: FORM, script: `const NAME = '${name}'\n${SCRIPT}` }]),
  )
  const first = await lab.open(GLOBALS, forms)
  await use(first)
  const size = () => proportionalSize(lab.pids()[0] ?? 0)
  const before = size()
  for (let made = 1; made < CLIENTS; made++) await use(await first.again())
  const each = (size() - before) / (CLIENTS - 1) / MEGABYTE
  console.log(`PSS per client with forms ${each.toFixed(3)} MB, process ${(size() / MEGABYTE).toFixed(0)} MB`)
  expect(lab.pids()).toHaveLength(1)
  // We measured 0.5 to 0.57 MB. The value depends on how much garbage has not been collected yet.
  expect(each).toBeLessThan(0.7)
})
