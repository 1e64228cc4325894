import type Router from '@koa/router'
import type { Context } from 'koa'
import { allowPage } from '../../base/http/content-security.ts'
import { requireDataRequest, requireNavigation } from '../../base/http/fetch-metadata.ts'
import { guidePath } from '../../base/http/guides.ts'
import { chooseLocale } from '../../base/http/languages.ts'
import { createNonce, sendHtml } from '../../base/http/request.ts'
import type { WorkbenchLinks } from '../../base/web/render-page.ts'
import { PLATFORM_LOCALES, platformText } from '../../base/web/texts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { needScope, type ScopeKind } from '../access/actor.ts'
import { pageSessionOf } from '../access/admit-page-session.ts'
import type { PageSession } from '../access/page-sessions.ts'
import { scopeOf } from '../access/route.ts'
import type { Settings } from '../config/settings.ts'
import { type AdminFrame, type AdminPart, adminPage } from '../web/pages.ts'
import { ADMIN_GUIDES, type AdminTemplate } from './guides.ts'
import { adminScriptPath } from './script.ts'
import { workbenchLinks } from './workbench-links.ts'

/** For pages shown to users who are not signed in. */
const NO_WORKBENCH = workbenchLinks('off')

/** An admin page: a template in `host/web/pages/admin/` and its data. */
export type ShownPage = {
  readonly template: AdminTemplate
  readonly heading: string
  readonly model: object
  readonly part: AdminPart | null
  /** Defaults to 200. */
  readonly status?: number
  /** Whether the Content-Security-Policy allows our own frames. */
  readonly frames?: boolean
}

/** A part of an admin page: a template without the page layout, and its data. */
export type ShownPart = Pick<ShownPage, 'heading' | 'model'> & { readonly template: string }

/** A platform text in the user's language. */
export type PageText = (key: string, ...values: readonly (string | number)[]) => string

/** Registers admin pages. All of them require a sign-in. */
export interface PageRouter {
  /** @param path below `/admin`, as a route pattern: `/solutions/:name` */
  get(path: string, show: (ctx: Context, text: PageText) => Promise<ShownPage>, scope?: PageScope): void
  /** Registers a part of a page that the script of an open page can reload. The response is `{html}`. */
  part(path: string, show: (ctx: Context, text: PageText) => Promise<ShownPart>, scope?: PageScope): void
}

/**
 * The scope that an API token needs to open a page. `{name}` stands for the value of that route parameter. `any`: every
 * token can open the page, which shows only what the token's scopes allow. Without a scope, only the admin account can
 * open the page.
 */
export type PageScope = `${string}:${ScopeKind}` | 'any'

/**
 * Redirects users who are not signed in to the sign-in page, which sends them back afterwards.
 * @param workbench the host's mode: without a workbench, no page links to it
 */
export function createPageRouter(router: Router, workbench: Settings['workbench']): PageRouter {
  const links = workbenchLinks(workbench)
  return {
    get(path, show, scope) {
      router.get(path, async (ctx) => {
        requireNavigation(ctx)
        const session = pageSessionOf(ctx)
        if (session === null) {
          ctx.status = 302
          ctx.set('Location', `/admin/sign-in?to=${encodeURIComponent(`${ctx.path}${ctx.search}`)}`)
          return
        }
        needPageScope(ctx, session, scope)
        sendPage(ctx, await show(ctx, textFor(ctx)), links)
      })
    },
    part(path, show, scope) {
      router.get(path, async (ctx) => {
        requireDataRequest(ctx)
        const session = pageSessionOf(ctx)
        if (session === null)
          throw new PlatformError(
            'ERR_UNAUTHENTICATED',
            'You are not signed in. Sign in to the admin pages, then try again.',
          )
        needPageScope(ctx, session, scope)
        const { template, heading, model } = await show(ctx, textFor(ctx))
        ctx.body = { html: adminPage(template, frameFor(ctx, links), heading, model) }
      })
    },
  }
}

function needPageScope(ctx: Context, session: PageSession, scope: PageScope | undefined): void {
  if (scope === undefined) needScope(session, null, 'read', true)
  else if (scope !== 'any') needScope(session, ...scopeOf(scope, ctx.params), false)
}

export function textFor(ctx: Context): PageText {
  const locale = localeOf(ctx)
  return (key, ...values) => platformText(locale, key, values)
}

export function sendPage(ctx: Context, page: ShownPage, links = NO_WORKBENCH): void {
  const { template, heading, model, part, status, frames } = page
  const nonce = createNonce()
  allowPage(ctx, nonce, { frames: frames === true })
  ctx.vary('Accept-Language')
  const guide = guidePath('/admin', ADMIN_GUIDES[template])
  sendHtml(ctx, status ?? 200, adminPage(template, { ...frameFor(ctx, links), nonce, part, guide }, heading, model))
}

function frameFor(ctx: Context, workbench: WorkbenchLinks): AdminFrame {
  const session = pageSessionOf(ctx)
  const isOfToken = session !== null && session.scopes !== null
  const who = { csrfToken: session?.csrfToken ?? null, isOfToken }
  return { locale: localeOf(ctx), nonce: '', ...who, part: null, script: adminScriptPath, guide: null, workbench }
}

export function localeOf(ctx: Context): string {
  return chooseLocale(ctx.get('Accept-Language'), PLATFORM_LOCALES)
}
