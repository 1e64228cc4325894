import type { Middleware } from 'koa'
import type { Supervisor } from '../../runtime/supervisor.ts'
import { allowPage } from '../http/content-security.ts'
import { requireNavigation } from '../http/fetch-metadata.ts'
import { chooseLocale } from '../http/languages.ts'
import { requireReading } from '../http/method-check.ts'
import { createNonce, sendHtml } from '../http/request.ts'
import { versionKey } from '../solutions/catalog.ts'
import type { SolutionStore, SolutionSummary } from '../solutions/solution-store.ts'
import { adminOverviewPage } from '../web/pages.ts'
import { PLATFORM_LOCALES } from '../web/texts.ts'

/** The admin pages, on their own port only: for now one page of names and active versions, without sign-in. */
export function adminPages(store: SolutionStore, supervisor: Supervisor, sharedOrigin: boolean): Middleware {
  const isPaused = ({ name, active }: SolutionSummary) =>
    active !== null && supervisor.retryAt(versionKey(name, active)) !== null

  return async (ctx, next) => {
    if (!['/', '/admin', '/admin/'].includes(ctx.path)) return next()
    requireReading(ctx)
    if (ctx.path !== '/admin/') {
      ctx.status = 302
      ctx.set('Location', '/admin/')
      return
    }
    requireNavigation(ctx)
    const solutions = (await store.list()).map((solution) => ({
      ...solution,
      version: solution.activeVersion,
      state: isPaused(solution) ? 'quarantined' : solution.state,
    }))
    const nonce = createNonce()
    allowPage(ctx, nonce)
    ctx.vary('Accept-Language')
    const locale = chooseLocale(ctx.get('Accept-Language'), PLATFORM_LOCALES)
    sendHtml(ctx, 200, adminOverviewPage({ locale, nonce }, { solutions, sharedOrigin }))
  }
}
