import type { Context } from 'koa'
import { stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { PageRouter } from '../pages/page.ts'
import { queryText } from '../pages/page-query.ts'
import { type SolutionHeadParts, solutionOf } from './page-head.ts'
import type { SolutionLog } from './solution-log.ts'
import type { VersionSummary } from './solution-store.ts'
import { differenceOf, Sha256 } from './versions-api.ts'

export type OneSolutionPageParts = SolutionHeadParts & {
  readonly sites: Pick<Sites, 'originForAdmin'>
  readonly solutionLog: SolutionLog
  readonly limits: Limits
}

/** Log errors shown on the page of a quarantined solution. */
const SHOWN_ERRORS = 5
const DAY = 86_400_000

/** Adds the pages of one solution: its versions, and the differences between two of them. */
export function addOneSolutionPages(pages: PageRouter, parts: OneSolutionPageParts): void {
  const { store, sites, solutionLog, limits } = parts

  pages.get('/solutions/:name', async (ctx) => {
    const solution = await solutionOf(ctx, parts)
    const { name, title, retryAt } = solution
    const versions = await newestFirst(name)
    const errors = retryAt === null ? [] : (await solutionLog.read(name, { limit: SHOWN_ERRORS, level: 'error' })).items
    const model = {
      solution,
      versions,
      activeAt: versions.find(({ sha256 }) => sha256 === solution.active)?.uploadedAt ?? null,
      errors,
      address: `${sites.originForAdmin(name, stateOf(ctx).client)}/solution/${name}/`,
      keptDays: Math.round(limits.DELETED_KEPT / DAY),
    }
    return { template: 'solution', heading: title, part: 'solutions', model }
  })

  pages.get('/solutions/:name/diff', async (ctx, text) => {
    const solution = await solutionOf(ctx, parts)
    const versions = await newestFirst(solution.name)
    const [from, to] = chosenVersions(ctx, versions, solution.active)
    const difference = from === null || to === null ? null : await differenceOf(store, solution.name, from, to, limits)
    const model = { solution, versions, from, to, difference }
    return { template: 'solution-diff', heading: text('admin.diff.title'), part: 'solutions', model }
  })

  async function newestFirst(name: string): Promise<readonly VersionSummary[]> {
    return (await store.versions(name)).toReversed()
  }
}

/** The versions named in the address; by default the active version and the newest other one, older first. */
function chosenVersions(ctx: Context, versions: readonly VersionSummary[], active: string | null) {
  const named = (parameter: 'from' | 'to') => Sha256.safeParse(queryText(ctx, parameter)).data
  const other = versions.find(({ sha256 }) => sha256 !== active)
  if (other === undefined) return [null, null] as const
  const inOrder = versions.filter(({ sha256 }) => sha256 === active || sha256 === other.sha256).toReversed()
  return [named('from') ?? inOrder[0]?.sha256 ?? null, named('to') ?? inOrder.at(-1)?.sha256 ?? null] as const
}
