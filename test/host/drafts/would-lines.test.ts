import { expect, test } from 'vitest'
import { wouldLines } from '../../../host/drafts/would-lines.ts'
import type { Json } from '../../../runtime/plugin.ts'

const textOf = (name: string, ...args: readonly Json[]) => wouldLines([{ name, args }])[0]?.text

test('each command is described by the effect that it would have on a host', () => {
  expect(textOf('security.login', 'anna', 'a-1', ['Users', 'Sales'])).toBe('would sign in anna with Users, Sales')
  expect(textOf('i18n.setLocale', 'nl', 'BE')).toBe('would set the language to nl-BE')
  expect(textOf('i18n.setLocale', 'nl', null)).toBe('would set the language to nl')
  expect(textOf('application.showURL', 'https://example.org/', null)).toBe('would open https://example.org/')
  const run = { id: 'r-1', job: 'mail', data: null, after: null, at: null, key: null, tenant: null }
  expect(textOf('jobs.enqueue', run)).toBe('would queue mail')
  expect(textOf('jobs.enqueue', { ...run, data: '{"to":"anna"}', after: 60_000, tenant: ['acme', 7] })).toBe(
    'would queue mail with {"to":"anna"} in 60000 ms for the tenant acme, 7',
  )
  expect(textOf('jobs.enqueue', { ...run, at: 86_400_000 })).toBe('would queue mail at 1970-01-02T00:00:00.000Z')
})

test('a command of a plugin that is not described is named; long arguments are truncated in the text only', () => {
  expect(wouldLines([{ name: 'toString', args: [] }])).toEqual([
    { command: 'toString', args: [], text: 'would call toString' },
  ])
  const [line] = wouldLines([{ name: 'application.showForm', args: ['x'.repeat(1000)] }])
  expect([line?.text.length, String(line?.args[0]).length]).toEqual(['would show the form '.length + 201, 1000])
})
