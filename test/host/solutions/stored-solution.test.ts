import { expect, test } from 'vitest'
import type { PreparedSolution } from '../../../base/bundles/prepared-solution.ts'
import { readStored, writeStored } from '../../../host/solutions/stored-solution.ts'
import { manifestOf } from '../../support/solutions.ts'

const prepared: PreparedSolution = {
  manifest: manifestOf({}),
  modules: [],
  scripts: [{ module: null, file: 'globals.js', source: 'function onSolutionOpen() {}' }],
  formScripts: [
    {
      ...{ module: null, file: 'forms/a.js', form: 'a', source: 'function save() { return this }' },
      ...{ functions: ['save'], bound: ['save'] },
    },
  ],
  forms: [{ module: null, form: 'a', definition: { title: 'A', layout: [] } }],
  texts: { nl: { a: 'A' } },
  template: null,
  entries: { main: ['onSolutionOpen', 'onSolutionClose'] },
  warnings: [{ file: 'x', code: 'file_unused', message: 'm' }],
}

test('a prepared solution is read exactly as it was written', () => {
  const { prepared: read, isCurrent } = readStored(writeStored(prepared))
  expect([JSON.parse(JSON.stringify(read)), isCurrent]).toEqual([JSON.parse(JSON.stringify(prepared)), true])
})

test('data from a host that stored forms as text is read with empty forms and everything else unchanged', () => {
  const old = {
    ...prepared,
    formScripts: [{ module: null, file: 'forms/a.js', form: 'a', source: 'function save() {}' }],
    forms: [{ module: 'base', form: 'a', source: '{"any":"thing"}' }],
  }
  const { prepared: read, isCurrent } = readStored(JSON.stringify(old))
  expect(isCurrent).toBe(false)
  expect(read.forms).toEqual([{ module: 'base', form: 'a', definition: { layout: [] } }])
  expect(read.formScripts).toEqual([{ ...old.formScripts[0], functions: [], bound: [] }])
  const { forms, formScripts, ...others } = JSON.parse(JSON.stringify(read))
  const { forms: _forms, formScripts: _scripts, ...before } = JSON.parse(JSON.stringify(old))
  expect([others, forms.length, formScripts.length]).toEqual([before, 1, 1])
})

test('data from a host without onSolutionClose is read unchanged and marked as not current', () => {
  const old = { format: 2, ...prepared, entries: { main: ['onSolutionOpen'] } }
  const { prepared: read, isCurrent } = readStored(JSON.stringify(old))
  expect([isCurrent, read.entries]).toEqual([false, { main: ['onSolutionOpen'] }])
  expect(JSON.parse(JSON.stringify(read.forms))).toEqual(JSON.parse(JSON.stringify(prepared.forms)))
})

test('data from a host that bound no functions to forms is read without bound functions, and keeps functions named by handlers', () => {
  const { bound: _, ...script } = prepared.formScripts[0] as PreparedSolution['formScripts'][number]
  const { prepared: read, isCurrent } = readStored(JSON.stringify({ format: 3, ...prepared, formScripts: [script] }))
  expect([isCurrent, read.formScripts]).toEqual([false, [{ ...script, bound: [] }]])
})

test('data from a host without second factors is read with the default policy and everything else unchanged', () => {
  const { signIn: _, ...manifest } = prepared.manifest
  const module = { name: 'base', manifest: manifestOf({ name: 'base', type: 'module' }) }
  const { signIn: _base, ...base } = module.manifest
  const old = { format: 4, ...prepared, manifest, modules: [{ name: 'base', manifest: base }] }
  const { prepared: read, isCurrent } = readStored(JSON.stringify(old))
  const expected = JSON.stringify({ ...prepared, modules: [module] })
  expect([JSON.parse(JSON.stringify(read)), isCurrent]).toEqual([JSON.parse(expected), false])
})
