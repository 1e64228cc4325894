import type { Context } from 'koa'
import { type CookieScope, cookieKinds, readCookies, setCookie } from '../../base/http/cookies.ts'
import type { Limits } from '../../runtime/limits.ts'

/**
 * Chosen here: so many sign-ins by a provider one browser may have open in a solution. Each has a cookie, and the cookies of
 * a request must stay far below what servers and proxies accept (8 KiB).
 */
const MOST = 20

/** Binds a transaction to the browser; the oldest ones go when there are too many. */
export function setTransactionCookie(
  ctx: Context,
  scope: CookieScope,
  { id, cookie }: { readonly id: string; readonly cookie: string },
  limits: Pick<Limits, 'OAUTH_TRANSACTION'>,
): void {
  const open = [...cookieKinds(ctx, 'oauth-', scope)].sort()
  // Hundreds come from somebody else's script: an answer that cleared them all would be too large for proxies.
  const surplus = Math.min(MOST, Math.max(0, open.length - MOST + 1))
  for (const kind of open.slice(0, surplus)) setCookie(ctx, kind, scope, null)
  setCookie(ctx, `oauth-${id}`, scope, cookie, limits.OAUTH_TRANSACTION)
}

/** @param id from outside: what is no id has no cookie */
export function readTransactionCookies(ctx: Context, scope: CookieScope, id: string): readonly string[] {
  return /^[a-z0-9]{7}[A-Za-z0-9_-]{24}$/.test(id) ? readCookies(ctx, `oauth-${id}`, scope) : []
}

export function clearTransactionCookie(ctx: Context, scope: CookieScope, id: string): void {
  setCookie(ctx, `oauth-${id}`, scope, null)
}
