import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { type ClientPage, openClient } from '../support/client-page.ts'
import { formWith } from '../support/forms.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { bundleOf } from '../support/zip.ts'

// Runs the scripts in docs/forms.md unchanged, together as one solution. test/runtime/forms/form-schema.test.ts checks
// the example of each element.

/** Finds the only code block in that language that contains the text. */
function example(guide: string, language: string, text: string): string {
  const content = readFileSync(new URL(`../../docs/${guide}`, import.meta.url), 'utf8')
  const found = [...content.matchAll(/^```(\w+)[^\n]*\n(.*?)^```$/gms)].filter(
    ([, of, code]) => of === language && code?.includes(text),
  )
  if (found.length !== 1) throw new Error(`docs/${guide} has ${found.length} blocks of ${language} with ${text}`)
  return found[0]?.[2] ?? ''
}

const ofForms = (language: string, text: string) => example('forms.md', language, text)

const COLUMNS = [
  { name: 'customer', label: 'Customer' },
  { name: 'total', label: 'Total', type: 'number', sortable: true },
]
/** Everything that the guide's examples expect to exist. */
const SURROUNDINGS = {
  'forms/invoices.json': JSON.stringify(
    formWith(
      { type: 'table', name: 'list', label: 'Invoices', columns: COLUMNS },
      { type: 'button', name: 'back', label: 'Back', onAction: 'back' },
    ),
  ),
  'forms/orders.json': JSON.stringify(
    formWith(
      { type: 'button', name: 'invoices', label: 'Invoices', onAction: 'invoices' },
      { type: 'button', name: 'back', label: 'Back', onAction: 'back' },
    ),
  ),
  'i18n/default.json': JSON.stringify({ 'customer.title': 'Customer', 'customer.wrong_mail': 'Not our mail' }),
}
const MAKE_INVOICES = `
  function back() { application.showForm('customer') }
  async function onLoad() {
    await plugins.database.query('own', 'CREATE TABLE IF NOT EXISTS invoice (id INTEGER, customer TEXT, total REAL)')
    await plugins.database.query('own', "INSERT INTO invoice VALUES (1, 'Alder', 5), (2, 'Finch', 70), (3, 'Halm', 8)")
  }
`
const LEAD_ON = `
  function invoices() { application.showForm('invoices') }
  function back() { application.showForm('customer') }
`

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
  const manifest = {
    name: 'guide',
    authenticator: 'NONE',
    firstForm: 'customer',
    databases: { own: { server: 'embedded' } },
  }
  // Removes the permission that the first example requires, because no user is signed in here.
  const { permission, ...customer } = JSON.parse(ofForms('json', 'i18n:customer.title'))
  expect(permission).toBe('Users')
  const bundle = await bundleOf(manifest, {
    ...SURROUNDINGS,
    'globals.js': ofForms('js', 'mayChange'),
    'forms/customer.json': JSON.stringify(customer),
    'forms/customer.js': ofForms('js', 'function checkMail'),
    'forms/invoices.js': ofForms('js', 'forms.invoices') + MAKE_INVOICES,
    'forms/orders.js': ofForms('js', 'executeLater').replace('60_000', '50') + LEAD_ON,
  })
  const uploaded = await host.upload('guide', bundle)
  expect(await uploaded.json()).toMatchObject({ active: true, warnings: [] })
})
afterAll(() => host.stop())

async function open(): Promise<ClientPage> {
  const visitor = createVisitor(host.url)
  await visitor.get('/solution/guide/index.html')
  return openClient(host.url, 'guide', visitor)
}

test('docs/forms.md, a first example: the form is shown, its function rejects an invalid address, and its button opens the next form', async () => {
  const page = await open()
  expect((await page.frame('form')).title).toContain('Customer')
  await page.enter('customer', 'mail', 'anna@elsewhere.example')
  expect(page.text('customer', 'mail')).toContain('Not our mail')
  expect(page.element('customer', 'mail')).not.toContain('anna@')
  await page.enter('customer', 'mail', 'anna@example.org')
  expect(page.element('customer', 'mail')).toContain('value="anna@example.org"')
  await page.press('customer', 'save')
  expect(page.text('customer', 'company')).toContain('Please fill in this field.')
  await page.enter('customer', 'company', 'Alder')
  await page.press('customer', 'save')
  await page.until('the other form', () => page.html().includes('data-form="orders"'))
})

test('docs/forms.md, refuse a change: the listener restores the old value and shows the reason, and allows other changes', async () => {
  const page = await open()
  await page.enter('customer', 'company', 'Alder')
  await page.enter('customer', 'company', 'Example & Sons')
  expect(page.text('customer', 'company')).toContain('This company is there already.')
  expect(page.element('customer', 'company')).toContain('value="Alder"')
})

test('docs/forms.md, tables and later: the database sorts the rows; a delayed function runs without a click', async () => {
  const page = await open()
  await page.enter('customer', 'company', 'Alder')
  await page.press('customer', 'save')
  await page.press('orders', 'invoices')
  expect(page.text('invoices', 'list').match(/Alder|Finch|Halm/g)).toEqual(['Finch', 'Halm', 'Alder'])
  await page.press('invoices', 'back')
  await page.until('the hint', () => page.text('customer', 'company').includes('Looked up again.'))
})

test('docs/login-form.md: the manifest and the script match the example solution', () => {
  const read = (path: string) => readFileSync(join(exampleFolder('orders-login-form'), path), 'utf8')
  expect(example('login-form.md', 'json', 'loginForm')).toBe(read('solution.json'))
  expect(example('login-form.md', 'js', 'signIn')).toBe(read('forms/sign_in.js'))
  const form = JSON.parse(read('forms/sign_in.json')) as { layout: { columns: { elements: object[] }[] }[] }
  const elements = form.layout.flatMap(({ columns }) => columns.flatMap((column) => column.elements))
  expect(elements).toContainEqual(expect.objectContaining({ kind: 'primary', onAction: 'signIn' }))
  expect(read('README.md')).toContain(example('login-form.md', 'sh', 'grants').trim())
})
