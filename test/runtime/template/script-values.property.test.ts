import { parse } from 'acorn'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readScript } from '../../../runtime/template/script-values.ts'
import { propertyRuns } from '../../support/property-runs.ts'

/** Statements and fragments that could make a careless parser confuse code with strings. */
const SCRAPS = [
  ...[
    'a = "%%v%%"',
    "b = '%%v%%'",
    'c = `%%v%%`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a script
    'd = `${"%%v%%"}%%v%%${`%%v%%${{}}`}`',
    'e = "\\%%v%%"',
    '`$%%v%%{`',
  ],
  ...[
    'if (a) /"/.test(b)',
    'while (0) /[/"]/g',
    'x = (a) / 2',
    "y = a / b / '%%v%%'",
    '{} /"/',
    'i++ / 2',
    'i++',
    "/'/i",
  ],
  ...['// "%%v%%\n', "/* ' %%v%% */", '<!-- "\n', '\n--> "\n', 'return /`/', 'z = {a: 1} / "%%v%%"', 'a[0] / "%%v%%"'],
  ...[
    '%%v%%',
    '/%%v%%/',
    '"\\u00%%v%%41"',
    'async () => await /"/',
    'for (a of /"/) b',
    'x.of / "%%v%%"',
    "''",
    '""',
    '``',
  ],
  ...[
    ';',
    '\n',
    ';',
    '\n',
    ' ',
    '(',
    ')',
    '{',
    '}',
    '[',
    ']',
    '/',
    '+',
    ',',
    '!',
    '%',
    '=>',
    '?',
    ':',
    '"',
    "'",
    '`',
    '\\',
  ],
]

test('readScript: a value changes only the content of string literals, in any script', () => {
  const script = fc.array(fc.constantFrom(...SCRAPS), { maxLength: 8 }).map((scraps) => scraps.join(''))
  let read = 0
  fc.assert(
    fc.property(script, fc.constantFrom('classic', 'module'), (text, kind) => {
      const { pieces } = readScript(text, kind)
      const filled = (value: string) => pieces.map((piece) => (typeof piece === 'string' ? piece : value)).join('')
      const tokens = tokensOf(filled(''), kind)
      if (tokens === null) return
      read++
      for (const value of ['x1', '1', '\\u0061']) expect(tokensOf(filled(value), kind)).toBe(tokens)
    }),
    { numRuns: propertyRuns(20_000), seed: 20_260_101 },
  )
  expect(read).toBeGreaterThan(propertyRuns(2000))
})

/**
 * Parses a script.
 * @returns the kinds of its tokens; null if it has a syntax error, so no browser would run it
 */
function tokensOf(script: string, kind: 'classic' | 'module'): string | null {
  const labels: string[] = []
  try {
    parse(script, {
      ecmaVersion: 'latest',
      sourceType: kind === 'module' ? 'module' : 'script',
      allowReturnOutsideFunction: true,
      onToken: ({ type }) => labels.push(type.label),
    })
    return labels.join(' ')
  } catch {
    return null
  }
}
