import { expect, test } from 'vitest'
import { findJsonStrings, findStrings } from '../../../runtime/template/script-strings.ts'

function strings(script: string, isModule = false): string[] {
  return findStrings(script, isModule).map(({ start, end }) => script.slice(start, end))
}

test.each([
  [`'a' + "b" + \`c\``, ['a', 'b', 'c']],
  [
    String.raw`'a\'b' + "\\" + "c\
d"`,
    [String.raw`a\'b`, String.raw`\\`, 'c\\\nd'],
  ],
  ["// 'a'\n/* 'b' */ 'c'", ['c']],
  ["<!-- 'a'\n'b'\n --> 'c'\n'd'", ['b', 'd']],
  ["x --> 'a'", ['a']],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a script
  ['`a${ `b${"c"}d` + {e: {}}.e }f`', ['a', 'b', 'c', 'd', 'f']],
  ['`a$b$${1}`', ['a$b$', '']],
  ["a = /'/; 'b'", ['b']],
  ["f(/[/']/g, 'b')", ['b']],
  ["return /'/.test('a')", ['a']],
  ["x.return /'a'/ 2", ['a']],
  ["a / 'b' / 'c'", ['b', 'c']],
  ["(a) / 2 + '/'", ['/']],
  ["a[0] / 2 + '/'", ['/']],
  ["1. / 2 + '/'", ['/']],
  ["if (a) /'/.test('b')", ['b']],
  ["x.if(a) /'b'", ['b']],
  ["} /a/.test('b')", ['b']],
  ["i++ / 2; 'b'", ['b']],
  ["%%a%%; 'b'", ['b']],
  ["#! 'a'\n'b'", ['b']],
] as const)('findStrings: it finds the string literals in %s', (script, found) => {
  expect(strings(script)).toEqual(found)
})

test.each([
  ["'a'; } /'/ ; 'b'", ['a']],
  ["'a'; i++ /'/ ; 'b'", ['a']],
  ["'a'; x%%y%% ; 'b'", ['a']],
  ["'a'; %%y%% /'/; 'b'", ['a']],
  ["'a'; 'b\n'; 'c'", ['a']],
  ["'a'; `b${", ['a', 'b']],
  ["'a'; /* 'b'", ['a']],
  ["'a'; = /b\n'c'", ['a']],
] as const)('findStrings: it stops where %s becomes ambiguous', (script, found) => {
  expect(strings(script)).toEqual(found)
})

test('findStrings: a module with an HTML-like comment is not read', () => {
  expect(strings("<!-- a\n'b'", true)).toEqual([])
  expect(strings("'b'", true)).toEqual(['b'])
})

test('findJsonStrings: keys and values are found up to an unterminated string', () => {
  const json = String.raw`{"a": "b\"c", "d`
  expect(findJsonStrings(json).map(({ start, end }) => json.slice(start, end))).toEqual(['a', String.raw`b\"c`])
})
