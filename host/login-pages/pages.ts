import type { Context } from 'koa'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { loginPageLocales } from '../../base/bundles/login-preview.ts'
import { chooseLocale } from '../../base/http/languages.ts'
import type { Limits } from '../../runtime/limits.ts'
import { z } from '../../runtime/zod.ts'
import type { CloudLogin } from '../cloud/login/cloud-login.ts'
import { lookOf } from '../login/login-page.ts'
import { activeBundle, lookAtLoginPage } from '../login/login-page-facts.ts'
import { signInModeOf } from '../login/sign-in-mode.ts'
import { localeOf, type PageRouter } from '../pages/page.ts'
import type { Catalog } from '../solutions/catalog.ts'
import { type SolutionHeadParts, solutionOf } from '../solutions/page-head.ts'
import { PreviewQuery, previewPath } from './preview-pages.ts'
import type { PreviewTickets } from './preview-tickets.ts'

export type LoginPagePageParts = SolutionHeadParts & {
  readonly catalog: Catalog
  readonly previewTickets: PreviewTickets
  readonly limits: Limits
  readonly cloudLogin: Pick<CloudLogin, 'pageOf'> | null
}

const Looks = z.object({
  width: z.enum(['full', 'phone']).catch('full'),
  scheme: z.enum(['light', 'dark']).catch('light'),
})

/**
 * The admin page about a solution's login page: a preview, the errors in its template, and a template that authors can
 * start from.
 */
export function addLoginPagePages(pages: PageRouter, parts: LoginPagePageParts): void {
  const { store, catalog, previewTickets, limits, cloudLogin } = parts

  pages.get(
    '/solutions/:name/login-page',
    async (ctx, text) => {
      const solution = await solutionOf(ctx, parts)
      const active = await catalog.active(solution.name)
      const shown = active === null ? { mode: null, preview: null } : await lookAt(ctx, active)
      return {
        template: 'login-page',
        heading: `${text('admin.tab.login-page')} · ${solution.title}`,
        part: 'solutions',
        model: { solution, ...shown },
        frames: shown.preview !== null,
      }
    },
    'solutions:{name}:read',
  )

  async function lookAt(ctx: Context, active: ActiveSolution) {
    const mode = signInModeOf(active)
    const facts = await lookAtLoginPage(active, await activeBundle(store, active), limits)
    if (mode === 'PLATFORM_CLOUD') {
      // Without a control center, users see an error page instead of a login page.
      if (cloudLogin === null) return { mode, facts, preview: null, cloud: { isConnected: false } }
      const designed = await cloudLogin.pageOf(active)
      const preview = previewOf(ctx, active.name, loginPageLocales(lookOf(active, designed, '')))
      return { mode, facts, preview, cloud: { isConnected: true, isDesigned: designed !== null } }
    }
    if (mode !== 'DEFAULT' && mode !== 'AUTHENTICATOR') return { mode, facts, preview: null }
    return { mode, facts, preview: previewOf(ctx, active.name, facts.locales) }
  }

  function previewOf(ctx: Context, name: string, locales: readonly string[]) {
    const asked = PreviewQuery.parse(ctx.query)
    const locale = locales.includes(asked.locale) ? asked.locale : chooseLocale(ctx.get('Accept-Language'), locales)
    const query = new URLSearchParams({
      locale,
      state: asked.state,
      ...(asked.name === null ? {} : { name: asked.name }),
    })
    const names = new Intl.DisplayNames([localeOf(ctx)], { type: 'language' })
    return {
      ...Looks.parse(ctx.query),
      locale,
      state: asked.state,
      keepsName: asked.name !== null,
      locales: locales.map((tag) => [tag, nameOf(names, tag)] as const),
      address: `${previewPath(name, previewTickets.issue(name))}index.html`,
      query: query.toString(),
    }
  }
}

/**
 * Returns a locale's name. `tag` may be an unknown locale, because any name that looks like a locale is allowed for
 * i18n tables.
 */
function nameOf(names: Intl.DisplayNames, tag: string): string {
  try {
    return names.of(tag) ?? tag
  } catch {
    return tag
  }
}
