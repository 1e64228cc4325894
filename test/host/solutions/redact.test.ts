import { expect, test, vi } from 'vitest'
import { createRedact, secretFields } from '../../../host/solutions/redact.ts'

const redactWith = (fields: Record<string, string>) => createRedact(secretFields(new Map(Object.entries(fields))))

test('redact: the longest value is replaced first, in every encoding, and an empty one changes nothing', () => {
  const redact = redactWith({ password: 'a b', custom_x: 'a b c', custom_empty: '', username: 'anna' })
  expect(redact('a b c|a b|a%20b|a+b|anna')).toBe('[custom_x]|[password]|[password]|[password]|anna')
})

test('redact: a value of one or two characters is replaced only as a separate word', () => {
  const redact = redactWith({ custom_site: '1', password: 'x' })
  expect(redact('text 127.0.0.1:8080, site 1, x')).toBe(
    'text 127.0.0.[custom_site]:8080, site [custom_site], [password]',
  )
})

test('redact: replacements are not scanned again, and special characters in names have no effect', () => {
  const redact = redactWith({ custom_a: 'uuu', custom_b: 'custom_a', 'custom_$&': 'secret', custom_$1: '4711' })
  expect(redact('uuu secret 4711')).toBe('[custom_a] [custom_??] [custom_?1]')
})

test('redact: many short values with long names cannot make a line grow without limit', () => {
  const fields = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`custom_${'a'.repeat(3000)}${n}`, 'aaa']))
  expect(redactWith(fields)('a'.repeat(8192)).length).toBe(10_000)
})

test.each([
  ['letters', 'a'.repeat(60_000)],
  ['quotes', '"'.repeat(40_000)],
  ['surrogate pairs', `x${'\u{1f600}'.repeat(30_000)}`],
])('redact: a very long value is replaced together with the rest of the text: %s', (_what, password) => {
  const redact = redactWith({ password, custom_x: 'abc' })
  for (const written of [password, JSON.stringify(password), encodeURIComponent(password)]) {
    expect(redact(`abc is wrong: ${written} abc`)).toMatch(/^\[custom_x\] is wrong: "?\[password\]$/)
  }
  expect(redact('sign-in of anna, abc')).toBe('sign-in of anna, [custom_x]')
})

test('redact: a text that contains only the start of a very long value is replaced too', () => {
  const start = 'a'.repeat(9_999)
  expect(redactWith({ custom_x: `${start}\u{1f600}${start}` })(`${start}bc`)).toBe('[custom_x]')
})

test('redact: a pattern is compiled only for the values that the text contains, because compiling takes long', () => {
  const sizes: number[] = []
  class Counted extends RegExp {
    constructor(pattern: string, flags: string) {
      super(pattern, flags)
      sizes.push(pattern.length)
    }
  }
  const fields = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`custom_${n}`, `${n}-${'x '.repeat(150)}`]))
  const redact = redactWith(fields)
  vi.stubGlobal('RegExp', Counted)
  try {
    expect(redact('nothing secret')).toBe('nothing secret')
    expect(redact(`before ${fields.custom_107}, ${fields.custom_42}`)).toBe('before [custom_107], [custom_42]')
  } finally {
    vi.unstubAllGlobals()
  }
  expect(sizes).toEqual([expect.any(Number)])
  expect(sizes[0]).toBeLessThan(5000)
})
