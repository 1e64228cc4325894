import type { Context } from 'koa'
import type { Supervisor } from '../../runtime/supervisor.ts'
import { retryAtOf } from './catalog.ts'
import { findSolution } from './find-solution.ts'
import type { SolutionStore, SolutionSummary, VersionSummary } from './solution-store.ts'

export type SolutionHeadParts = {
  readonly store: SolutionStore
  readonly supervisor: Supervisor
}

/** The data about a solution that its pages show. */
export type ShownSolution = Omit<SolutionSummary, 'state'> & {
  readonly state: SolutionSummary['state'] | 'quarantined'
  /** When the solution may run again, in epoch ms; null if it is not quarantined. */
  readonly retryAt: number | null
}

/** @throws ERR_SOLUTION_NOT_FOUND */
export async function solutionOf(ctx: Context, { store, supervisor }: SolutionHeadParts): Promise<ShownSolution> {
  return shownSolution(await findSolution(store, (ctx.params as { name: string }).name), supervisor)
}

export function shownSolution(solution: SolutionSummary, supervisor: Pick<Supervisor, 'retryAt'>): ShownSolution {
  const retryAt = retryAtOf(supervisor, solution)
  return { ...solution, state: retryAt === null ? solution.state : 'quarantined', retryAt }
}

export async function versionsNewestFirst(
  store: Pick<SolutionStore, 'versions'>,
  name: string,
): Promise<readonly VersionSummary[]> {
  return (await store.versions(name)).toReversed()
}
