import { endpointsOf } from '../../base/bundles/endpoint-table.ts'
import { jobsOf } from '../../base/bundles/job-table.ts'
import type { PreparedSolution } from '../../base/bundles/prepared-solution.ts'
import type { Warning } from '../../runtime/bundle/faults.ts'
import { MANIFEST } from '../../runtime/bundle/layout.ts'

/**
 * Warns if endpoints or jobs use an embedded database. Each host has its own embedded databases, but any host may run a
 * request or job. It may then not find data that another host has stored.
 */
export function warnOfEmbedded(solution: Pick<PreparedSolution, 'manifest' | 'modules'>): readonly Warning[] {
  if (endpointsOf(solution).length + jobsOf(solution).length === 0) return []
  const manifests = [solution.manifest, ...solution.modules.map(({ manifest }) => manifest)]
  const names = manifests.flatMap(({ databases }) =>
    Object.entries(databases).flatMap(([name, { server }]) => (server === 'embedded' ? [name] : [])),
  )
  const [name] = names
  if (name === undefined) return []
  const message = `each host has its own embedded database "${name}", but any host may run a job or respond to a request to an endpoint; if you run several hosts, use a database server`
  return [{ file: MANIFEST, code: 'embedded_per_host', message }]
}
