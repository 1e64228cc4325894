import type { Context } from 'koa'
import { type CookieScope, cookieKinds, readCookies, setCookie } from '../../base/http/cookies.ts'
import type { Limits } from '../../runtime/limits.ts'

/**
 * Maximum number of OAuth sign-ins that a browser may have in progress in a solution. Chosen here: each has a cookie,
 * and the cookies in a request must stay far below the limit of servers and proxies (8 KiB).
 */
const MOST = 20

/** Binds a transaction to the browser. If there are too many cookies, the oldest ones are deleted. */
export function setTransactionCookie(
  ctx: Context,
  scope: CookieScope,
  { id, cookie }: { readonly id: string; readonly cookie: string },
  limits: Pick<Limits, 'OAUTH_TRANSACTION'>,
): void {
  const open = [...cookieKinds(ctx, 'oauth-', scope)].sort()
  // Only a foreign script can have set hundreds of cookies. A response that clears them all would be too large for
  // proxies.
  const surplus = Math.min(MOST, Math.max(0, open.length - MOST + 1))
  for (const kind of open.slice(0, surplus)) setCookie(ctx, kind, scope, null)
  setCookie(ctx, `oauth-${id}`, scope, cookie, limits.OAUTH_TRANSACTION)
}

/** @param id untrusted; an invalid id never matches a cookie */
export function readTransactionCookies(ctx: Context, scope: CookieScope, id: string): readonly string[] {
  return /^[a-z0-9]{7}[A-Za-z0-9_-]{24}$/.test(id) ? readCookies(ctx, `oauth-${id}`, scope) : []
}

export function clearTransactionCookie(ctx: Context, scope: CookieScope, id: string): void {
  setCookie(ctx, `oauth-${id}`, scope, null)
}
