import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readGuest } from '../../runtime/guest-source.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'solhost-guest-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/**
 * Builds a guest from these files, where the first one is the entry file. Calls its default export and returns the
 * result.
 */
function built(files: Readonly<Record<string, string>>): unknown {
  for (const [name, source] of Object.entries(files)) writeFileSync(join(folder, name), source)
  const source = readGuest(pathToFileURL(join(folder, Object.keys(files)[0] ?? '')))
  const build = new Function(`'use strict'; ${source.replace(/^export default /m, 'return ')}`)() as () => unknown
  return build()
}

test('guest files: a single file is read without its types', () => {
  expect(built({ 'guest.ts': 'export default function made(): number {\n  return 1 as number\n}\n' })).toBe(1)
})

test('guest files: functions, classes and constants can be imported from a file in the same folder, also under other names', () => {
  const part = 'export const one = 1\nexport function two() { return 2 }\nexport class Three { value = 3 }\n'
  const guest = `import { type Three as Kind, one, two as second, Three } from './part.guest.ts'
export default () => [one, second(), (new Three() as Kind).value]
`
  expect(built({ 'guest.ts': guest, 'part.guest.ts': part })).toEqual([1, 2, 3])
})

test('guest files: each file has its own scope for names', () => {
  const part = "const own = 'part'\nexport const told = own\n"
  const guest =
    "import { told } from './part.guest.js'\nconst own = 'guest'\nexport default function () { return [own, told] }"
  expect(built({ 'guest.js': guest, 'part.guest.js': part })).toEqual(['guest', 'part'])
})

test('guest files: a file that several others import runs once, before them', () => {
  const counter = 'export const counter = { runs: 0 }\ncounter.runs++\n'
  const part = "import {\n  counter,\n} from './counter.guest.ts'\nexport const seen = counter\n"
  const guest = `import { counter } from './counter.guest.ts'
import { seen } from './part.guest.ts'
export default () => [counter.runs, seen === counter]
`
  const files = { 'guest.ts': guest, 'part.guest.ts': part, 'counter.guest.ts': counter }
  expect(built(files)).toEqual([1, true])
})

test('guest files: any other import stays in the source, and fails to compile in the isolate', () => {
  expect(() =>
    built({ 'guest.ts': "import { readFileSync } from 'node:fs'\nexport default () => readFileSync\n" }),
  ).toThrow(SyntaxError)
})
