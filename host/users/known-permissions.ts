import { permissionsOf } from '../../base/bundles/prepared-solution.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { ADMINISTRATORS } from './users-for-scripts.ts'

/** What a person is offered where permissions are given; others can be typed. */
export type KnownPermissions = {
  /** Those that solutions list in their manifests, and the one that the platform itself asks for. */
  readonly names: readonly string[]
  /** The solutions that a permission can be for. */
  readonly solutions: readonly string[]
}

/** Solutions whose manifests are looked at: each is read from the database where it is not in use. */
const MOST_SOLUTIONS = 100
const MOST_NAMES = 1_000

export async function knownPermissions(
  store: Pick<SolutionStore, 'list'>,
  catalog: Pick<Catalog, 'active'>,
): Promise<KnownPermissions> {
  const solutions = (await store.list()).map(({ name }) => name)
  const names = new Set([ADMINISTRATORS])
  for (const name of solutions.slice(0, MOST_SOLUTIONS)) {
    const solution = await catalog.active(name)
    for (const permission of (solution && permissionsOf(solution)) ?? []) names.add(permission)
  }
  return { names: [...names].sort().slice(0, MOST_NAMES), solutions }
}
