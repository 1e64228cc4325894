import { PlatformError } from '../../runtime/errors.ts'
import type { SolutionFacts } from '../../runtime/plugin.ts'
import type { Loadable, Supervisor } from '../../runtime/supervisor.ts'
import type { PreparedSolution } from './prepared-solution.ts'
import type { SandboxSolutionMaker } from './sandbox-solution.ts'
import type { SolutionStore } from './solution-store.ts'

/** The active version of a solution, ready to answer requests. */
export type ActiveSolution = PreparedSolution & {
  readonly name: string
  readonly title: string
  readonly facts: SolutionFacts
  /** What the supervisor needs to run its scripts. */
  readonly loadable: Loadable
}

/** The solutions that requests are answered with. Uploads change it through `changed`. */
export interface Catalog {
  /** The active version, or null when there is no such solution or none of its versions is active. */
  active(name: string): Promise<ActiveSolution | null>
  /** @throws ERR_SOLUTION_NOT_FOUND */
  need(name: string): Promise<ActiveSolution>
  /** Must be called after each change of a solution; open calls finish on their version. */
  changed(name: string): void
}

/** Prepared solutions kept in memory; an idle one costs its row in the database and nothing else. */
const KEPT = 50

export function createCatalog(
  store: SolutionStore,
  supervisor: Supervisor,
  makeSandboxSolution: SandboxSolutionMaker,
): Catalog {
  /** In the order of use, the longest unused first. */
  const kept = new Map<string, ActiveSolution>()

  async function load(name: string): Promise<ActiveSolution | null> {
    const summary = await store.get(name)
    const sha256 = summary?.active ?? null
    const prepared = sha256 === null ? null : await store.prepared(name, sha256)
    return sha256 === null || prepared === null ? null : activeSolution(sha256, prepared, makeSandboxSolution)
  }

  function keep(solution: ActiveSolution): void {
    kept.delete(solution.name)
    kept.set(solution.name, solution)
    const oldest = kept.keys().next().value
    if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest)
  }

  const catalog: Catalog = {
    async active(name) {
      const solution = kept.get(name) ?? (await load(name))
      if (solution !== null) keep(solution)
      return solution
    },
    async need(name) {
      const solution = await catalog.active(name)
      if (solution !== null) return solution
      throw new PlatformError('ERR_SOLUTION_NOT_FOUND', `There is no solution "${name}".`, { name })
    },
    changed(name) {
      const before = kept.get(name)
      kept.delete(name)
      if (before) supervisor.retire(before.loadable.key)
    },
  }
  return catalog
}

/** The name under which the supervisor knows a version. */
export function versionKey(name: string, sha256: string): string {
  return `${name}@${sha256}`
}

/** @param sha256 of the bundle that `prepared` came from */
export function activeSolution(
  sha256: string,
  prepared: PreparedSolution,
  makeSandboxSolution: SandboxSolutionMaker,
): ActiveSolution {
  const { name, title, version } = prepared.manifest
  const { manifest, modules, texts } = prepared
  const forms = prepared.forms.map(({ form }) => form)
  const facts: SolutionFacts = { name, version, sha256, manifest, modules, texts, forms }
  const loadable = { key: versionKey(name, sha256), solution: () => makeSandboxSolution(facts, prepared) }
  return { ...prepared, name, title, facts, loadable }
}
