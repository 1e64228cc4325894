import { expect, test } from 'vitest'
import type { Fault } from '../../../runtime/bundle/faults.ts'
import { freeNames } from '../../../runtime/sandbox/free-names.ts'
import { findScopes } from '../../../runtime/sandbox/script-scopes.ts'

type Files = Readonly<Record<string, string>>

async function find(scripts: Files, forms: Files = {}) {
  const faults: Fault[] = []
  const read = (files: Files) =>
    Object.entries(files).map(([file, source]) => ({
      module: /^modules\/([^/]+)/.exec(file)?.[1] ?? null,
      file,
      source,
    }))
  const scopes = await findScopes(read(scripts), read(forms), faults)
  return {
    scopes,
    faults: faults.map(({ code, file, line, column }) => `${code} ${file}:${line}:${column}`),
    all: faults,
  }
}

const TWO = { 'scopes/a.js': 'function f() { return f }\nvar one', 'scopes/b.js': 'var f = 1; function two() {}' }

test('scopes: two scopes can declare the same name; each contains all its names, and only unique names are global', async () => {
  const { scopes, faults } = await find({ 'globals.js': 'const a = scopes.a.f', ...TWO })
  expect(faults).toEqual([])
  expect(scopes).toEqual([
    { name: 'globals', names: ['a'], shared: ['a'], isOwn: false },
    { name: 'a', names: ['f', 'one'], shared: ['one'], isOwn: true },
    { name: 'b', names: ['f', 'two'], shared: ['two'], isOwn: true },
  ])
})

test('scopes: if an ambiguous name is used without a scope, an error at that line says what to write', async () => {
  const { faults, all } = await find(
    { 'globals.js': 'function g() {\n  return f() }', ...TWO, 'scopes/c.js': 'var c = () => (f) => f; typeof f' },
    { 'forms/x.js': 'function own() {}\n\n  own(f)', 'forms/y.js': 'let f; f = 1', 'modules/m/forms/z.js': 'f()' },
  )
  expect(faults).toEqual([
    'name_twice globals.js:2:10',
    'name_twice scopes/c.js:1:32',
    'name_twice forms/x.js:3:7',
    'name_twice modules/m/forms/z.js:1:1',
  ])
  expect(all[0]?.message).toBe('"f" is declared in scopes/a.js, scopes/b.js: write scopes.a.f or scopes.b.f')
})

test('scopes: a name that a module declares itself is not ambiguous, even if two scopes in another folder declare it', async () => {
  expect(
    (await find({ 'modules/m/globals.js': 'var f; f = 1', ...TWO }, { 'modules/m/forms/z.js': 'f()' })).faults,
  ).toEqual([])
})

test.each([
  [
    'globals.js and a scope',
    { 'globals.js': 'var f', 'scopes/a.js': 'function f() {}' },
    'name_twice scopes/a.js:1:10',
  ],
  [
    'two scopes, if it is the name of an entry function,',
    { 'scopes/a.js': 'function onSolutionOpen() {}', 'scopes/b.js': 'function onSolutionOpen() {}' },
    'name_twice scopes/b.js:1:10',
  ],
])('the same name in %s is an error', async (_what, files, fault) => {
  expect((await find(files)).faults).toEqual([fault])
})

test('scopes: if no script uses globals or scopes, none are created', async () => {
  expect((await find({ 'globals.js': 'const a = 1', 'scopes/a.js': 'var b' })).scopes).toEqual([
    { name: 'globals', names: [], shared: [], isOwn: false },
    { name: 'a', names: [], shared: [], isOwn: false },
  ])
})

test('scopes: the only script of each folder has no scope, unless a script uses globals or scopes', async () => {
  const files = { 'scopes/a.js': 'var f', 'modules/m/globals.js': 'const f = 1' }
  const none = { names: [], shared: [], isOwn: false }
  expect((await find(files)).scopes).toEqual([
    { name: 'a', ...none },
    { name: 'globals', ...none },
  ])
  expect((await find(files, { 'forms/x.js': 'scopes.a.f' })).scopes).toEqual([
    { name: 'a', names: ['f'], shared: [], isOwn: false },
    { name: 'globals', names: ['f'], shared: ['f'], isOwn: false },
  ])
})

test.each([
  ['f(); var a = f.b; a.f; ({ f: 1 }).f', ['f 1:1', 'f 1:14']],
  ['function own(f = g, { h: i } = {}) { f; h: for (const f of j) {} } own()', ['g 1:18', 'j 1:60']],
  ['class A extends B { #p = q; static { r } m() { return this.#p } } new A', ['B 1:17', 'q 1:26', 'r 1:38']],
  ['try { a } catch (a) { a?.b ?? c } with (d) { e }', ['a 1:7', 'c 1:31', 'd 1:41', 'e 1:46']],
  ['x`a`; typeof y; async () => { await z }', ['x 1:1', 'y 1:14', 'z 1:37']],
  ['f(', []],
  ['('.repeat(50_000), []],
])('the names that %j uses but does not declare are found', (source, names) => {
  expect(freeNames(source).map(({ name, line, column }) => `${name} ${line}:${column}`)).toEqual(names)
})
