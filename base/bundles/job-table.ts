import type { JobDeclaration } from '../../runtime/bundle/job-schema.ts'
import { modulesByUse, type PreparedSolution } from './prepared-solution.ts'

export type Job = {
  readonly name: string
  /** The module that declares it; null for the solution itself. */
  readonly module: string | null
  readonly declaration: JobDeclaration
}

/** The jobs of the solution and its modules, sorted by name. Main takes precedence, then later modules. */
export function jobsOf(solution: Pick<PreparedSolution, 'manifest' | 'modules'>): readonly Job[] {
  const { forClient } = modulesByUse(solution)
  const parts = [
    ...solution.modules.filter(({ name }) => forClient.has(name)),
    { name: null, manifest: solution.manifest },
  ]
  const byName = new Map<string, Job>()
  for (const { name: module, manifest } of parts) {
    for (const [name, declaration] of Object.entries(manifest.jobs)) byName.set(name, { name, module, declaration })
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}
