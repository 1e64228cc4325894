import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { editorFiles, renewEditorFiles } from '../../cli/editor-files.ts'
import { readSolutionFolder } from '../../cli/solution-folder.ts'
import { solutionTypes } from '../../cli/types.ts'
import { exampleFolder, exampleNames } from '../../host/solutions/examples.ts'
import { temporaryFolder, writeFiles } from '../support/cli.ts'

const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))

const SOLUTION: Record<string, string> = {
  'solution.json': JSON.stringify({
    name: 'crm',
    version: '1.0.0',
    permissions: ['Edit'],
    databases: { orders: { server: 'embedded' } },
    modules: ['sales', 'crm-login'],
    eventTypes: {
      saved: {
        arguments: [
          { name: 'id', type: 'number' },
          { name: 'how', type: 'no; type' },
        ],
      },
    },
  }),
  'globals.js':
    '/** Adds up. */\nfunction total(rows) { return rows.length }\nlet count = 0\nconst twice = (x, { y }, ...z) => 2\n',
  'scopes/typed.ts': 'function typed(a: string, b = 2): number { return 1 }\n',
  'forms/customer.json': JSON.stringify({
    saves: 'save',
    layout: [
      {
        columns: [
          {
            elements: [
              { type: 'text', name: 'company' },
              { type: 'button', name: 'save' },
            ],
          },
        ],
      },
      {
        columns: [
          {
            elements: [
              {
                type: 'tabs',
                name: 'pages',
                tabs: [
                  { name: 'one', label: 'x', layout: [{ columns: [{ elements: [{ type: 'table', name: 'list' }] }] }] },
                ],
              },
            ],
          },
        ],
      },
    ],
  }),
  'forms/customer.js': 'function save(event) { return total([]) }\nfunction onShow() {}\n',
  'forms/other.json': '{ "layout": [] }',
  // The other form's script also has a function `save`. Functions are scoped to their form.
  'forms/other.js': 'function onShow() { return save() }\nfunction save() { return 1 }\n',
  'i18n/default.json': '{ "customer.title": "Customer" }',
  'modules/sales/solution.json':
    '{ "name": "sales", "version": "1.0.0", "type": "module", "eventTypes": { "sold": {} } }',
  'modules/sales/globals.js': 'function sell() {}\n',
  'modules/crm-login/solution.json': '{ "name": "crm-login", "version": "1.0.0", "type": "authenticator" }',
  'modules/crm-login/globals.js':
    'function hidden() {}\nfunction onSolutionOpen(arg, queryParams) { security.login("a", "b", []) }\n',
}

/**
 * @returns the errors that tsc reports for this script in that solution, as "line: text". Editors report the same ones.
 */
function errorsOf(script: string): string[] {
  return errorsIn({ ...SOLUTION, 'scopes/tried.js': script })
}

function errorsIn(solution: Readonly<Record<string, string>>): string[] {
  using folder = temporaryFolder(solution)
  const { files } = readSolutionFolder(folder.path)
  writeFiles(folder.path, Object.fromEntries(editorFiles(files)))
  const words = [TSC, '-p', join(folder.path, 'jsconfig.json'), '--pretty', 'false']
  const { status, stdout } = spawnSync(process.execPath, words, { cwd: folder.path, encoding: 'utf8' })
  const errors = stdout.split('\n').flatMap((line) => {
    const [, file, at, what] = /^(\S+?)\((\d+),\d+\): error TS\d+: (.*)/.exec(line) ?? []
    return what === undefined ? [] : [file === 'scopes/tried.js' ? `${at}: ${what}` : `${file} ${at}: ${what}`]
  })
  if ((status === 0) !== (errors.length === 0)) throw new Error(`tsc ended with ${status}: ${stdout}`)
  return errors
}

