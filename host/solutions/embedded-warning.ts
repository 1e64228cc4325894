import { endpointsOf } from '../../base/bundles/endpoint-table.ts'
import { jobsOf } from '../../base/bundles/job-table.ts'
import type { PreparedSolution } from '../../base/bundles/prepared-solution.ts'
import type { Warning } from '../../runtime/bundle/faults.ts'
import { MANIFEST } from '../../runtime/bundle/layout.ts'

/**
 * Embedded databases belong to one host. If there may be several hosts, any of them may get a request or run a job. So
 * a request or job may not find the data that an earlier one has stored.
 */
export function warnOfEmbedded(solution: Pick<PreparedSolution, 'manifest' | 'modules'>): readonly Warning[] {
  if (endpointsOf(solution).length + jobsOf(solution).length === 0) return []
  const manifests = [solution.manifest, ...solution.modules.map(({ manifest }) => manifest)]
  const names = manifests.flatMap(({ databases }) =>
    Object.entries(databases).flatMap(([name, { server }]) => (server === 'embedded' ? [name] : [])),
  )
  const [name] = names
  if (name === undefined) return []
  const message = `each host has a separate copy of the embedded database "${name}", but any host may run a job or respond to an endpoint's request. If there are several hosts, use a database server`
  return [{ file: MANIFEST, code: 'embedded_per_host', message }]
}
