import type { Context, Middleware } from 'koa'
import { hostnameOf, isLoopback } from '../../base/config/host-names.ts'
import { allowPage } from '../../base/http/content-security.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { chooseLocale } from '../../base/http/languages.ts'
import { requireReading } from '../../base/http/method-check.ts'
import { createNonce, sendHtml, stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import { PLATFORM_LOCALES, platformText } from '../../base/web/texts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { solutionListPage } from '../web/pages.ts'
import { firstExampleNames } from './examples.ts'
import type { SolutionStore } from './solution-store.ts'

export type StartPageParts = {
  readonly store: Pick<SolutionStore, 'list'>
  readonly sites: Sites
  /** The value of `START_PAGE`. */
  readonly shows: 'list' | 'none'
  /**
   * The solution to redirect to. The control center can override `DEFAULT_SOLUTION`. Null if neither is set; `shows`
   * then applies.
   */
  readonly defaultSolution: () => Promise<string | null>
  /** Whether the host added the example solutions on its first startup. If so, the page describes them. */
  readonly hasExamples: boolean
  /** The URL of the admin pages, if they are reachable only from this machine; otherwise null. */
  readonly localAdminPages: () => string | null
}

/** GET `/`: lists the solutions with `listed` in their manifest, or redirects to the default solution. */
export function startPage(parts: StartPageParts): Middleware {
  const { store, sites, shows, defaultSolution, hasExamples } = parts
  const examples = new Set(hasExamples ? firstExampleNames() : [])

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
    // Chosen here: the response is the same as for any unknown path, so that it doesn't reveal that there is a list.
    if (shows === 'none') throw new PlatformError('ERR_NOT_FOUND', 'Nothing exists at this URL. Check the URL.')
    const locale = chooseLocale(ctx.get('Accept-Language'), PLATFORM_LOCALES)
    const listed = (await store.list()).filter((solution) => solution.listed && solution.state === 'active')
    const solutions = listed.map(({ name, title }) => {
      const description = examples.has(name) ? platformText(locale, `platform.example.${name}`) : null
      return { name, title, description, href: addressOf(name) }
    })
    const nonce = createNonce()
    allowPage(ctx, nonce)
    ctx.vary('Accept-Language')
    sendHtml(ctx, 200, solutionListPage({ locale, nonce }, { solutions, adminPages: adminPagesFor(ctx, parts) }))
  }
}

/**
 * Chosen here: only a browser on the host's own machine gets a link to the admin pages, because the link would not work
 * in others.
 */
function adminPagesFor(ctx: Context, { localAdminPages }: StartPageParts): string | null {
  const { address, host } = stateOf(ctx).client
  return isLoopback(address) && isLoopback(hostnameOf(host) ?? '') ? localAdminPages() : null
}
