import { solutionTarget } from '../../base/api/targets.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { SolutionStore, SolutionSummary } from './solution-store.ts'

/** @throws ERR_SOLUTION_NOT_FOUND */
export async function findSolution(store: SolutionStore, name: string): Promise<SolutionSummary> {
  const solution = await store.get(name)
  if (solution !== null) return solution
  throw new PlatformError('ERR_SOLUTION_NOT_FOUND', `There is no solution "${name}".`, { name })
}

export type OfSolution = { readonly params: { readonly name: string } }

/** Returns the solution and target to record in the audit log. The request's path contains the solution's name. */
export function namedSolution({ params: { name } }: OfSolution): {
  readonly solution: string
  readonly target: string
} {
  return { solution: name, target: solutionTarget(name) }
}
