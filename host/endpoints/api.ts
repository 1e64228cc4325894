import { AUTHENTICATIONS, ENDPOINT_METHODS } from '../../runtime/bundle/endpoint-schema.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import type { Catalog } from '../solutions/catalog.ts'
import { findSolution, type OfSolution } from '../solutions/find-solution.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { describeEndpoints } from './describe-endpoints.ts'
import { type ListEndpointsParts, listEndpoints } from './list-endpoints.ts'

export type EndpointApiParts = ListEndpointsParts & {
  readonly store: SolutionStore
  readonly catalog: Catalog
}

const ListedEndpoint = z
  .object({
    method: z.enum(ENDPOINT_METHODS),
    path: z.string(),
    function: z.string(),
    module: z
      .string()
      .nullable()
      .describe('the module that declares the endpoint; null if the solution itself declares it'),
    authentication: z.array(z.enum(AUTHENTICATIONS)),
    permission: z.string().nullable(),
    secret: z.string().nullable().describe('the name of the secret that the host uses to verify signatures'),
    calls: z.int().describe('number of calls in the last hour, on this host'),
    failures: z.int(),
    p95: z.number().nullable().describe('in ms'),
  })
  .meta({ id: 'ListedEndpoint' })

/** Routes for the endpoints of a solution's active version. */
export function endpointRoutes(parts: EndpointApiParts): AdminRoute[] {
  const before = ({ params: { name } }: OfSolution) => findSolution(parts.store, name)
  return [
    route(
      'GET /solutions/:name/endpoints',
      {
        summary: 'List the endpoints of the active version, with their calls on this host in the last hour',
        right: 'solutions:{name}:read',
        before,
        answers: {
          200: z.object({
            items: z.array(ListedEndpoint),
            retryAt: z
              .int()
              .nullable()
              .describe('when the host resumes paused endpoints, in epoch ms; null if they are not paused'),
          }),
        },
      },
      ({ params: { name } }) => listEndpoints(name, parts),
    ),
    route(
      'GET /solutions/:name/endpoints/openapi.json',
      {
        summary: 'Describe the endpoints of the active version, as OpenAPI 3.1',
        right: 'solutions:{name}:read',
        before,
        answers: { 200: z.looseObject({ openapi: z.string() }) },
      },
      async ({ params: { name } }) => describeEndpoints(await parts.catalog.need(name)) as { readonly openapi: string },
    ),
  ]
}
