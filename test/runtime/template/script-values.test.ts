import { expect, test } from 'vitest'
import { readScript, scriptKind } from '../../../runtime/template/script-values.ts'

const X = { from: 'json', name: 'x' } as const

test('scriptKind: types are distinguished as in a browser', () => {
  const kind = (type: string | null, language: string | null = null) => scriptKind(type, language)
  expect([null, '', 'text/javascript', ' Application/ECMAScript '].map((type) => kind(type))).toEqual(
    Array(4).fill('classic'),
  )
  expect(kind('Module')).toBe('module')
  expect(kind('application/json')).toBe('json')
  expect(
    ['importmap', 'application/ld+json', 'text/template', 'text/javascript;charset=utf-8', ' '].map((t) => kind(t)),
  ).toEqual(Array(5).fill('data'))
  expect([kind(null, 'JavaScript'), kind(null, 'vbscript')]).toEqual(['classic', 'data'])
})

test('readScript: text next to a value in a string cannot combine with it into a tag, an escape or a substitution', () => {
  const pieces = (script: string) => readScript(script, 'classic').pieces
  expect(pieces("'</%%x%%'")).toEqual(["'", '\\u003c/', X, "'"])
  expect(pieces("'\\<!-%%x%%->'")).toEqual(["'", '\\u003c!-', X, '-\\u003e', "'"])
  expect(pieces('`$%%x%%{`')).toEqual(['`', '\\u0024', X, '{', '`'])
  expect(pieces("'\\%%x%%'")).toEqual(["'", X, "'"])
  expect(pieces("'\\\\%%x%%'")).toEqual(["'", '\\\\', X, "'"])
})

test.each(["'\\u00%%x%%'", "'\\x4%%x%%'", "'\\u{4%%x%%}'", "'\\0%%x%%'"])(
  'readScript: the value in %s stays empty, because it would be part of an escape sequence',
  (script) => {
    expect(readScript(script, 'classic').emptied.map(({ text }) => text)).toEqual(['%%x%%'])
  },
)

test('readScript: an empty placeholder in code does not turn its neighbours into a comment', () => {
  expect(readScript('/%%x%%/', 'classic').pieces).toEqual(['/', ' ', '/'])
  expect(readScript('a = %%x%%;', 'classic').pieces).toEqual(['a = ', ';'])
})