const RIGHT = `
async function right() {
  forms.customer.elements.company.value = 'Alder'
  forms.customer.elements.company.required = true
  forms.customer.elements.pages.value = 'one'
  forms.customer.elements.list.rows = [{ id: 1 }]
  forms.customer.save()
  forms.other.title = 'i18n:customer.title'
  forms.customer.unsaved = false
  application.showForm('customer')
  application.showForm(forms.other.getName())
  eventsManager.addEventListener(EventType.saved, (event, id) => id.toFixed(2) + event.type)
  eventsManager.addEventListener(EventType.sold, () => true)
  eventsManager.addEventListener(EventType.onShow, (event, firstShow) => firstShow === true, forms.customer)
  eventsManager.fireEventListeners(EventType.saved, [1])
  application.output(EventType.saved.getName(), LOGGINGLEVEL.WARNING)
  globals.total = scopes.orders.total
  i18n.getI18NMessage('customer.title')
  i18n.getI18NMessage(\`status.\${total([])}\`)
  security.hasPermission('Edit')
  const rows = await plugins.database.query('orders', 'SELECT 1')
  total(rows)
  twice(1)
  typed()
  sell()
  count = 2
  console.log(count)
  security.getTenantValue()
}
`

test('types: a correct solution, including forms, events, texts, functions and modules, has no type errors', () => {
  expect(errorsOf(RIGHT)).toEqual([])
})

test('types: a missing member or a value of the wrong type causes an error at its line', () => {
  const wrong = [
    "security.logn('a')",
    "forms.custmer.title = 'x'",
    "forms.customer.elements.compny.value = 'x'",
    'forms.customer.elements.company.value = 3',
    "forms.customer.elements.save.value = 'x'",
    'forms.customer.saev()',
    'forms.other.unsaved = true',
    'eventsManager.addEventListener(EventType.savd, () => true)',
    'eventsManager.addEventListener(EventType.saved, (event, id) => id.trim())',
    'i18n.getI18nMessage("customer.title")',
    'window.alert("x")',
    'hidden()',
    'plugins.databse.query("orders", "SELECT 1")',
  ]
  expect(errorsOf(`${wrong.join('\n')}\n`).map((error) => error.replace(/on type '.*?'\./, 'on …'))).toEqual([
    "1: Property 'logn' does not exist on … Did you mean 'login'?",
    "2: Property 'custmer' does not exist on … Did you mean 'customer'?",
    "3: Property 'compny' does not exist on … Did you mean 'company'?",
    "4: Type 'number' is not assignable to type 'string'.",
    "5: Property 'value' does not exist on …",
    expect.stringMatching(/^6: Property 'saev' does not exist on /),
    expect.stringMatching(/^7: Property 'unsaved' does not exist on /),
    "8: Property 'savd' does not exist on … Did you mean 'saved'?",
    "9: Property 'trim' does not exist on …",
    "10: Property 'getI18nMessage' does not exist on … Did you mean 'getI18NMessage'?",
    expect.stringMatching(/^11: Cannot find name 'window'/),
    expect.stringMatching(/^12: Cannot find name 'hidden'/),
    "13: Property 'databse' does not exist on … Did you mean 'database'?",
  ])
})

test('types: keys of texts, permissions, databases, forms and events are known, so editors suggest them', () => {
  // If a type accepts only known names, the error message for a wrong one lists them.
  const known = (of: string, wrong: string) => `/** @type {${of}} */\nconst tried = '${wrong}'\n`
  expect(errorsOf(known('SolutionText', 'x'))).toEqual([`2: Type '"x"' is not assignable to type '"customer.title"'.`])
  expect(errorsOf(known('SolutionPermission', 'x'))).toEqual([`2: Type '"x"' is not assignable to type '"Edit"'.`])
  expect(errorsOf(known('SolutionDatabase', 'x'))).toEqual([`2: Type '"x"' is not assignable to type '"orders"'.`])
  for (const [of, right] of [
    ['SolutionForms', 'customer'],
    ['SolutionEvents', 'saved'],
  ] as const) {
    expect(errorsOf(known(`keyof ${of}`, right))).toEqual([])
    expect(errorsOf(known(`keyof ${of}`, 'x'))).toEqual([`2: Type '"x"' is not assignable to type 'keyof ${of}'.`])
  }
})

