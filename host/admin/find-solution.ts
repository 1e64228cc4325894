import { PlatformError } from '../../runtime/errors.ts'
import type { SolutionStore, SolutionSummary } from '../solutions/solution-store.ts'

/** @throws ERR_SOLUTION_NOT_FOUND */
export async function findSolution(store: SolutionStore, name: string): Promise<SolutionSummary> {
  const solution = await store.get(name)
  if (solution !== null) return solution
  throw new PlatformError('ERR_SOLUTION_NOT_FOUND', `There is no solution "${name}".`, { name })
}
