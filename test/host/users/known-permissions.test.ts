import { expect, test } from 'vitest'
import { unlistedPermissions } from '../../../host/users/known-permissions.ts'
import { manifestOf } from '../../support/solutions.ts'

const NAMES = new Set(['Users', 'Sales', 'Administrators', 'Users,Sales'])

/** Compares `NAMES` with these solutions' manifests. */
function unlisted(...manifests: Record<string, unknown>[]): Promise<readonly string[]> {
  const solutions = new Map(
    manifests.map((written, index) => [`s${index}`, { manifest: manifestOf(written), modules: [] }]),
  )
  const store = { list: async () => [...solutions.keys(), 'inactive'].map((name) => ({ name })) }
  return unlistedPermissions(NAMES, store, { active: async (name) => solutions.get(name) ?? null })
}

test('permissions: names that no solution lists are returned, sorted; a solution without sign-in needs no list', async () => {
  expect(await unlisted({ permissions: ['Users'] }, { authenticator: 'NONE' })).toEqual(['Sales', 'Users,Sales'])
})

test('permissions: if a solution lists none, other names may be right, but not those with a comma', async () => {
  expect(await unlisted({ permissions: ['Users'] }, {})).toEqual(['Users,Sales'])
  expect(await unlisted({ permissions: ['Users,Sales'] }, {})).toEqual([])
})

test('permissions: ten unlisted names are returned, and the host does not read manifests if there are no names', async () => {
  const names = new Set(Array.from({ length: 30 }, (_, index) => `p${index}`))
  const store = { list: async () => [{ name: 'crm' }] }
  const active = async () => ({ manifest: manifestOf({ permissions: ['Users'] }), modules: [] })
  expect(await unlistedPermissions(names, store, { active })).toHaveLength(10)
  const list = () => Promise.reject(new Error('not expected'))
  expect(await unlistedPermissions(new Set(), { list }, { active })).toEqual([])
})