test('types: invalid files of an unfinished solution do not affect the types generated from other files', () => {
  const broken = {
    'forms/customer.json': '{ "layout": [',
    'globals.js': 'function (',
    'i18n/nl.json': '[',
    'forms/odd.json': '{ "layout": [{ "columns": 5 }, null] }',
    'modules/sales/solution.json': 'x',
  }
  const files = new Map(Object.entries({ ...SOLUTION, ...broken }).map(([name, text]) => [name, Buffer.from(text)]))
  const types = solutionTypes(files)
  expect(types).toContain('readonly other: SolutionForm')
  expect(types).toContain("readonly saved: 'saved'")
  expect(types).toContain('"customer.title"')
  expect(types).toContain('readonly odd: SolutionForm')
  expect(types).not.toContain('"sold"')
})

test('types: a solution’s names and texts cannot inject code into the types', () => {
  const files = new Map([
    [
      'solution.json',
      Buffer.from(
        JSON.stringify({ eventTypes: { 'hostile: any }': {}, ok: { description: 'x */ declare var y: any /*' } } }),
      ),
    ],
    [
      'forms/a-b.json',
      Buffer.from('{ "layout": [{ "columns": [{ "elements": [{ "type": "text", "name": "hostile: any" }] }] }] }'),
    ],
    ['i18n/default.json', Buffer.from('{ "\\"; declare var z: any; //": "x" }')],
  ])
  const types = solutionTypes(files)
  expect(types).not.toContain('hostile: any')
  expect(types).toContain('x * / declare var y')
  expect(types).toContain('"\\"; declare var z: any; //"')
  expect(types).toContain('readonly "a-b": SolutionForm')
})

test('check updates an existing solhost.d.ts and changes no other file', () => {
  using folder = temporaryFolder({ 'solution.json': '{ "name": "crm", "version": "1.0.0" }', 'solhost.d.ts': 'old' })
  const names = () => readdirSync(folder.path).sort()
  expect(renewEditorFiles(readSolutionFolder(folder.path))).toEqual(['solhost.d.ts'])
  expect(readFileSync(join(folder.path, 'solhost.d.ts'), 'utf8')).toContain('declare const security')
  expect([renewEditorFiles(readSolutionFolder(folder.path)), names()]).toEqual([[], ['solhost.d.ts', 'solution.json']])
})

test.each(exampleNames())('types: the example %s has no type errors', (name) => {
  const { files } = readSolutionFolder(exampleFolder(name))
  const texts = [...files].map(([file, content]) => [file, content.toString('utf8')])
  expect(errorsIn(Object.fromEntries(texts))).toEqual([])
})

test('types: an editor has types for everything that a test file can use, and reports anything else', () => {
  using folder = temporaryFolder({ ...SOLUTION })
  writeFiles(folder.path, Object.fromEntries(editorFiles(readSolutionFolder(folder.path).files)))
  const head = '/// <reference path="./.solhost/test.d.ts" />\n'
  const errorsOf = (source: string) => {
    writeFiles(folder.path, { 'globals.test.js': `${head}${source}` })
    const words = [
      '--checkJs',
      '--strict',
      'false',
      '--noEmit',
      '--lib',
      'esnext',
      '--target',
      'esnext',
      '--types',
      '',
      '--pretty',
      'false',
    ]
    const { stdout } = spawnSync(process.execPath, [TSC, '--ignoreConfig', ...words, 'globals.test.js'], {
      cwd: folder.path,
      encoding: 'utf8',
    })
    return stdout.trim().split('\n')
  }
  const made = readFileSync(new URL('../../base/bundles/new-solution/globals.test.js', import.meta.url), 'utf8')
  expect(errorsOf(made)).toEqual([''])
  expect(
    errorsOf("test('a', async () => {\n  const { login } = await solution.signIn({})\n  login.user\n})\n"),
  ).toEqual(["globals.test.js(4,9): error TS2339: Property 'user' does not exist on type 'TestLogin'."])
})
