import type { Context } from 'koa'
import { findSession } from '../../base/accounts/find-session.ts'
import type { Remembered } from '../../base/accounts/remembered.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { readCookies, setCookie } from '../../base/http/cookies.ts'
import { cookieScope, stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Audit } from '../access/audit.ts'
import { isProviderMode, signInModeOf } from './sign-in-mode.ts'
import { findUse } from './sign-in-remembered.ts'
import { noteSignedOut } from './signed-out-browser.ts'

export type ProviderSignOut = {
  /** The URL that the browser is redirected to. */
  readonly address: string
  /** Whether the browser is redirected to the provider, which ends its own session. */
  readonly endsThere: boolean
}

export type SignOutParts = {
  readonly sites: Sites
  readonly sessions: Sessions
  readonly remembered: Remembered
  readonly providerLogout: {
    /** See `ProviderLogout` in host/oauth/provider-logout.ts. */
    signOut(id: string, signedOutPage: string, target: string | null): Promise<ProviderSignOut>
  }
  readonly audit: Audit
}

/**
 * Ends the session and the remembered login. Also ends the provider's session if the provider supports this.
 * @param target where a script sends the browser afterwards; null for the signed-out page
 * @returns the URL to redirect to now
 */
export async function signOut(
  ctx: Context,
  solution: ActiveSolution,
  target: string | null,
  parts: SignOutParts,
): Promise<string> {
  const { sites, providerLogout } = parts
  const signedOutPage = pageAfterLogout(solution.name)
  const providerLogin = await endHere(ctx, solution.name, parts)
  const origin = sites.originOf(solution.name, stateOf(ctx).client)
  const { address, endsThere } =
    providerLogin === null
      ? { address: target ?? signedOutPage, endsThere: false }
      : await providerLogout.signOut(providerLogin, `${origin}${signedOutPage}`, target)
  // Record the sign-out even if the session has already ended. Then the provider is unknown, and the user may still be
  // signed in there.
  if (!endsThere && isProviderMode(signInModeOf(solution))) noteSignedOut(ctx, cookieScope(ctx, sites, solution.name))
  return address
}

/**
 * Ends the browser's session and remembered login.
 * @returns the id of the session's sign-in at a provider, or null
 */
async function endHere(
  ctx: Context,
  solution: string,
  { sites, sessions, remembered, audit }: SignOutParts,
): Promise<string | null> {
  const { client, correlationId } = stateOf(ctx)
  const scope = cookieScope(ctx, sites, solution)
  const session = (await findSession(ctx, scope, sessions))?.session ?? null
  const cookies = readCookies(ctx, 'session', scope)
  for (const cookie of cookies) await sessions.end(solution, cookie)
  if (cookies.length > 0) setCookie(ctx, 'session', scope, null)
  let providerLogin = session?.providerLogin ?? null
  const rememberCookies = readCookies(ctx, 'remember', scope)
  // The remembered login may outlast the session. In that case, it contains the id of the sign-in at the provider.
  const known = providerLogin === null ? await findUse(solution, rememberCookies, remembered) : null
  if (known !== null && known.use.kind !== 'stolen') providerLogin = known.use.series.providerLogin
  for (const cookie of rememberCookies) await remembered.end(solution, cookie)
  if (rememberCookies.length > 0) setCookie(ctx, 'remember', scope, null)
  if (session !== null) {
    const facts = { solution, address: client.address, correlationId }
    audit.note({ ...facts, actor: `user:${session.username}`, action: 'sign-out', outcome: 'ok' })
  }
  return providerLogin
}

/** The path of the signed-out page, which never signs the user in automatically. */
function pageAfterLogout(solution: string): string {
  return `/solution/${solution}/index.html?signed-out`
}
