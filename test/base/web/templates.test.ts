import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Eta } from 'eta/core'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const files = globSync('{base,host,control-center}/**/*.eta', { cwd: ROOT })

test('templates: there are some', () => {
  expect(files.length).toBeGreaterThan(50)
})

// A running host compiles a template only when it is first rendered.
test.each(files)('templates: %s has a valid syntax', (file) => {
  expect(() => new Eta().compile(readFileSync(`${ROOT}${file}`, 'utf8'))).not.toThrow()
})
