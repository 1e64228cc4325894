import { stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Limits } from '../../runtime/limits.ts'
import { hasScope } from '../access/actor.ts'
import { needPageSession } from '../access/admit-page-session.ts'
import type { PageRouter } from '../pages/page.ts'
import { addSolutionLogPages, type SolutionLogPageParts } from './log-page.ts'
import { addOverviewPage, type OverviewPageParts } from './overview-page.ts'
import { type SolutionHeadParts, shownSolution } from './page-head.ts'
import { addVersionsPages, type VersionsPageParts } from './versions-page.ts'

type ListPageParts = SolutionHeadParts & {
  readonly sites: Pick<Sites, 'originForAdmin'>
  readonly sharedOrigin: boolean
  readonly limits: Limits
}

export type SolutionPageParts = ListPageParts & OverviewPageParts & VersionsPageParts & SolutionLogPageParts

/** Adds the list of solutions, and the pages of each solution. */
export function addSolutionPages(pages: PageRouter, parts: SolutionPageParts): void {
  addSolutionListPage(pages, parts)
  addOverviewPage(pages, parts)
  addVersionsPages(pages, parts)
  addSolutionLogPages(pages, parts)
}

function addSolutionListPage(
  pages: PageRouter,
  { store, supervisor, sites, sharedOrigin, limits }: ListPageParts,
): void {
  pages.get(
    '/',
    async (ctx, text) => {
      const session = needPageSession(ctx)
      const visible = (await store.list()).filter(({ name }) => hasScope(session, `solutions:${name}`, 'read'))
      const solutions = visible.map((solution) => shownSolution(solution, supervisor))
      // The name is known only after the upload, so the page's script inserts it.
      const address = `${sites.originForAdmin('{name}', stateOf(ctx).client)}/solution/{name}/`
      const model = { solutions, sharedOrigin, address, most: limits.BUNDLE_SIZE }
      return { template: 'solutions', heading: text('platform.admin.solutions'), part: 'solutions', model }
    },
    'any',
  )
}
