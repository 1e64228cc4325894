import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { programFile } from '../../runtime/program-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'solhost-program-'))
const built: string[] = []
afterAll(() => {
  for (const path of [folder, ...built]) rmSync(path, { recursive: true, force: true })
})

function program(name: string, files: Readonly<Record<string, string>>): URL {
  mkdirSync(join(folder, name), { recursive: true })
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, name, file), text)
  return pathToFileURL(join(folder, name, 'main.ts'))
}

function build(main: URL): string {
  const file = programFile(main)
  built.push(dirname(file))
  return file
}

const MAIN = "import { said } from './said.ts'\nconst text: string = said\nconsole.log(text)"

test('program: it runs from its own folder, without types, and is built once', () => {
  const main = program('one', { 'main.ts': MAIN, 'said.ts': "export const said: string = 'well'" })
  const file = build(main)
  rmSync(join(folder, 'one'), { recursive: true })
  expect(programFile(main)).toBe(file)
  expect(spawnSync(process.execPath, [file], { encoding: 'utf8' }).stdout).toBe('well\n')
})

test('program: a change in an imported file causes a new build', () => {
  const one = build(program('first/x', { 'main.ts': MAIN, 'said.ts': "export const said = 'a'" }))
  const two = build(program('second/x', { 'main.ts': MAIN, 'said.ts': "export const said = 'b'" }))
  expect(two).not.toBe(one)
})

test('program: a build failure is an error that says why and what to do', () => {
  const main = program('broken', { 'main.ts': "import './missing.ts'" })
  expect(() => programFile(main)).toThrow(
    /^the program broken-\w+ cannot be built: .*missing\.ts.* Next: run "npm run build" in /s,
  )
})
