import { permissionsOf } from '../../base/bundles/prepared-solution.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { ADMINISTRATORS } from './users-for-scripts.ts'

/** Suggestions for the permission fields of the admin pages; other values can be typed. */
export type KnownPermissions = {
  /** Permissions listed in the manifests of solutions, and the permission that the platform itself checks. */
  readonly names: readonly string[]
  /** Solutions that a permission can be restricted to. */
  readonly solutions: readonly string[]
}

/**
 * Maximum number of manifests to read. It is limited because inactive solutions' manifests are read from the database.
 */
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
