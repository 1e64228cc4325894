import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { REPLACED_NAMES, warnOfReplacedNames } from '../../../runtime/sandbox/replaced-names.ts'

const GUIDE = readFileSync(new URL('../../../docs/migrating.md', import.meta.url), 'utf8')

const warned = async (source: string, globals = '') =>
  (await warnOfReplacedNames([{ file: 'globals.js', source: globals }], [{ file: 'forms/a.js', source }])).map(
    ({ file, line, column, message }) =>
      `${file}:${line}:${column} ${/^Solhost does not support "([^"]*)"/.exec(message)?.[1]}`,
  )

test.each([
  ['function f() {\n  databaseManager.saveData()\n  databaseManager.refresh() }', ['forms/a.js:2:3 databaseManager']],
  ['plugins . dialogs\n.showInfoDialog("x")', ['forms/a.js:1:1 plugins.dialogs']],
  ['plugins.http.getPageData(u); plugins.http.fetch(u)', ['forms/a.js:1:1 plugins.http.getPageData']],
  [
    'foundset.sort(1); controller.show(); utils.stringTrim(elements.x)',
    ['foundset', 'controller', 'utils', 'elements'],
  ],
  [
    'async function f() {\n  setTimeout(f, 5); const a = await fetch("x"); alert(a); require("fs"); setTimeout(f, 9) }',
    ['forms/a.js:2:3 setTimeout', 'fetch', 'alert', 'require'],
  ],
  ['[...fetch("x")]', ['forms/a.js:1:5 fetch']],
])('scripts: each name in %j that has a replacement is reported once, where it is used', async (source, names) => {
  expect(
    (await warned(source)).map((line, index) => (names[index]?.includes(' ') ? line : line.split(' ')[1])),
  ).toEqual(names)
})

test.each([
  'let utils = {}; utils.trim()',
  'function f(controller) { return controller.x + this.elements.y }',
  'plugins.mailer.send(); security.isUserMemberOfGroups; application.sleepy()',
  'forms.a.elements.b; scopes.utils.c; plugins.database.query("x"); event.history',
  '"utils.x" // databaseManager',
  'const isBrowser = typeof window !== "undefined"; plugins.http.fetch("x"); function alert() {} alert()',
])('scripts: %j uses no name that has a replacement', async (source) => {
  expect(await warned(source)).toEqual([])
})

test('scripts: names that the solution declares itself are not reported', async () => {
  expect(await warned('utils.trim(); databaseManager.x', 'var utils = {}')).toEqual(['forms/a.js:1:15 databaseManager'])
})

test.each(Object.keys(REPLACED_NAMES))('docs/migrating.md has a replacement for %s', (name) => {
  expect(GUIDE).toMatch(new RegExp(`^\\|[^|]*\`${name.replaceAll('.', '\\.')}\\b`, 'm'))
})
