import type Router from '@koa/router'
import type { Context } from 'koa'
import type { LoginLook } from '../../base/bundles/login-page.ts'
import { loginPageLocales, renderLoginPreview } from '../../base/bundles/login-preview.ts'
import { LOGIN_STATE_NAMES } from '../../base/bundles/login-states.ts'
import { allowLoginPreview } from '../../base/http/content-security.ts'
import { isFrameOfOurs } from '../../base/http/fetch-metadata.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { needScope, type ScopeKind } from '../access/actor.ts'
import { adminOrigin, pageSessionOf } from '../access/admit-page-session.ts'
import type { CloudLogin } from '../cloud/login/cloud-login.ts'
import type { Settings } from '../config/settings.ts'
import { lookOf } from '../login/login-page.ts'
import type { Catalog } from '../solutions/catalog.ts'
import { sendMedia } from '../solutions/media.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import type { PreviewTickets } from './preview-tickets.ts'

export type LoginPreviewParts = {
  readonly catalog: Catalog
  readonly store: SolutionStore
  readonly previewTickets: PreviewTickets
  readonly cloudLogin: Pick<CloudLogin, 'pageOf'> | null
  readonly settings: Pick<Settings, 'passwordHelp'>
}

/** The preview's query parameters. If a value is missing or invalid, the preview looks as on a first visit. */
export const PreviewQuery = z.object({
  locale: z.string().max(100).catch(''),
  state: z.enum(LOGIN_STATE_NAMES).catch('first'),
  name: z.literal('kept').nullable().catch(null),
})

/** The example username. It is shown in states in which the page shows the user's input again. */
const KEPT_NAME = 'anna@example.org'

/**
 * Routes for the login page in an iframe on the admin pages. The solution's author controls the page's scripts, so the
 * page gets an opaque origin. It can't read cookies, the surrounding page or API responses. It can't submit forms or
 * open windows.
 */
export function addLoginPreviewRoutes(router: Router, parts: LoginPreviewParts): void {
  const { catalog, store, previewTickets, cloudLogin, settings } = parts
  router.get('/solutions/:name/login-page/preview/:ticket/index.html', async (ctx) => {
    const { name, ticket } = ctx.params as { name: string; ticket: string }
    requirePreviewFrame(ctx, name)
    requireTicket(name, ticket)
    const solution = await catalog.need(name)
    const look = lookOf(solution, (await cloudLogin?.pageOf(solution)) ?? null, settings.passwordHelp)
    sendLoginPreview(ctx, look, previewPath(name, ticket))
  })

  router.get('/solutions/:name/login-page/preview/:ticket/media/*path', async (ctx) => {
    const { name, ticket, path } = ctx.params as { name: string; ticket: string; path: string }
    requireTicket(name, ticket)
    await sendMedia(ctx, await catalog.need(name), path, store)
    allowInPreview(ctx)
  })

  /**
   * Checks the ticket. The page itself needs this too, because the ticket becomes part of its Content-Security-Policy.
   * An unchecked ticket could change the policy.
   */
  function requireTicket(name: string, ticket: string): void {
    if (previewTickets.isFor(name, ticket)) return
    throw new PlatformError('ERR_NOT_FOUND', 'This preview has expired. Reload the page that shows it.')
  }
}

/**
 * Checks that the request comes from the preview frame on an admin page.
 * @throws ERR_NOT_A_NAVIGATION, ERR_FORBIDDEN
 */
export function requirePreviewFrame(ctx: Context, solution: string, kind: ScopeKind = 'read'): void {
  const session = pageSessionOf(ctx)
  if (session === null || !isFrameOfOurs(ctx)) {
    throw new PlatformError(
      'ERR_NOT_A_NAVIGATION',
      'Previews work only inside the admin pages. Open the preview from there.',
    )
  }
  needScope(session, `solutions:${solution}`, kind, false)
}

/**
 * Sends the login page for the preview frame, in the state that the query specifies.
 * @param folder the path of the preview; its media are in the subfolder `media/`
 */
export function sendLoginPreview(ctx: Context, look: LoginLook, folder: string): void {
  const { html, nonce } = renderLoginPreview(look, wantedOf(ctx, look))
  allowLoginPreview(ctx, nonce, mediaSource(ctx, folder))
  ctx.status = 200
  ctx.type = 'text/html; charset=utf-8'
  ctx.body = html
}

/**
 * Lets the preview load the response. Chromium treats requests from a sandboxed page as cross-site, and sends font
 * requests with the origin "null".
 */
export function allowInPreview(ctx: Context): void {
  ctx.set('Cross-Origin-Resource-Policy', 'cross-origin')
  ctx.set('Access-Control-Allow-Origin', 'null')
}

/** Returns the path of the preview. Its media are in the subfolder `media/`. */
export function previewPath(name: string, ticket: string): string {
  return `/admin/solutions/${name}/login-page/preview/${ticket}/`
}

/**
 * Returns the CSP source for the preview's media. CSP can't express IPv6 addresses (CSP 3, section 2.3.1). For these,
 * the policy allows the page's whole origin, which is safe because requests send no cookies.
 */
function mediaSource(ctx: Context, folder: string): string {
  const origin = adminOrigin(ctx)
  return origin.includes('[') ? "'self'" : `${origin}${folder}media/`
}

function wantedOf(ctx: Context, look: LoginLook) {
  const { locale, state, name } = PreviewQuery.parse(ctx.query)
  const locales = loginPageLocales(look)
  const shown = locales.includes(locale) ? locale : (locales[0] as string)
  return { locale: shown, state, ...(name === null ? {} : { username: KEPT_NAME }) }
}
