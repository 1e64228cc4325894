import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { endpointsOf } from '../../base/bundles/endpoint-table.ts'
import type { Authentication, EndpointMethod } from '../../runtime/bundle/endpoint-schema.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { Catalog } from '../solutions/catalog.ts'

/** Statistics about calls on this host in the last `hours` hours, by entry function. */
export type EndpointFigures = {
  entries(hours: number): readonly {
    readonly solution: string
    readonly entry: string
    readonly count: number
    readonly failed: number
    readonly p95: number | null
  }[]
}

export type ListedEndpoint = {
  readonly method: EndpointMethod
  readonly path: string
  readonly function: string
  /** The module that declares the endpoint; null for the solution itself. */
  readonly module: string | null
  readonly authentication: readonly Authentication[]
  readonly permission: string | null
  readonly secret: string | null
  readonly calls: number
  readonly failures: number
  /** In ms; null if there were no calls. */
  readonly p95: number | null
}

export type ListEndpointsParts = {
  readonly catalog: Pick<Catalog, 'active'>
  readonly figures: EndpointFigures
  readonly supervisor: Pick<Supervisor, 'retryAtOf'>
}

/**
 * Lists the endpoints of a solution's active version. `retryAt` is when paused scripts may run again, in epoch ms; null
 * if they aren't paused.
 */
export async function listEndpoints(
  name: string,
  { catalog, figures, supervisor }: ListEndpointsParts,
): Promise<{ readonly items: readonly ListedEndpoint[]; readonly retryAt: number | null }> {
  const solution: ActiveSolution | null = await catalog.active(name)
  if (solution === null) return { items: [], retryAt: null }
  const counted = new Map(
    figures.entries(1).flatMap((one) => (one.solution === name ? [[one.entry, one] as const] : [])),
  )
  const items = endpointsOf(solution).map(({ address, method, segments, module, declaration }) => {
    const { count = 0, failed = 0, p95 = null } = counted.get(address) ?? {}
    return {
      method,
      path: `/${segments.join('/')}`,
      function: declaration.function,
      module,
      authentication: declaration.authentication,
      permission: declaration.permission,
      secret: declaration.signature?.secret ?? null,
      calls: count,
      failures: failed,
      p95,
    }
  })
  return { items, retryAt: supervisor.retryAtOf('requests', solution.loadable.key) }
}
