import { expect, test } from 'vitest'
import { adviceFor } from '../../base/bundles/advice.ts'
import { countText, findingsText } from '../../cli/findings-text.ts'
import { FAULT_CODES, WARNING_CODES } from '../../runtime/bundle/faults.ts'

const PLAIN = { styled: (_style: unknown, text: string) => text }

function shown(content: string, place: { line?: number; column?: number }, message = 'm'): string[] {
  const fault = { file: 'a.js', ...place, code: 'script_syntax', message }
  const text = findingsText({ faults: [fault], warnings: [] }, new Map([['a.js', Buffer.from(content)]]), PLAIN)
  return text.split('\n').slice(0, -3)
}

test('findings: the caret is below the column, even in a line with tabs and in a long line', () => {
  expect(shown('x\r\n\t\tlet a b\r\n', { line: 2, column: 9 })).toEqual([
    'a.js:2:9  error script_syntax  m',
    '    2 │   let a b',
    '      │         ^',
  ])
  const long = `${'a'.repeat(500)}!${'b'.repeat(500)}`
  const [, line = '', caret = ''] = shown(long, { line: 1, column: 501 })
  expect([line.length, line[caret.indexOf('^')]]).toEqual([108, '!'])
})

test('findings: a finding without a column is shown with its line only, and one without a valid line with its location only', () => {
  expect(shown('one', { line: 1 })).toEqual(['a.js:1  error script_syntax  m', '    1 │ one'])
  expect(shown('one', {})).toEqual(['a.js  error script_syntax  m'])
  expect(shown('one', { line: 7, column: 1 })).toEqual(['a.js:7:1  error script_syntax  m'])
})

test('findings: text in a file or message cannot move the cursor or change colors', () => {
  const evil = 'a\u001b[31mb\u009b2Jc\u202ed'
  const text = shown(evil, { line: 1, column: 1 }, evil).join('\n')
  expect(text).toContain('a�[31mb�2Jc�d')
  expect(text).not.toMatch(/[\u001b\u009b\u202e]/)
})

test('findings: a code from a newer host is shown without advice', () => {
  const one = { file: 'x.json', code: 'of_tomorrow', message: 'm' }
  expect(findingsText({ faults: [], warnings: [one] }, new Map(), PLAIN)).toBe('x.json  warning of_tomorrow  m\n\n')
  expect(countText({ faults: [], warnings: [one] })).toBe('0 errors, 1 warning')
  expect(adviceFor('constructor')).toBeNull()
})

test('findings: every error and warning code has advice, written as a sentence', () => {
  for (const code of [...Object.keys(FAULT_CODES), ...Object.keys(WARNING_CODES)]) {
    expect([code, adviceFor(code)]).toEqual([code, expect.stringMatching(/^[A-Z].*\.$/)])
  }
})
