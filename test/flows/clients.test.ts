import { afterAll, beforeAll, expect, test } from 'vitest'
import { openClient, openClientPage } from '../support/client-page.ts'
import { addClientSolution, button, label, linesOf, outputOf } from '../support/client-solution.ts'
import { formWith } from '../support/forms.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { bundleOf } from '../support/zip.ts'

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
  const manifest = { name: 'counter', authenticator: 'NONE', firstForm: 'main' }
  const uploaded = await host.upload('counter', await bundleOf(manifest, COUNTER))
  expect(await uploaded.json()).toMatchObject({ active: true })
})
afterAll(() => host.stop())

const COUNTER = {
  'globals.js': 'let opened = null\nfunction onSolutionOpen(arg, params) { opened = arg + JSON.stringify(params) }\n',
  'forms/main.json': JSON.stringify(
    formWith(
      { type: 'label', name: 'count', label: '0' },
      { type: 'text', name: 'name', label: 'Name', onElementDataChange: 'named' },
      { type: 'number', name: 'amount', label: 'Amount', min: 1, max: 10, required: true },
      { type: 'button', name: 'up', label: 'Up', onAction: 'up' },
      { type: 'button', name: 'save', label: 'Save', kind: 'primary', onAction: 'save' },
      { type: 'button', name: 'fail', label: 'Fail', onAction: 'fail' },
      { type: 'button', name: 'dutch', label: 'i18n:dutch', onAction: 'dutch' },
    ),
  ),
  'forms/main.js': `
    let count = 0
    function onShow(first, event) { forms.main.elements.count.label = opened + ' ' + first }
    function up() { count++; elements().count.label = String(count) }
    function elements() { return forms.main.elements }
    function named(before, after) { return after === 'bad' ? 'Not that one' : true }
    function save() { elements().count.label = 'saved' }
    function fail() { elements().count.label = 'before it failed'; throw new Error('as it should') }
    function dutch() { i18n.setLocale('nl', 'BE') }
  `,
  'i18n/default.json': JSON.stringify({ dutch: 'In Dutch' }),
  'i18n/nl.json': JSON.stringify({ dutch: 'In het Nederlands' }),
}

async function openCounter() {
  const visitor = createVisitor(host.url)
  expect((await visitor.get('/solution/counter/index.html?argument=5&a=b')).status).toBe(200)
  return { page: await openClient(host.url, 'counter', visitor, { query: '?argument=5&a=b' }) }
}

test('client: onSolutionOpen gets the argument and query parameters before the first form is shown', async () => {
  const { page } = await openCounter()
  expect(page.text('main', 'count')).toBe('5{"argument":"5","a":"b"} true')
})

test('client: a handler’s changes are sent as a patch, and script state persists between calls', async () => {
  const { page } = await openCounter()
  await page.press('main', 'up')
  await page.press('main', 'up')
  expect(page.text('main', 'count')).toBe('2')
  expect(page.frames.filter(({ kind }) => kind === 'form')).toHaveLength(1)
})

test('client: a value that a handler rejects is reverted, and the message is shown at the input', async () => {
  const { page } = await openCounter()
  await page.enter('main', 'name', 'good')
  expect(page.element('main', 'name')).toContain('value="good"')
  await page.enter('main', 'name', 'bad')
  expect(page.element('main', 'name')).toContain('value="good"')
  expect(page.text('main', 'name')).toContain('Not that one')
})

test('client: the host rejects a number out of range, and a primary button requires the required fields', async () => {
  const { page } = await openCounter()
  await page.press('main', 'save')
  expect(page.text('main', 'amount')).toContain('Please fill in this field.')
  expect(await page.frame('focus')).toEqual({ kind: 'focus', element: 'amount' })
  await page.enter('main', 'amount', 11)
  expect(page.text('main', 'amount')).toContain('Maximum: 10.')
  await page.enter('main', 'amount', 10)
  expect(page.text('main', 'amount')).not.toContain('Maximum: 10.')
  await page.press('main', 'save')
  expect(page.text('main', 'count')).toBe('saved')
})

test('client: if a handler rejects the first value of a required input, a primary button keeps the reason', async () => {
  await addClientSolution(host, 'reason', {
    elements: [
      { type: 'text', name: 'code', label: 'Code', required: true, onElementDataChange: 'check' },
      { type: 'text', name: 'name', label: 'Name', required: true },
      { ...button('save'), kind: 'primary' },
    ],
    script: "function check(was, now) { return now === 'A-1' || 'Not that one' }\nfunction save() {}",
  })
  const page = await openClient(host.url, 'reason', createVisitor(host.url))
  await page.enter('main', 'code', 'X')
  await page.press('main', 'save')
  expect(page.text('main', 'code')).toContain('Not that one')
  expect(page.text('main', 'name')).toContain('Please fill in this field.')
  expect(await page.frame('focus')).toEqual({ kind: 'focus', element: 'code' })
})

test('client: an error in a handler is reported with a reference, and the handler’s changes before the error are shown', async () => {
  const { page } = await openCounter()
  await page.press('main', 'fail')
  expect(page.text('main', 'count')).toBe('before it failed')
  const { text } = await page.frame('message')
  expect(text).toMatch(/reference [0-9A-Z-]+/)
})

test('client: if an error has no position in the scripts, the log names the event', async () => {
  await addClientSolution(host, 'nowhere', {
    elements: [button('text'), button('fault')],
    script: "function text() { throw 'no' }\nfunction fault() { throw new Error('no') }",
  })
  const page = await openClient(host.url, 'nowhere', createVisitor(host.url))
  for (const name of ['text', 'fault']) await page.press('main', name)
  expect((await linesOf(host, 'nowhere')).map(({ message }) => message)).toEqual([
    'Thrown value: no (in forms.main.text.onAction)',
    'Error: no',
  ])
})

