import { expect, test } from 'vitest'
import { jsonText, printable, printableJson } from '../../../base/terminal/terminal.ts'

const EVIL = 'a\u001b[31mred\u009b2J\u007f\b\r\u202eback\u061c "quoted" \\u001b \\ \ud800 line\n\ttab'

test('terminal: a text keeps its lines and tabs, but no control characters', () => {
  expect(printable(EVIL)).toBe('a�[31mred�2J����back� "quoted" \\u001b \\ \ud800 line\n\ttab')
  expect(printable('one\r\ntwo')).toBe('one\ntwo')
})

test('terminal: a line of JSON stays valid JSON after its control characters are replaced', () => {
  const line = printableJson(`${JSON.stringify({ message: EVIL })}\n`)
  expect(JSON.parse(line)).toEqual({ message: printable(EVIL) })
  expect(line.endsWith('}\n')).toBe(true)
})

test('terminal: JSON for machines contains every character, with control characters escaped', () => {
  for (const text of [jsonText({ message: EVIL }), jsonText({ message: EVIL }, true)]) {
    expect(JSON.parse(text)).toEqual({ message: EVIL })
    expect(printable(text)).toBe(text)
  }
  expect(jsonText({ a: [1] }, true)).toBe('{"a":[1]}\n')
  expect(jsonText({ a: 1 })).toBe('{\n  "a": 1\n}\n')
})
