import { randomUUID } from 'node:crypto'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { unitsOf } from '../../base/bundles/prepared-solution.ts'
import type { Unit } from '../../runtime/protocol.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'

/** A debug target: the scripts of one unit in a solution's active version. */
export type DebugTarget = {
  /** A random id, which web pages can't guess. It stays the same while the host runs, even across uploads. */
  readonly id: string
  readonly solution: string
  readonly version: string
  readonly unit: Unit
}

export interface DebugTargets {
  list(): Promise<readonly DebugTarget[]>
  /** Returns the target and the active version of its solution; null if there is no such target. */
  find(id: string): Promise<{ readonly target: DebugTarget; readonly solution: ActiveSolution } | null>
}

export function createDebugTargets(catalog: Catalog, store: Pick<SolutionStore, 'list'>): DebugTargets {
  const ids = new Map<string, string>()

  function targetOf(solution: ActiveSolution, unit: Unit): DebugTarget {
    const name = `${unit} ${solution.name}`
    const id = ids.get(name) ?? randomUUID()
    ids.set(name, id)
    return { id, solution: solution.name, version: solution.facts.version, unit }
  }

  async function targetsOf(name: string): Promise<readonly DebugTarget[]> {
    const solution = await catalog.active(name)
    return solution === null ? [] : debuggedUnits(solution).map((unit) => targetOf(solution, unit))
  }

  return {
    async list() {
      const names = (await store.list()).map(({ name }) => name)
      return (await Promise.all(names.map(targetsOf))).flat()
    },
    async find(id) {
      const name = [...ids].find(([, one]) => one === id)?.[0]
      if (name === undefined) return null
      const solution = await catalog.active(name.slice(name.indexOf(' ') + 1))
      const unit = solution && debuggedUnits(solution).find((one) => name.startsWith(`${one} `))
      return unit ? { target: targetOf(solution, unit), solution } : null
    },
  }
}

/** Returns the units of a solution that have code to run. */
function debuggedUnits(solution: ActiveSolution): Unit[] {
  const units: Unit[] = ['main']
  if (unitsOf(solution).authenticator.length > 0) units.unshift('authenticator')
  if (solution.entries.main?.includes('getOAuthConfig')) units.push('configuration')
  return units
}
