import type { Context } from 'koa'
import type { Audit } from '../audit/audit.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import { cookieScope, stateOf } from '../http/request.ts'
import type { Sites } from '../http/sites.ts'
import type { ProviderLogout } from '../oauth/provider-logout.ts'
import type { Remembered } from '../sessions/remembered.ts'
import type { Sessions } from '../sessions/sessions.ts'

export type SignOutParts = {
  readonly sites: Sites
  readonly sessions: Sessions
  readonly remembered: Remembered
  readonly providerLogout: ProviderLogout
  readonly audit: Audit
}

/**
 * A real logout: the session ends, the browser is no longer remembered (guide 3), and the provider's session ends where that
 * is offered.
 * @param target where the browser goes on, as a script asked for it; null: the page that says that one is signed out
 * @returns the address at which it goes on now
 */
export async function signOut(
  ctx: Context,
  solution: string,
  target: string | null,
  { sites, sessions, remembered, providerLogout, audit }: SignOutParts,
): Promise<string> {
  const { client, correlationId } = stateOf(ctx)
  const scope = cookieScope(ctx, sites, solution)
  const signedOutPage = pageAfterLogout(solution)
  const cookie = readCookie(ctx, 'session', scope)
  const session = cookie === undefined ? null : await sessions.find(solution, cookie)
  if (cookie !== undefined) {
    await sessions.end(solution, cookie)
    setCookie(ctx, 'session', scope, null)
  }
  let providerLogin = session?.providerLogin ?? null
  const rememberCookie = readCookie(ctx, 'remember', scope)
  if (rememberCookie !== undefined) {
    // The session may be over while its remembered login is not.
    const use = providerLogin === null ? await remembered.use(solution, rememberCookie) : null
    if (use?.kind === 'current' || use?.kind === 'previous') providerLogin = use.series.providerLogin
    await remembered.end(solution, rememberCookie)
    setCookie(ctx, 'remember', scope, null)
  }
  if (session !== null) {
    const facts = { solution, address: client.address, correlationId }
    audit.note({ ...facts, actor: `user:${session.username}`, action: 'sign-out', outcome: 'ok' })
  }
  if (providerLogin === null) return target ?? signedOutPage
  const origin = sites.originOf(solution, client)
  return providerLogout.signOut(providerLogin, `${origin}${signedOutPage}`, target)
}

/** The page that says that one is signed out; it signs nobody in by itself. */
export function pageAfterLogout(solution: string): string {
  return `/solution/${solution}/index.html?signed-out`
}
