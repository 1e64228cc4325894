import { expect, test } from 'vitest'
import type { PreparedSolution } from '../../../base/bundles/prepared-solution.ts'
import { createCatalog } from '../../../host/solutions/catalog.ts'
import type { SolutionStore } from '../../../host/solutions/solution-store.ts'
import type { Supervisor } from '../../../runtime/supervisor.ts'
import { manifestOf } from '../../support/solutions.ts'

const prepared = (version: string) =>
  ({ manifest: manifestOf({ version }), modules: [], forms: [], texts: {} }) as unknown as PreparedSolution

/** A store whose reads don't finish until the test calls `letRead`. */
function slowStore() {
  const state = { active: 'one' as string | null }
  const waiting: (() => void)[] = []
  const store = {
    get: async () => (state.active === null ? null : { active: state.active }),
    activeSha256: async () => state.active,
    prepared: (_name: string, sha256: string) =>
      new Promise((resolve) =>
        waiting.push(() => resolve({ prepared: prepared(sha256 === 'one' ? '1.0.0' : '2.0.0'), size: 1 })),
      ),
  } as unknown as SolutionStore
  return { state, store, letRead: () => waiting.splice(0).forEach((go) => void go()), reads: () => waiting.length }
}

const supervisor = { retire: () => {} } as unknown as Supervisor
const settled = () => new Promise((resolve) => setTimeout(resolve, 5))

test('catalog: simultaneous requests share one read', async () => {
  const { store, letRead, reads } = slowStore()
  const catalog = createCatalog(store, supervisor, (() => ({})) as never)
  const asked = [catalog.active('probe'), catalog.active('probe'), catalog.active('probe')]
  await settled()
  expect(reads()).toBe(1)
  letRead()
  expect((await Promise.all(asked)).map((one) => one?.facts.version)).toEqual(['1.0.0', '1.0.0', '1.0.0'])
})

test('catalog: a value that changed while it was being read is not cached', async () => {
  const { state, store, letRead } = slowStore()
  const catalog = createCatalog(store, supervisor, (() => ({})) as never)
  const early = catalog.active('probe')
  await settled()
  state.active = 'two'
  catalog.changed('probe')
  letRead()
  await early
  const late = catalog.active('probe')
  await settled()
  letRead()
  expect((await late)?.facts.version).toBe('2.0.0')
  state.active = null
  catalog.changed('probe')
  expect(await catalog.active('probe')).toBeNull()
})

test('catalog: if the clock is set back, a version that another host activated is found immediately', async () => {
  const { state, store, letRead } = slowStore()
  let time = 1_000_000
  const catalog = createCatalog(store, supervisor, (() => ({})) as never, () => time)
  const versionOf = async () => {
    const found = catalog.active('probe')
    await settled()
    letRead()
    return (await found)?.facts.version
  }
  expect(await versionOf()).toBe('1.0.0')
  state.active = 'two'
  expect(await versionOf()).toBe('1.0.0')
  time -= 60_000
  expect(await versionOf()).toBe('2.0.0')
})
