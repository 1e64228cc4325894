import { stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { PageRouter } from '../pages/page.ts'
import { type SolutionHeadParts, solutionOf } from '../solutions/page-head.ts'
import { type ListEndpointsParts, listEndpoints } from './list-endpoints.ts'

export type EndpointPageParts = SolutionHeadParts &
  ListEndpointsParts & { readonly sites: Pick<Sites, 'originForAdmin'> }

/** The page that lists the endpoints of a solution's active version. */
export function addEndpointPages(pages: PageRouter, parts: EndpointPageParts): void {
  pages.get(
    '/solutions/:name/api',
    async (ctx, text) => {
      const solution = await solutionOf(ctx, parts)
      const { name, title } = solution
      const { items, retryAt } = await listEndpoints(name, parts)
      const model = {
        solution,
        endpoints: items,
        retryAt,
        address: `${parts.sites.originForAdmin(name, stateOf(ctx).client)}/solution/${name}/api`,
      }
      return { template: 'solution-api', heading: `${text('admin.tab.api')} · ${title}`, part: 'solutions', model }
    },
    'solutions:{name}:read',
  )
}
