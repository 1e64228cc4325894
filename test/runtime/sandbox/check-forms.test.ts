import { expect, test } from 'vitest'
import { checkFormFiles } from '../../../runtime/sandbox/check-forms.ts'
import { topLevelFunctions } from '../../../runtime/sandbox/top-level-names.ts'

type File = readonly [file: string, source: string]

/** Checks forms and form scripts. Each file has the name that it would have in a bundle. */
function check(files: readonly File[], faulty: readonly string[] = []) {
  const named = files.map(([file, source]) => {
    const [, module = null, form = ''] = /^(?:modules\/(\w+)\/)?forms\/(\w+)\./.exec(file) ?? []
    return { module, form, file, source }
  })
  const formScripts = named.filter(({ file }) => !file.endsWith('.json'))
  const forms = named.filter(({ file }) => file.endsWith('.json'))
  const sources = formScripts.map(({ source }) => source)
  const checked = checkFormFiles(
    { forms, formScripts, i18n: [], media: [], permissions: null },
    sources,
    [],
    new Set(faulty),
  )
  return { ...checked, faults: checked.found.faults }
}

const SHOWS = '{"onShow":"show"}'

test('forms: a handler must be in the script of its own form and module', () => {
  const missing = check([
    ['modules/base/forms/a.json', SHOWS],
    ['modules/base/forms/b.js', 'function show() {}'],
    ['modules/base/forms/b.json', SHOWS],
    ['forms/a.js', 'function show() {}'],
    ['forms/a.json', SHOWS],
    ['forms/b.json', SHOWS],
  ])
  expect(missing.faults.map(({ code, file, message }) => [code, file, message.split(', ').at(-1)])).toEqual([
    ['form_function_missing', 'modules/base/forms/a.json', 'but there is no modules/base/forms/a.js'],
    ['form_function_missing', 'forms/b.json', 'but there is no forms/b.js'],
  ])
  expect(missing.forms.map((form) => form?.onShow)).toEqual([undefined, 'show', 'show', undefined])
  expect(missing.functions.map(({ names }) => names)).toEqual([['show'], ['show']])
})

test('forms: an error in a TypeScript script contains the name of the .ts file', () => {
  const { faults } = check([
    ['forms/a.ts', ''],
    ['forms/a.json', SHOWS],
  ])
  expect(faults[0]?.message).toBe(
    '"onShow" names the function "show", which forms/a.ts does not declare at its top level',
  )
})

test('forms: a script with a syntax error is not checked for functions', () => {
  const files: File[] = [
    ['forms/a.js', 'function ('],
    ['forms/a.json', SHOWS],
  ]
  expect(check(files, ['forms/a.js']).faults).toEqual([])
  expect(check(files).faults).toMatchObject([{ code: 'script_syntax', file: 'forms/a.js' }])
})

test('forms: anything other than a JSON object is reported as json_invalid, with its position', () => {
  const { faults, forms } = check([
    ['forms/a.json', '{"title": 1,\n}'],
    ['forms/b.json', '[]'],
    ['forms/c.json', 'null'],
    ['forms/d.json', '{"a":1,"a":2}'],
    ['forms/e.json', '{}'],
  ])
  expect(faults.map(({ code, file, line, column }) => [code, file, line, column])).toEqual([
    ['json_invalid', 'forms/a.json', 2, 1],
    ['json_invalid', 'forms/b.json', 1, 1],
    ['json_invalid', 'forms/c.json', 1, 1],
    ['json_invalid', 'forms/d.json', 1, 8],
  ])
  expect(forms).toEqual([null, null, null, null, { layout: [] }])
})

test('forms: 100 errors are listed for 2,000 forms with errors', () => {
  const files = Array.from({ length: 2000 }, (_, index): File => [`forms/f${index}.json`, '{"a":1,"b":2}'])
  const { faults } = check(files)
  expect([faults.length, faults.at(-1)?.message]).toEqual([101, '3900 more errors are not listed'])
})

test('forms: functions whose names are not valid handler names are private to the script', () => {
  const source = `function größe() {}; function ${'x'.repeat(65)}() {}; function $a_1() {}; function __proto__() {}`
  const { functions } = check([
    ['forms/a.js', source],
    ['forms/a.json', '{}'],
  ])
  expect(functions).toEqual([{ names: ['$a_1', '__proto__'], bound: [] }])
})

test.each([
  ['function a() {} async function b() {} function* c() {} async function* d() {}', ['a', 'b', 'c', 'd']],
  ['const a = () => 1, b = async () => 1; let c = function () {}; var d = (function e() {})', ['a', 'b', 'c', 'd']],
  ['function a() {} function a() {} var a', ['a']],
  ['if (true) { function a() {} } { var b = () => 1 } for (const c = () => 1; ;) break', []],
  ['const a = 1, { b } = { b() {} }, [c] = [() => 1]; let d; d = () => 1; class e {}; (function f() {})', []],
  ["'use strict'; function a() { function b() {} }", ['a']],
  ['function (', null],
  [`${'('.repeat(100_000)}`, null],
])('functions at the top level of %j are %j', (source, names) => {
  expect(topLevelFunctions(source)?.names ?? null).toEqual(names)
})

test.each([
  ['function a() { return this } function b() { return () => this.x } async function c(d = this) {}', ['a', 'b', 'c']],
  ['function a() { return function () { return this } } function b() { class c { d = this } } function e() {}', []],
  ['const a = function () { return this }; var b = () => this', []],
  ["'use strict'; function a() { return this }", []],
  ['function arguments() {} function a() { return this }', []],
])('in %j, the functions %j are bound to the form', (source, bound) => {
  expect(topLevelFunctions(source)?.bound).toEqual(bound)
})
