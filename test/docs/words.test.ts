import { expect, test } from 'vitest'
import { findingsOf, PHRASES } from '../../docs/words/phrases.ts'
import { textsOf } from '../../docs/words/texts.ts'

const summary = (file: string, source: string) =>
  textsOf(file, source).map(({ kind, line, text }) => [kind, line, text])

test('the comments in a source file are checked, with their lines joined and without code in backticks', () => {
  const source = `// The first line
// continues here.
/**
 * Returns \`faults\`
 * of a form.
 */
export const a = 1 // after code
`
  expect(summary('host/x.ts', source)).toEqual([
    ['comment', 1, 'The first line continues here.'],
    ['comment', 3, 'Returns `…` of a form.'],
    ['comment', 7, 'after code'],
  ])
})

test('strings of several words are checked as messages, without the inserted values', () => {
  const source = [
    "import { a } from './no message of ours'",
    "const b = 'one-word'",
    'throw new Error(`Port $' + '{port} is already in use.`)',
  ].join('\n')
  expect(summary('host/x.ts', source)).toEqual([['message', 3, 'Port {…} is already in use.']])
})

test('strings that + joins are one message; strings in their expressions are others', () => {
  const source = [
    "fail('Cannot read the file ' + file + '. ' +",
    '  `Give $' + "{isRoot ? 'the user who started it' : name} access.`)",
  ].join('\n')
  expect(summary('host/x.ts', source)).toEqual([
    ['message', 1, 'Cannot read the file {…}. Give {…} access.'],
    ['message', 2, 'the user who started it'],
  ])
})

test('SQL, HTML and JavaScript in strings are not messages', () => {
  const code = [
    'select id from users',
    '<p class="{…}">no message</p>',
    '(function () { return 1 })',
    'a => { return b }',
  ]
  const source = [...code, 'Select a user from the list.'].map((text) => `show(${JSON.stringify(text)})`).join('\n')
  expect(summary('host/x.ts', source)).toEqual([['message', 5, 'Select a user from the list.']])
})

test('test names are checked; other strings in a test are not', () => {
  const source = `describe('a group of tests', () => {
  test.for([1])('refuses the second request', () => {
    expect(answer).toBe('some text of a page')
  })
})
`
  expect(summary('test/x.test.ts', source)).toEqual([
    ['test', 1, 'a group of tests'],
    ['test', 2, 'refuses the second request'],
  ])
})

test('paragraphs, list items and table cells in docs are checked; code and URLs are not', () => {
  const source = `# Title

A paragraph
on two lines with [a link](goes-on.md).

- one item
- \`code\` of an item

| a cell | another |
|---|---|

\`\`\`sh
echo goes on
\`\`\`
`
  expect(summary('docs/x.md', source)).toEqual([
    ['docs', 1, 'Title'],
    ['docs', 3, 'A paragraph on two lines with [a link].'],
    ['docs', 6, 'one item'],
    ['docs', 7, '`…` of an item'],
    ['docs', 9, 'a cell'],
    ['docs', 9, 'another'],
  ])
})

test('UI strings, and comments in style sheets, templates and configuration files are checked', () => {
  expect(summary('host/texts/users/en.json', '{\n  "users.add": "Add \\"a\\" user"\n}\n')).toEqual([
    ['ui', 2, 'Add "a" user'],
  ])
  expect(summary('a.css', 'p { }\n/* Two\n   lines */')).toEqual([['comment', 2, 'Two lines']])
  expect(summary('a.eta', '<%/* A card. */%>\n<p></p>')).toEqual([['comment', 1, 'A card.']])
  expect(summary('a.yaml', '# Two\n# lines\na: 1')).toEqual([['comment', 1, 'Two lines']])
})

test('a phrase is reported with its location and what to write instead', () => {
  const [text] = textsOf('host/x.ts', '\n// The host goes on without it.')
  expect(text && findingsOf([text], PHRASES, [])).toEqual([
    'host/x.ts:2: "…The host goes on without it.…". Instead of "goes on", write: continues; keeps running.',
  ])
})

test('an exception allows a phrase in one place, and is reported if it is no longer needed', () => {
  const texts = textsOf('host/x.ts', '// The light goes on.')
  const exception = { file: 'host/x.ts', text: 'light goes on', reason: 'of a lamp' }
  expect(findingsOf(texts, PHRASES, [exception])).toEqual([])
  expect(findingsOf(textsOf('host/x.ts', ''), PHRASES, [exception])).toEqual([
    'docs/words/phrases.ts: "light goes on" is not in host/x.ts. Remove the exception.',
  ])
})

test.for([
  ['Whoever has the token', true],
  ['Who may sign in?', false],
  ['There is no user of that name', false],
  ['This is no user', true],
  ['is no longer valid', false],
  ['Both start at once', true],
] as const)('%s', ([text, isFound]) => {
  expect(findingsOf([{ kind: 'ui', file: 'a', line: 1, text }], PHRASES, []).length > 0).toBe(isFound)
})
