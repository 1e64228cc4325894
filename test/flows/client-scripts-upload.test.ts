import { afterAll, beforeAll, expect, test } from 'vitest'
import { formWith } from '../support/forms.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { bundleOf, type Files } from '../support/zip.ts'

// Tests that an upload runs the main solution's scripts as a client does, with all forms and form scripts.

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
})
afterAll(() => host.stop())

type Fault = {
  readonly file: string
  readonly line?: number
  readonly column?: number
  readonly code: string
  readonly message: string
}

async function upload(name: string, files: Files): Promise<{ status: number; faults: readonly Fault[] }> {
  const answer = await host.upload(name, await bundleOf({ name, authenticator: 'NONE' }, files))
  const { faults = [] } = (await answer.json()) as { faults?: readonly Fault[] }
  return { status: answer.status, faults }
}

const FORM = { 'forms/orders.json': JSON.stringify(formWith({ type: 'text', name: 'company' })) }

test('main’s top-level code can use the forms', async () => {
  const files = {
    ...FORM,
    'globals.js':
      "eventsManager.addEventListener(EventType.onShow, () => true, forms.orders); forms.orders.elements.company.value = 'x'",
  }
  expect(await upload('uses-forms', files)).toEqual({ status: 201, faults: [] })
})

test('an error in main’s top-level code is reported with its position', async () => {
  const { status, faults } = await upload('throws', { ...FORM, 'globals.js': 'let a = 1\n  forms.nothing' })
  expect([status, faults]).toEqual([
    422,
    [
      {
        file: 'globals.js',
        line: 2,
        column: 9,
        code: 'script_load',
        message: expect.stringContaining('forms has no nothing'),
        source: '  forms.nothing',
        advice: expect.stringContaining('move the code into a function'),
      },
    ],
  ])
})

test('a form script that throws or never finishes loading is reported with its position', async () => {
  const thrown = await upload('form-throws', { ...FORM, 'forms/orders.js': 'let a = 1\nmissing()' })
  expect([thrown.status, thrown.faults]).toEqual([
    422,
    [
      {
        file: 'forms/orders.js',
        line: 2,
        column: 1,
        code: 'script_load',
        message: 'ReferenceError: missing is not defined',
        source: 'missing()',
        advice: expect.stringContaining('move the code into a function'),
      },
    ],
  ])
  const endless = await upload('form-endless', { ...FORM, 'forms/orders.js': '\n for (;;) {}' })
  expect([endless.status, endless.faults.map(({ file, line, column, code }) => [file, line, column, code])]).toEqual([
    422,
    [['forms/orders.js', 2, 2, 'script_timeout']],
  ])
})

test('scripts that use too much memory are reported, and the next upload works as usual', async () => {
  const { status, faults } = await upload('hungry', {
    ...FORM,
    'forms/orders.js': 'const all = []; for (;;) all.push(new Array(1000).fill(all.length))',
  })
  expect([status, faults.map(({ code }) => code)]).toEqual([422, [expect.stringMatching(/^script_(memory|crashed)$/)]])
  expect(await upload('hungry', FORM)).toEqual({ status: 201, faults: [] })
})
