import type { Context } from 'koa'
import { stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { PageRouter } from '../pages/page.ts'
import { queryText } from '../pages/page-query.ts'
import { type SolutionHeadParts, solutionOf, versionsNewestFirst } from './page-head.ts'
import type { VersionSummary } from './solution-store.ts'
import { differenceOf, Sha256 } from './versions-api.ts'

export type VersionsPageParts = SolutionHeadParts & {
  readonly sites: Pick<Sites, 'originForAdmin'>
  readonly limits: Limits
}

/** Adds the pages for a solution's versions and for the differences between two of them. */
export function addVersionsPages(pages: PageRouter, parts: VersionsPageParts): void {
  const { store, sites, limits } = parts

  pages.get(
    '/solutions/:name/versions',
    async (ctx, text) => {
      const solution = await solutionOf(ctx, parts)
      const versions = await versionsNewestFirst(store, solution.name)
      const model = {
        solution,
        versions,
        activeAt: versions.find(({ sha256 }) => sha256 === solution.active)?.uploadedAt ?? null,
        address: `${sites.originForAdmin(solution.name, stateOf(ctx).client)}/solution/${solution.name}/`,
        most: limits.BUNDLE_SIZE,
      }
      const heading = `${text('admin.tab.versions')} · ${solution.title}`
      return { template: 'solution-versions', heading, part: 'solutions', model }
    },
    'solutions:{name}:read',
  )

  pages.get(
    '/solutions/:name/diff',
    async (ctx, text) => {
      const solution = await solutionOf(ctx, parts)
      const versions = await versionsNewestFirst(store, solution.name)
      const [from, to] = chosenVersions(ctx, versions, solution.active)
      const difference =
        from === null || to === null ? null : await differenceOf(store, solution.name, from, to, limits)
      const model = { solution, versions, from, to, difference }
      return { template: 'solution-diff', heading: text('admin.diff.title'), part: 'solutions', model }
    },
    'solutions:{name}:read',
  )
}

/** The versions in the URL, older first. By default, they are the active version and the newest other version. */
function chosenVersions(ctx: Context, versions: readonly VersionSummary[], active: string | null) {
  const named = (parameter: 'from' | 'to') => Sha256.safeParse(queryText(ctx, parameter)).data
  const other = versions.find(({ sha256 }) => sha256 !== active)
  if (other === undefined) return [null, null] as const
  const inOrder = versions.filter(({ sha256 }) => sha256 === active || sha256 === other.sha256).toReversed()
  return [named('from') ?? inOrder[0]?.sha256 ?? null, named('to') ?? inOrder.at(-1)?.sha256 ?? null] as const
}
