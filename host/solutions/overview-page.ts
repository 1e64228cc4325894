import { stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Limits } from '../../runtime/limits.ts'
import { hasScope } from '../access/actor.ts'
import { needPageSession } from '../access/admit-page-session.ts'
import type { Audit } from '../access/audit.ts'
import type { PageRouter } from '../pages/page.ts'
import { addressWith } from '../pages/page-query.ts'
import { type SolutionHeadParts, solutionOf, versionsNewestFirst } from './page-head.ts'
import { COUNTED, type SolutionLog } from './solution-log.ts'

export type OverviewPageParts = SolutionHeadParts & {
  readonly sites: Pick<Sites, 'originForAdmin'>
  readonly solutionLog: Pick<SolutionLog, 'read' | 'countErrors'>
  readonly audit: Pick<Audit, 'read'>
  readonly limits: Limits
}

/** How many of the newest errors and sign-ins the page shows. */
const SHOWN = 5
const HOUR = 3_600_000
const DAY = 86_400_000

/**
 * The overview page of a solution: its URL, its active version, recent sign-ins and errors, and a form to delete
 * it.
 */
export function addOverviewPage(pages: PageRouter, parts: OverviewPageParts): void {
  const { store, sites, limits } = parts

  pages.get(
    '/solutions/:name',
    async (ctx) => {
      const solution = await solutionOf(ctx, parts)
      const { name, title, active } = solution
      const versions = await versionsNewestFirst(store, name)
      const model = {
        solution,
        address: `${sites.originForAdmin(name, stateOf(ctx).client)}/solution/${name}/`,
        version: versions.find(({ sha256 }) => sha256 === active) ?? null,
        versionCount: versions.length,
        lastUpload: versions[0] ?? null,
        errors: await lastErrors(name),
        counted: COUNTED,
        errorsHref: addressWith(`/admin/solutions/${name}/log`, { level: 'error' }),
        // Sign-ins are read from the audit log, which requires a separate scope.
        signIns: hasScope(needPageSession(ctx), 'audit', 'read') ? await lastSignIns(name) : null,
        signInsHref: addressWith('/admin/audit', { solution: name, action: 'sign-in' }),
        keptDays: Math.round(limits.DELETED_KEPT / DAY),
      }
      return { template: 'solution', heading: title, part: 'solutions', model }
    },
    'solutions:{name}:read',
  )

  /** Returns the number of errors in the last hour, and the latest ones, newest first. */
  async function lastErrors(name: string) {
    const since = Date.now() - HOUR
    const counted = await parts.solutionLog.countErrors(name, since)
    if (counted.count === 0) return { ...counted, lines: [] }
    const { items } = await parts.solutionLog.read(name, { limit: SHOWN, level: 'error' })
    return { ...counted, lines: items.filter(({ time }) => time >= since).toReversed() }
  }

  async function lastSignIns(name: string) {
    const { items } = await parts.audit.read({ limit: SHOWN, solution: name, action: 'sign-in' })
    return items.map(({ time, actor, outcome, address }) => {
      return { time, username: actor.replace(/^user:/, ''), outcome, address }
    })
  }
}
