import { expect, test } from 'vitest'
import { wouldLines } from '../../../host/drafts/would-lines.ts'

const textOf = (name: string, ...args: readonly (string | null | readonly string[])[]) =>
  wouldLines([{ name, args }])[0]?.text

test('each command is described by the effect that it would have on a host', () => {
  expect(textOf('security.login', 'anna', 'a-1', ['Users', 'Sales'])).toBe('would sign in anna with Users, Sales')
  expect(textOf('i18n.setLocale', 'nl', 'BE')).toBe('would set the language to nl-BE')
  expect(textOf('i18n.setLocale', 'nl', null)).toBe('would set the language to nl')
  expect(textOf('application.showURL', 'https://example.org/', null)).toBe('would open https://example.org/')
  expect(textOf('jobs.enqueue', 'mail')).toBe('would queue mail')
})

test('a command of a plugin that is not described is named; long arguments are truncated in the text only', () => {
  expect(wouldLines([{ name: 'toString', args: [] }])).toEqual([
    { command: 'toString', args: [], text: 'would call toString' },
  ])
  const [line] = wouldLines([{ name: 'application.showForm', args: ['x'.repeat(1000)] }])
  expect([line?.text.length, String(line?.args[0]).length]).toEqual(['would show the form '.length + 201, 1000])
})