test('client: setLocale immediately changes the language of the form and the page', async () => {
  const { page } = await openCounter()
  await page.press('main', 'dutch')
  expect(page.text('main', 'dutch')).toBe('In het Nederlands')
  expect(page.everything()).toContain('Verbinding verbroken')
})

test('client: an input keeps an invalid value until the user corrects it; until then, no button saves the form', async () => {
  await addClientSolution(host, 'invalid', {
    elements: [
      label('shown'),
      { type: 'email', name: 'mail', label: 'Mail' },
      { type: 'number', name: 'amount', label: 'Amount', max: 10 },
      { type: 'date', name: 'day', label: 'Day', max: '2026-05-31' },
      { type: 'password', name: 'code', label: 'Code', maxLength: 3 },
      ...['keep', 'read', 'reset', 'away'].map(button),
    ],
    form: { saves: 'keep' },
    files: {
      'forms/other.json': JSON.stringify(formWith(button('back'))),
      'forms/other.js': "function back() { application.showForm('main') }",
    },
    script: `
      const own = () => forms.main.elements
      function keep() { application.output('kept') }
      function read() { own().shown.label = JSON.stringify([own().mail.value, own().amount.value, own().day.value]) }
      function reset() { own().mail.value = 'old@example.org' }
      function away() { application.showForm('other') }
    `,
    globals: "function onSolutionOpen() { forms.main.elements.mail.value = 'old@example.org' }",
  })
  const page = await openClient(host.url, 'invalid', createVisitor(host.url))
  const shown = (name: string) => /<input[^>]* value="([^"]*)"/.exec(page.element('main', name))?.[1]
  await page.enter('main', 'mail', 'new address')
  await page.enter('main', 'amount', 11)
  await page.enter('main', 'day', '2026-06-01')
  await page.enter('main', 'code', 'long')
  expect(['mail', 'amount', 'day', 'code'].map(shown)).toEqual(['new address', '11', '2026-06-01', undefined])
  expect(page.html()).toMatch(/<form[^>]* data-unsaved/)
  await page.press('main', 'read')
  expect(page.text('main', 'shown')).toBe('["old@example.org",null,null]')
  await page.press('main', 'keep')
  expect(page.frames.findLast(({ kind }) => kind === 'focus')).toEqual({ kind: 'focus', element: 'mail' })
  await page.press('main', 'reset')
  expect(shown('mail')).toBe('old@example.org')
  await page.enter('main', 'amount', 10)
  await page.press('main', 'keep')
  expect(page.frames.findLast(({ kind }) => kind === 'focus')).toEqual({ kind: 'focus', element: 'day' })
  await page.press('main', 'away')
  page.send({ kind: 'leave', seq: page.nextSeq(), form: 'main' })
  await page.until('other form', () => page.html().includes('id="f-other"'))
  await page.press('other', 'back')
  expect([shown('amount'), shown('day')]).toEqual(['10', undefined])
  expect(await outputOf(host, 'invalid')).toEqual([])
  await page.press('main', 'keep')
  expect(await outputOf(host, 'invalid')).toEqual(['kept'])
})

test('client: if the only change is an invalid value, the user is asked before a button shows another form', async () => {
  await addClientSolution(host, 'invalid-only', {
    elements: [
      { type: 'email', name: 'mail', label: 'Mail' },
      { type: 'number', name: 'amount', label: 'Amount' },
      ...['keep', 'away'].map(button),
    ],
    form: { saves: 'keep' },
    files: {
      'forms/other.json': JSON.stringify(formWith(button('back'))),
      'forms/other.js': "function back() { application.showForm('main') }",
    },
    script: `
      function keep() { application.output('kept ' + forms.main.elements.amount.value) }
      function away() { application.showForm('other') }
    `,
  })
  const visitor = createVisitor(host.url)
  const page = await openClient(host.url, 'invalid-only', visitor)
  const unreadable = async (of = page) => {
    const event = { kind: 'event', form: 'main', element: 'amount', type: 'onElementDataChange', value: null }
    of.send({ ...event, seq: of.nextSeq(), isUnreadable: true })
    await of.until('error', () => of.html().includes('Enter a number.'))
  }
  const leave = async () => {
    await page.press('main', 'away')
    expect(page.frames.at(-2)).toEqual({ kind: 'leaving' })
    expect(page.html()).toContain('id="f-main"')
    page.send({ kind: 'leave', seq: page.nextSeq(), form: 'main' })
    await page.until('other form', () => page.html().includes('id="f-other"'))
    await page.press('other', 'back')
    expect(page.html()).not.toContain('data-unsaved')
  }
  await page.enter('main', 'mail', 'new address')
  await leave()
  await page.enter('main', 'amount', 5)
  await page.press('main', 'keep')
  await unreadable()
  await page.press('main', 'keep')
  expect(page.frames.findLast(({ kind }) => kind === 'focus')).toEqual({ kind: 'focus', element: 'amount' })
  await leave()
  expect(await outputOf(host, 'invalid-only')).toEqual(['kept 5'])

  // A reloaded page shows the last valid value again.
  await unreadable()
  const { client } = await page.frame('hello')
  page.close()
  const again = await openClientPage(host.url, 'invalid-only', visitor, { client })
  again.hello()
  await again.frame('form')
  expect(again.element('main', 'amount')).toContain('value="5"')
  await again.press('main', 'keep')
  expect(await outputOf(host, 'invalid-only')).toEqual(['kept 5', 'kept 5'])
})
