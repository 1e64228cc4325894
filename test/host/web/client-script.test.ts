import { readdirSync, readFileSync } from 'node:fs'
import { Script } from 'node:vm'
import { expect, test } from 'vitest'
import { makeClientScript } from '../../../host/web/client-script.ts'

const FOLDER = new URL('../../../host/web/client/', import.meta.url)
const { text, hash } = makeClientScript()

test('client script: it is one script without imports, exports and types', () => {
  expect(() => new Script(text)).not.toThrow()
  expect(text).not.toMatch(/^(import|export) /m)
  expect(text).not.toMatch(/\binterface \w+ \{/)
})

test('client script: no name stands at the top of two of its modules', () => {
  const names = readdirSync(FOLDER)
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [
      ...readFileSync(new URL(file, FOLDER), 'utf8').matchAll(
        /^(?:export )?(?:async )?(?:function|const|let|class) (\w+)/gm,
      ),
    ])
    .map(([, name]) => name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  expect(names.length).toBeGreaterThan(30)
})

test('client script: every module is in it, but for one of types alone', () => {
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.ts'))) {
    const [, name] = /^(?:export )?(?:async )?function (\w+)/m.exec(readFileSync(new URL(file, FOLDER), 'utf8')) ?? []
    if (file !== 'line.ts') expect([file, text.includes(`function ${name}(`)]).toEqual([file, true])
  }
})

test('client script: needs nothing that the Content-Security-Policy forbids', () => {
  expect(text).not.toMatch(/\beval\(|new Function\(|\.innerHTML\s*=|insertAdjacentHTML|document\.write/)
  expect(text).not.toContain('</script')
})

test('client script: its hash names the text, and it is small', () => {
  expect(hash).toMatch(/^[\w-]{22}$/)
  expect(makeClientScript()).toEqual({ text, hash })
  expect(text.length).toBeLessThan(50_000)
})
