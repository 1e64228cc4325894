import type { JobDeclaration } from '../../runtime/bundle/job-schema.ts'
import { clientManifests, type PreparedSolution } from './prepared-solution.ts'

export type Job = {
  readonly name: string
  /** The module that declares the job; null for the solution itself. */
  readonly module: string | null
  readonly declaration: JobDeclaration
}

/**
 * Returns the jobs of the solution and its modules, sorted by name. Main takes precedence over modules, and later
 * modules over earlier ones.
 */
export function jobsOf(solution: Pick<PreparedSolution, 'manifest' | 'modules'>): readonly Job[] {
  const byName = new Map<string, Job>()
  for (const { module, manifest } of clientManifests(solution)) {
    for (const [name, declaration] of Object.entries(manifest.jobs)) byName.set(name, { name, module, declaration })
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}
