import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { withoutTypes } from '../../runtime/without-types.ts'

const FOLDER = fileURLToPath(new URL('../../build/plain/', import.meta.url))

test('types: they are stripped from each of the project’s own scripts only once, and the result is reused', () => {
  const source = `const id: string = '${randomUUID()}'`
  const plain = withoutTypes(source)
  expect(plain).toBe(source.replace(': string', '        '))
  const file = readdirSync(FOLDER).find((name) => readFileSync(FOLDER + name, 'utf8') === plain) ?? ''
  writeFileSync(FOLDER + file, 'read from there')
  expect(withoutTypes(source)).toBe('read from there')
  rmSync(FOLDER + file)
  expect(withoutTypes(source)).toBe(plain)
  rmSync(FOLDER + file)
})
