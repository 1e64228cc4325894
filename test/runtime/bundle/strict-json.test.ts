import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeUtf8, parseStrictJson } from '../../../runtime/bundle/strict-json.ts'
import { propertyRuns } from '../../support/property-runs.ts'

function errorOf(text: string) {
  const result = parseStrictJson(text)
  if (!('error' in result)) throw new Error(`was accepted: ${text}`)
  return result.error
}

test('strict JSON: every JSON value is read as JSON.parse reads it', () => {
  const keys = fc.string({ unit: 'grapheme' }).filter((key) => !['__proto__', 'constructor', 'prototype'].includes(key))
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 6 },
      fc.jsonValue({ maxDepth: 0 }),
      fc.array(tie('any')),
      fc.dictionary(keys, tie('any')),
    ),
  })).any
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 2, '\t'), (any, space) => {
      const text = JSON.stringify(any, null, space)
      expect(parseStrictJson(text)).toEqual({ value: JSON.parse(text) })
    }),
  )
})

test('strict JSON: everything that JSON.parse rejects is rejected', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\ntu0123456789-+.eE \n\u0000é') }), (text) => {
      let accepted = true
      try {
        JSON.parse(text)
      } catch {
        accepted = false
      }
      if (!accepted) expect(parseStrictJson(text)).toHaveProperty('error')
    }),
    { numRuns: propertyRuns(2000) },
  )
})

test('strict JSON: with a maximum number of values, a text with more is rejected at the first value too many', () => {
  const text = '{"a": [1, {}],\n"b": "c"}'
  expect(parseStrictJson(text, undefined, 5)).toEqual({ value: JSON.parse(text) })
  expect(parseStrictJson(text, undefined, 4)).toEqual({
    error: { line: 2, column: 6, message: 'there are more than 4 values', isTooMany: true },
  })
})

test('strict JSON: objects have no prototype', () => {
  const { value } = parseStrictJson('{"a":{}}') as { value: { a: object } }
  expect([Object.getPrototypeOf(value), Object.getPrototypeOf(value.a)]).toEqual([null, null])
})

test('strict JSON: escapes, including surrogate pairs, become characters', () => {
  expect(parseStrictJson('"\\u0041\\n\\"\\\\\\/\\ud83d\\ude00"')).toEqual({ value: 'A\n"\\/😀' })
})

test.each([
  [
    'a duplicate key',
    '{\n  "a": 1,\n  "a": 2\n}',
    { line: 3, column: 3, message: 'the key "a" appears twice; remove or rename one' },
  ],
  [
    'a duplicate key written differently',
    '{"a":1,"\\u0061":2}',
    { line: 1, column: 8, message: 'the key "a" appears twice; remove or rename one' },
  ],
  [
    '__proto__',
    '{"__proto__":{}}',
    { line: 1, column: 2, message: 'the key "__proto__" is not allowed; use another name' },
  ],
  [
    '__proto__ written with escapes',
    '[{"\\u005f_proto__":{}}]',
    { line: 1, column: 3, message: 'the key "__proto__" is not allowed; use another name' },
  ],
  [
    'constructor',
    '{"constructor":1}',
    { line: 1, column: 2, message: 'the key "constructor" is not allowed; use another name' },
  ],
  [
    'prototype',
    '{"x":{"prototype":1}}',
    { line: 1, column: 7, message: 'the key "prototype" is not allowed; use another name' },
  ],
  ['a comment', '{} // x', { line: 1, column: 4, message: 'expected the end of the file, found "/"' }],
  ['a trailing comma', '[1,\r\n]', { line: 2, column: 1, message: 'expected a value, found "]"' }],
  [
    'a trailing comma in an object',
    '{"a":1,}',
    { line: 1, column: 8, message: 'expected a key in double quotes, found "}"' },
  ],
  ['single quotes', "{'a':1}", { line: 1, column: 2, message: 'expected a key in double quotes, found "\'"' }],
  ['an empty file', '', { line: 1, column: 1, message: 'expected a value, found the end of the file' }],
  [
    'a line break in a string',
    '"a\nb"',
    {
      line: 1,
      column: 3,
      message: 'the string contains a line break or control character; write it as an escape such as \\n',
    },
  ],
  ['a number that is too large', '1e999', { line: 1, column: 1, message: 'the number "1e999" is too large' }],
  ['a leading zero', '01', { line: 1, column: 1, message: '"01" is not a number' }],
  [
    'a byte order mark',
    '\ufeff{}',
    { line: 1, column: 1, message: 'the file starts with a byte order mark; save it as UTF-8 without one' },
  ],
  [
    '33 levels',
    '['.repeat(33),
    { line: 1, column: 33, message: 'objects and lists are nested more than 32 levels deep' },
  ],
])('strict JSON: %s is rejected with line and column', (_case, text, error) => {
  expect(errorOf(text)).toEqual(error)
})

test('strict JSON: 32 levels of nesting are accepted', () => {
  const text = `${'[{"a":'.repeat(16)}1${'}]'.repeat(16)}`
  expect(parseStrictJson(text)).toEqual({ value: JSON.parse(text) })
})

test('strict JSON: a million open brackets do not overflow the stack', () => {
  expect(errorOf('['.repeat(1_000_000)).column).toBe(33)
  expect(errorOf('{"a":'.repeat(1_000_000)).column).toBe(161)
})

test('strict JSON: a string of 1 MB is accepted', () => {
  const text = 'x'.repeat(1024 * 1024)
  expect(parseStrictJson(JSON.stringify(text))).toEqual({ value: text })
})

test('decodeUtf8: overlong encodings, surrogates and truncated characters are decoded to null', () => {
  const bytes = [[0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xff]]
  expect(bytes.map((each) => decodeUtf8(Uint8Array.from(each)))).toEqual([null, null, null, null])
})

test('decodeUtf8: a byte order mark is kept, so that it can be rejected', () => {
  expect(decodeUtf8(Uint8Array.from([0xef, 0xbb, 0xbf, 0x7b]))).toBe('\ufeff{')
})
