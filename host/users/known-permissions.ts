import { type PreparedSolution, permissionsOf } from '../../base/bundles/prepared-solution.ts'
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

type Store = { list(): Promise<readonly { readonly name: string }[]> }
type Active = { active(name: string): Promise<Pick<PreparedSolution, 'manifest' | 'modules'> | null> }

export async function knownPermissions(store: Store, catalog: Active): Promise<KnownPermissions> {
  const { names, solutions } = await readManifests(store, catalog)
  return { names: [...names].sort().slice(0, MOST_NAMES), solutions }
}

/** `isComplete` is false if a solution that was not read, or that lists no permissions, may use other names. */
async function readManifests(store: Store, catalog: Active) {
  const solutions = (await store.list()).map(({ name }) => name)
  const names = new Set([ADMINISTRATORS])
  let isComplete = solutions.length <= MOST_SOLUTIONS
  for (const name of solutions.slice(0, MOST_SOLUTIONS)) {
    const solution = await catalog.active(name)
    if (solution === null) continue
    const listed = permissionsOf(solution)
    if (listed === null && solution.manifest.authenticator !== 'NONE') isComplete = false
    for (const permission of listed ?? []) names.add(permission)
  }
  return { names, solutions, isComplete }
}

/** Maximum number of names in a warning. */
const MOST_UNLISTED = 10

/**
 * Returns the names that are probably mistakes, sorted, at most ten: those that no solution lists. If a solution may use
 * other names, only names with a comma are returned, because a comma is the wrong separator in a file.
 */
export async function unlistedPermissions(
  names: ReadonlySet<string>,
  store: Store,
  catalog: Active,
): Promise<readonly string[]> {
  if (names.size === 0) return []
  const { names: listed, isComplete } = await readManifests(store, catalog)
  const unlisted = [...names].filter((name) => !listed.has(name) && (isComplete || name.includes(',')))
  return unlisted.sort().slice(0, MOST_UNLISTED)
}
