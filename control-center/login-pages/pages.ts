import type Router from '@koa/router'
import type { Context } from 'koa'
import { loginPageLocales, renderLoginPreview } from '../../base/bundles/login-preview.ts'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import { allowLoginPreview } from '../../base/http/content-security.ts'
import { isFrameOfOurs } from '../../base/http/fetch-metadata.ts'
import type { Mail } from '../../base/mail/mail.ts'
import { PLATFORM_LOCALES } from '../../base/web/texts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { type Access, callerOf } from '../access/access.ts'
import { ofSolution } from '../access/of-solution.ts'
import { originOf, publicOriginOf } from '../access/page-sessions.ts'
import { mayDo } from '../access/roles.ts'
import { localeOf, type PageRouter } from '../pages/page.ts'
import { personOf } from './api.ts'
import { LARGEST_LOGO, TEXT_LENGTHS, TEXT_LOCALES, TEXT_NAMES } from './design.ts'
import type { LoginPages } from './login-pages.ts'
import { compileDesign } from './template.ts'

export type LoginPagePageParts = {
  readonly access: Access
  readonly loginPages: LoginPages
  readonly mail: Pick<Mail, 'isSetUp'>
  readonly settings: Pick<ServiceSettings, 'publicUrl'>
}

/** The states in which the designer can preview a login page. */
const STATES = ['first', 'refused', 'throttled'] as const

const PreviewQuery = z.object({
  locale: z.enum(PLATFORM_LOCALES).catch('en'),
  state: z.enum(STATES).catch('first'),
})

export function addLoginPagePages(pages: PageRouter, router: Router, parts: LoginPagePageParts): void {
  const { access, loginPages, mail, settings } = parts
  const path = '/solutions/:solution/login-page'

  pages.ofOrganisation(path, 'login-pages', async (ctx, text, member) => {
    const { place } = await ofSolution(ctx, access, 'login-pages')
    const { number, design } = await loginPages.published(place)
    const draft = await loginPages.draft(place, personOf(member))
    const names = new Intl.DisplayNames([localeOf(ctx)], { type: 'language' })
    const nameOf = (locale: string) =>
      locale === 'default' ? text('loginpage.locale.default') : (names.of(locale) ?? locale)
    const base = `/o/${member.organisation.name}/solutions/${place.solution}`
    return {
      template: 'login-page-designer',
      heading: place.solution,
      part: 'solutions' as const,
      frames: true,
      model: {
        tabs: tabsOf(base, 'login-page', mayDo(member.role, 'solution-users')),
        api: `/api/organisations/${member.organisation.name}/solutions/${place.solution}/login-page`,
        preview: `${base}/login-page/preview`,
        number,
        design: draft ?? design,
        isDraft: draft !== null && JSON.stringify(draft) !== JSON.stringify(design),
        history: await loginPages.history(place),
        locales: TEXT_LOCALES.map((locale) => [locale, nameOf(locale)]),
        shownLocale: localeOf(ctx),
        languages: PLATFORM_LOCALES.map((locale) => [locale, nameOf(locale)]),
        states: STATES,
        texts: TEXT_NAMES.map((name) => ({ name, length: TEXT_LENGTHS[name], isLong: TEXT_LENGTHS[name] > 200 })),
        largestLogo: LARGEST_LOGO,
      },
    }
  })

  // The designer page shows the preview in an iframe with an opaque origin, as the host's admin pages do.
  router.get(`/o/:organisation${path}/preview`, async (ctx) => {
    if (callerOf(ctx)?.kind !== 'person' || !isFrameOfOurs(ctx)) {
      throw new PlatformError(
        'ERR_NOT_A_NAVIGATION',
        'The preview is available only on the “Login page” page. Open that page instead.',
      )
    }
    const { member, place } = await ofSolution(ctx, access, 'login-pages')
    const design = (await loginPages.draft(place, personOf(member))) ?? (await loginPages.published(place)).design
    // The preview is the page that Satellites receive. Without a mail server, it has no password reset link.
    const forgot = `${publicOriginOf(ctx, settings)}/forgot-password/${member.organisation.name}/${place.solution}`
    const solution = compileDesign(design, mail.isSetUp ? forgot : null)
    const { locale, state } = PreviewQuery.parse(ctx.query)
    const shown = loginPageLocales(solution).includes(locale) ? locale : 'en'
    const { html, nonce } = renderLoginPreview(
      { ...solution, title: place.solution, passwordHelp: '' },
      { locale: shown, state },
    )
    allowLoginPreview(ctx, nonce, sourceOf(ctx))
    ctx.status = 200
    ctx.type = 'text/html; charset=utf-8'
    ctx.body = html
  })
}

/**
 * The source of media in the preview's Content-Security-Policy. The policy needs one, although the preview loads no
 * media and no files are served there. For IPv6, see host/login-pages/preview-pages.ts.
 */
function sourceOf(ctx: Context): string {
  const origin = originOf(ctx)
  return origin.includes('[') ? "'self'" : `${origin}${ctx.path}/media/`
}

export type SolutionTab = 'users' | 'roles' | 'login-page'

/** The tabs on a solution's pages. Contains only tabs that the member may see. */
export function tabsOf(base: string, current: SolutionTab, seesUsers: boolean, seesPage = true) {
  const tabs = [...(seesUsers ? (['users', 'roles'] as const) : []), ...(seesPage ? (['login-page'] as const) : [])]
  return tabs.map((name) => ({ name, href: `${base}/${name}`, isCurrent: name === current }))
}
