import { expect, test } from 'vitest'
import { wordsOf } from '../../control-center/telemetry/log-search/words.ts'

test('words of a log line: case and accents are removed', () => {
  expect(wordsOf('Das CAFÉ ist zu: 10.0.0.7')).toEqual(['das', 'cafe', 'ist', 'zu', '10', '0', '7'])
})

test('words of a log line: if each character expands to 18, text is indexed only up to three times its length', () => {
  // Each ligature expands to 18 characters, so 1000 of them exceed the limit. The word after them is not indexed.
  expect(wordsOf(`${'\ufdfa'.repeat(1000)} needle`)).not.toContain('needle')
  expect(wordsOf(`${'\ufdfa'.repeat(100)} needle ${' .'.repeat(1000)}`)).toContain('needle')
})

test('words of a log line: Korean, whose syllables expand to three letters each, is indexed completely', () => {
  expect(wordsOf(`${'각 '.repeat(2000)}needle`)).toContain('needle')
})

test.each([255, 256, 257, 511, 512])(
  'words of a log line: a word that begins at character %i is indexed as one word',
  (start) => {
    const word = '\u{1d4d0}\u{1d4d1}é\u{1d4d2}'
    expect(wordsOf(`${'.'.repeat(start)}${word}`)).toEqual(['abec'])
    expect(wordsOf(`${'.'.repeat(start - 1)}${word}`)).toEqual(['abec'])
  },
)
