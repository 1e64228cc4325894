import type { Context } from 'koa'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { FormTokens } from '../../base/accounts/form-token.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { allowPage, allowPasskeys } from '../../base/http/content-security.ts'
import { cookieScope, createNonce, sendHtml } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import { requestedPage } from '../login/requested-page.ts'
import { accountPath } from '../second-step/paths.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { clientScriptPath, devScriptPath } from './client-script-route.ts'
import { renderShell, type ShellModel } from './render/shell.ts'

export type ClientPageParts = {
  readonly sites: Sites
  readonly formTokens: FormTokens
  readonly store: SolutionStore
  /** Whether this is a live host, see `Live`. */
  readonly isLive?: boolean
}

/** The solution's style sheet, below `media/`. */
const STYLE = 'style.css'
const styled = new WeakMap<ActiveSolution, boolean>()

/**
 * Sends the page of an open solution. The page's script requests the form over the WebSocket.
 * @param found null if no user is signed in, because the solution is public or opens its login form
 */
export async function showClientPage(
  ctx: Context,
  solution: ActiveSolution,
  found: FoundSession | null,
  locale: string,
  isLoginForm: boolean,
  parts: ClientPageParts,
): Promise<void> {
  const nonce = createNonce()
  const { name, title } = solution
  // The page can show an iframe in which signed-in users confirm their identity.
  allowPage(ctx, nonce, { frames: found !== null })
  // The page must be allowed to use passkeys. Otherwise, its iframe can't use them either.
  if (found !== null) allowPasskeys(ctx, 'get')
  ctx.vary('Accept-Language')
  const page = requestedPage(ctx)
  const query = page.slice(ctx.path.length)
  const account = accountOf(ctx, solution, found, parts)
  // Issue a token even if no user is signed in. This sets the cookie that identifies the browser in the WebSocket
  // handshake.
  const formToken = parts.formTokens.issue(ctx, cookieScope(ctx, parts.sites, name))
  const html = renderShell({
    locale,
    nonce,
    title,
    scriptHref: clientScriptPath(name),
    devScriptHref: parts.isLive === true ? devScriptPath(name) : null,
    socketHref: `/solution/${name}/client${query}`,
    styleHref: (await hasStyle(solution, parts.store)) ? `/solution/${name}/media/${STYLE}` : null,
    user: account,
    signIn: isLoginForm ? { action: page, formToken } : null,
  })
  sendHtml(ctx, 200, html)
}

/** The signed-in user, for the bar above the form. */
export function accountOf(
  ctx: Context,
  { name }: ActiveSolution,
  found: FoundSession | null,
  { sites, formTokens }: Pick<ClientPageParts, 'sites' | 'formTokens'>,
): ShellModel['user'] {
  if (found === null) return null
  const { username, methods } = found.session
  return {
    username,
    logoutAction: `/solution/${name}/logout`,
    // The issuer of a login token vouches for the user, so the user has no account to manage here.
    accountHref: methods.includes('token') ? null : accountPath(name),
    formToken: formTokens.issue(ctx, cookieScope(ctx, sites, name)),
  }
}

/**
 * The versioned URL of the style sheet, for pages that stay open when it changes.
 * @returns null if there is none
 */
export async function liveStyleHref({ name, facts }: ActiveSolution, store: SolutionStore): Promise<string | null> {
  const file = await store.media(name, facts.sha256, STYLE)
  return file === null ? null : `/solution/${name}/media/${STYLE}?version=${encodeURIComponent(file.etag)}`
}

async function hasStyle(solution: ActiveSolution, store: SolutionStore): Promise<boolean> {
  const known = styled.get(solution)
  if (known !== undefined) return known
  const has = (await store.media(solution.name, solution.facts.sha256, STYLE)) !== null
  styled.set(solution, has)
  return has
}
