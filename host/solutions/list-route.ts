import type { Middleware } from 'koa'
import { allowPage } from '../../base/http/content-security.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { chooseLocale } from '../../base/http/languages.ts'
import { requireReading } from '../../base/http/method-check.ts'
import { createNonce, sendHtml, stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import { PLATFORM_LOCALES } from '../../base/web/texts.ts'
import { solutionListPage } from '../web/pages.ts'
import type { SolutionStore } from './solution-store.ts'

/**
 * GET `/`: lists the solutions with `listed` in their manifest, or redirects to the default solution.
 * @param defaultSolution `DEFAULT_SOLUTION`, or the control center's override
 */
export function solutionList(
  store: SolutionStore,
  sites: Sites,
  defaultSolution: () => Promise<string | null>,
): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== '/') return next()
    requireReading(ctx)
    requireNavigation(ctx)
    const { client } = stateOf(ctx)
    const addressOf = (name: string) => `${sites.originOf(name, client)}/solution/${name}/index.html`
    const chosen = await defaultSolution()
    if (chosen !== null) {
      ctx.status = 302
      ctx.set('Location', addressOf(chosen))
      return
    }
    const listed = (await store.list()).filter((solution) => solution.listed && solution.state === 'active')
    const solutions = listed.map(({ name, title }) => ({ name, title, href: addressOf(name) }))
    const nonce = createNonce()
    const locale = chooseLocale(ctx.get('Accept-Language'), PLATFORM_LOCALES)
    allowPage(ctx, nonce)
    ctx.vary('Accept-Language')
    sendHtml(
      ctx,
      200,
      solutionListPage({ locale, nonce }, { solutions, sharedOrigin: sites.shared && solutions.length > 1 }),
    )
  }
}
