import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ClientPage, openClient } from '../support/client-page.ts'
import { formWith } from '../support/forms.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { addDefaultSolution, addUser, visit } from '../support/users.ts'

// Two users with different permissions use one solution at the same time. Everything that only managers may see
// contains the word SECRET: names, labels, hints, values, placeholders, options, rows, tabs, titles and translated
// texts.

const within = (...elements: unknown[]) => [{ columns: [{ elements }] }]
const managers = { permission: 'Managers' }

const MAIN = formWith(
  { type: 'label', name: 'said', label: 'Nothing yet' },
  { type: 'text', name: 'note', label: 'Note', value: 'for all' },
  {
    type: 'text',
    name: 'SECRETtext',
    label: 'SECRET label',
    hint: 'SECRET hint',
    placeholder: 'SECRET placeholder',
    value: 'SECRET value',
    required: true,
    onElementDataChange: 'changed',
    ...managers,
  },
  {
    type: 'select',
    name: 'SECRETselect',
    label: 'i18n:secret.label',
    options: [{ value: 'SECRET option', label: 'SECRET option label' }],
    ...managers,
  },
  { type: 'link', name: 'SECRETlink', label: 'SECRET link', href: 'https://example.org/SECRET', ...managers },
  { type: 'image', name: 'SECRETimage', src: 'SECRET.png', alt: 'SECRET alt', ...managers },
  {
    type: 'table',
    name: 'SECRETtable',
    label: 'SECRET table',
    columns: [{ name: 'SECRETcolumn', label: 'SECRET column', sortable: true }],
    value: [{ id: 'SECRET row', SECRETcolumn: 'SECRET cell' }],
    onAction: 'opened',
    ...managers,
  },
  { type: 'button', name: 'SECRETbutton', label: 'SECRET button', onAction: 'manage', ...managers },
  {
    type: 'panel',
    name: 'SECRETpanel',
    label: 'SECRET panel',
    layout: within({ type: 'button', name: 'inPanel', label: 'SECRET in panel', onAction: 'manage' }),
    ...managers,
  },
  {
    type: 'tabs',
    name: 'tabs',
    tabs: [
      {
        name: 'forAll',
        label: 'For all',
        layout: within({ type: 'label', name: 'SECRETinTab', label: 'SECRET in tab', ...managers }),
      },
      {
        name: 'SECRETtab',
        label: 'SECRET tab',
        layout: within({ type: 'button', name: 'inTab', label: 'SECRET in this tab', onAction: 'manage' }),
        ...managers,
      },
    ],
  },
  { type: 'button', name: 'change', label: 'Change', onAction: 'change' },
  { type: 'button', name: 'save', label: 'Save', kind: 'primary', onAction: 'save' },
  { type: 'button', name: 'language', label: 'Language', onAction: 'language' },
  { type: 'button', name: 'board', label: 'Board', onAction: 'board' },
)

const FILES = {
  'i18n/default.json': JSON.stringify({ 'secret.label': 'SECRET by key' }),
  'i18n/nl.json': JSON.stringify({ 'secret.label': 'SECRET in het Nederlands' }),
  'media/SECRET.png': 'no picture',
  'forms/main.json': JSON.stringify(MAIN),
  'forms/main.js': `
    let count = 0
    const e = () => forms.main.elements
    function say(text) { e().said.label = text + ' ' + ++count }
    /** A careless script: it writes what it does into every element, for every user. */
    function change() {
      for (const name of ['SECRETtext', 'SECRETselect', 'SECRETlink', 'SECRETimage', 'SECRETtable', 'SECRETbutton',
        'SECRETpanel', 'inPanel', 'SECRETinTab', 'inTab']) {
        e()[name].label = 'SECRET changed label'
        e()[name].hint = 'SECRET changed hint'
        e()[name].visible = true
        e()[name].enabled = true
      }
      e().SECRETtext.value = 'SECRET changed value'
      e().SECRETtext.error = 'SECRET error'
      e().SECRETselect.options = [{ value: 'SECRET new', label: 'SECRET new option' }]
      e().SECRETtable.rows = [{ id: 'SECRET new row', SECRETcolumn: 'SECRET new cell' }]
      e().tabs.value = 'SECRETtab'
      say('changed')
    }
    function changed() { say('SECRET was typed'); return true }
    function manage() { say('managed') }
    function opened() { say('opened') }
    function save() { say('saved') }
    function language() { i18n.setLocale('nl') }
    function board() { application.showForm('board') }
  `,
  'forms/board.json': JSON.stringify({
    title: 'SECRET board',
    ...managers,
    ...formWith(
      { type: 'label', name: 'secret', label: 'SECRET on the board' },
      { type: 'button', name: 'back', label: 'SECRET back', onAction: 'back' },
    ),
  }),
  'forms/board.js': `
    function onShow() { forms.board.title = 'SECRET new title'; forms.board.elements.secret.label = 'SECRET shown' }
    function onResize() { forms.main.elements.said.label = 'resized the board'; application.showForm('main') }
    function back() { forms.main.elements.said.label = 'came back'; application.showForm('main') }
  `,
}

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
  await addUser(host, 'anna')
  await addUser(host, 'maria', { permissions: ['Users', 'Managers'] })
  await addDefaultSolution(host, 'board', { firstForm: 'main', permissions: ['Users', 'Managers'] }, FILES)
})
afterAll(() => host.stop())

