import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { membersIn, readCompletions } from '../../../host/workbench/completions.ts'

const { members, manifest, form } = readCompletions()
const namesOf = (owner: string) => members[owner]?.map(({ label }) => label)

test('completions: every global that the plugins declare is offered', () => {
  const plugins = new URL('../../../plugins/', import.meta.url)
  const files = readdirSync(plugins, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('api.d.ts'))
  const declared = files.flatMap((file) => [
    ...readFileSync(new URL(file, plugins), 'utf8').matchAll(/^declare (?:const|let|var) (\w+)/gm),
  ])
  expect(declared.length).toBeGreaterThan(8)
  expect(namesOf('')?.toSorted()).toEqual([...new Set(declared.map(([, name]) => name))].sort())
})

test('completions: members have their signatures and doc comments', () => {
  expect(members.security?.find(({ label }) => label === 'hasPermission')).toEqual({
    label: 'hasPermission',
    type: 'function',
    detail: '(name: string): boolean',
    info: 'Whether the user signed in with this permission. false if no user is signed in.',
  })
  expect(namesOf('plugins')).toEqual(['database', 'http', 'jobs'])
  expect(namesOf('plugins.http')).toEqual(['fetch', 'answer'])
  expect(namesOf('plugins.database')).toContain('query')
  expect(namesOf('LOGGINGLEVEL')).toContain('WARNING')
})

test('completions: members of types and of return values are not offered for globals', () => {
  const text = `interface Row {
  readonly id: string
}

/** A table. */
declare const table: {
  /** Finds a row. */
  find(id: string): {
    readonly inside: string
  }
  all(
    from: number,
  ): Row[]
}
`
  expect(membersIn([text])).toEqual({
    '': [{ label: 'table', type: 'variable', detail: '', info: 'A table.' }],
    table: [
      { label: 'find', type: 'function', detail: '', info: 'Finds a row.' },
      { label: 'all', type: 'function', detail: '(…)', info: '' },
    ],
  })
})

test('completions: the schemas are the same as in editors', () => {
  expect(Object.keys((manifest as { properties: object }).properties)).toContain('firstForm')
  expect(form).toHaveProperty('type')
})