async function open(username: string) {
  const browser = await visit(host, 'board')
  expect((await browser.signIn(username)).status).toBe(303)
  const source = await browser.open()
  expect(source.status).toBe(200)
  return { browser, source: source.text, page: await openClient(host.url, 'board', browser) }
}

/** Tries every interaction that the page offers. */
async function tryAll(page: ClientPage): Promise<void> {
  await page.press('main', 'language')
  await page.press('main', 'change')
  await page.press('main', 'save')
  await page.event('main', 'tabs', 'showTab', 'forAll')
  await page.press('main', 'board')
}

test('two users at the same time: the page and frames of one user never contain the other’s data, whatever scripts change', async () => {
  const [anna, maria] = await Promise.all([open('anna'), open('maria')])
  await Promise.all([tryAll(anna.page), tryAll(maria.page)])

  expect(anna.page.everything()).toContain('saved 2')
  expect(anna.source + anna.page.everything()).not.toMatch(/SECRET/i)
  expect(anna.page.html()).toContain('data-form=""')

  const seen = maria.page.everything()
  const places = ['label', 'hint', 'placeholder', 'value', 'by key', 'option label', 'link', 'alt', 'column', 'cell']
  for (const place of [...places, 'button', 'panel', 'in panel', 'in tab', 'tab', 'in this tab', 'in het Nederlands'])
    expect(seen).toContain(`SECRET ${place}`)
  for (const changed of ['changed label', 'changed hint', 'changed value', 'error', 'new option', 'new cell', 'shown'])
    expect(seen).toContain(`SECRET ${changed}`)
  expect(maria.page.frames.findLast(({ kind }) => kind === 'form')).toMatchObject({ title: 'SECRET new title' })
})

test('two users at the same time: events that only one user may send are rejected from the other, and don’t change the client', async () => {
  const [anna, maria] = await Promise.all([open('anna'), open('maria')])
  const forged: [string, string, unknown?][] = [
    ['SECRETbutton', 'onAction'],
    ['inPanel', 'onAction'],
    ['inTab', 'onAction'],
    ['SECRETtext', 'onElementDataChange', 'typed'],
    ['SECRETtext', 'onElementFocusGained'],
    ['SECRETselect', 'onElementDataChange', 'SECRET option'],
    ['SECRETtable', 'onAction', 'SECRET row'],
    ['SECRETtable', 'onSort', { column: 'SECRETcolumn', direction: 'ascending' }],
    ['tabs', 'showTab', 'SECRETtab'],
  ]
  for (const [element, type, value] of forged) await anna.page.event('main', element, type, value)
  expect(anna.page.text('main', 'said')).toBe('Nothing yet')
  expect(anna.page.everything()).not.toMatch(/SECRET/i)
  await anna.page.press('main', 'save')
  expect(anna.page.text('main', 'said')).toBe('saved 1')

  for (const [element, type, value] of forged) await maria.page.event('main', element, type, value)
  // The script counted only this client's five events (three buttons, a value and a row), because clients don't share
  // script state.
  expect(maria.page.text('main', 'said')).toBe('opened 5')
})

test('a user without a form’s permission gets a notice instead of the form, and cannot send events to it', async () => {
  const { page } = await open('anna')
  await page.press('main', 'board')
  expect(await page.frame('form')).toMatchObject({ title: 'board' })
  await page.press('board', 'back')
  page.send({ kind: 'resize', seq: page.seq() + 1, form: 'board', width: 500, height: 500 })
  await page.until('answer', () => page.frames.some((one) => one.kind === 'idle' && one.seq === page.seq() + 1))
  expect(page.everything()).not.toMatch(/SECRET|came back|resized/i)
})
