import type { Context } from 'koa'

/**
 * Where cookies are valid. `realm` is a solution's name, or stands for the control center. It is part of the cookie's
 * name. A realm has its own host name, or a path on a shared host.
 */
export type CookieScope = { readonly realm: string; readonly secure: boolean; readonly ownHost: boolean }

/** Each OAuth sign-in has a separate cookie, with the transaction's id in its name. */
export type CookieKind = 'session' | 'login' | 'remember' | 'known' | 'signed-out' | 'step' | `oauth-${string}`

/**
 * On a realm's own host, the prefix is `__Host-`. On a shared host, it is `__Secure-`, and the cookie has the
 * solution's path, so that a request doesn't contain the cookies of other solutions. Without TLS, the name has no
 * prefix.
 */
function cookieName(kind: CookieKind, scope: CookieScope): string {
  const prefix = scope.secure ? (scope.ownHost ? '__Host-' : '__Secure-') : ''
  return `${prefix}${kind}-${scope.realm}`
}

/**
 * Returns the last cookie with a name. It has the shortest path (see `cookieValues`), so browsers send it to all of the
 * realm's pages. Use this function only for cookies that distinguish browsers. If a cookie authenticates a user, check
 * all cookies with its name.
 */
export function readCookie(ctx: Context, kind: CookieKind, scope: CookieScope): string | undefined {
  return readCookies(ctx, kind, scope).at(-1)
}

/**
 * Returns all cookies with a name. If the cookie authenticates a user, check each one, because only the value shows
 * whether this service set the cookie.
 */
export function readCookies(ctx: Context, kind: CookieKind, scope: CookieScope): readonly string[] {
  return cookieValues(ctx, cookieName(kind, scope))
}

/**
 * Maximum number of cookies to check. Each check costs a database query, and another site on the same host must not be
 * able to make requests expensive.
 */
const MOST_COOKIES = 10

/**
 * Returns all cookies with a name, those with longer paths first (RFC 6265, 5.4). Another site on the same host, or on
 * another port, can add cookies with another path. The last cookies have the shortest paths, so they are also sent to
 * other pages.
 */
export function cookieValues(ctx: Context, name: string): readonly string[] {
  const cookie = ctx.get('Cookie')
  if (!cookie.includes(name)) return []
  return cookie
    .split(/; */)
    .filter((pair) => pair.startsWith(name) && pair[name.length] === '=')
    .map((pair) => pair.slice(name.length + 1))
    .filter((value) => /^[A-Za-z0-9_-]{1,200}$/.test(value))
    .slice(-MOST_COOKIES)
}

/**
 * Returns the kinds of the realm's cookies that this browser sent and that start with `prefix`. Ignores names that this
 * service doesn't create, since `setCookie` can't clear them.
 */
export function cookieKinds<Prefix extends 'oauth-'>(
  ctx: Context,
  prefix: Prefix,
  scope: CookieScope,
): readonly `${Prefix}${string}`[] {
  const start = cookieName(prefix, scope).slice(0, -scope.realm.length - 1)
  const end = `-${scope.realm}`
  return ctx
    .get('Cookie')
    .split(/; */)
    .map((pair) => pair.split('=', 1)[0] ?? '')
    .filter((name) => name.startsWith(start) && name.endsWith(end) && name.length > start.length + end.length)
    .filter((name) => PAIR.test(`${name}=`))
    .map((name) => `${prefix}${name.slice(start.length, -end.length)}` as const)
}

/**
 * Sets a cookie that expires after `maxAge` ms, or by default when the browser closes. The server also checks the
 * expiry. The value null clears the cookie.
 */
export function setCookie(
  ctx: Context,
  kind: CookieKind,
  scope: CookieScope,
  value: string | null,
  maxAge?: number,
): void {
  const name = cookieName(kind, scope)
  if (!PAIR.test(`${name}=${value ?? ''}`)) throw new TypeError('a cookie has an invalid name or value')
  const path = scope.ownHost ? '/' : `/solution/${scope.realm}/`
  const expiry = value === null ? 0 : maxAge === undefined ? null : Date.now() + maxAge
  const expires = expiry === null ? '' : `; expires=${new Date(expiry).toUTCString()}`
  // `scope.secure` depends on the site's URL, because behind a proxy, the socket doesn't show whether TLS is used.
  const line = `${name}=${value ?? ''}; path=${path}${expires}; samesite=lax${scope.secure ? '; secure' : ''}; httponly`
  const before = ctx.res.getHeader('Set-Cookie')
  const others = (Array.isArray(before) ? before : []).filter((one) => !one.startsWith(`${name}=`))
  ctx.res.setHeader('Set-Cookie', [...others, line])
}

/**
 * Matches the cookie names and values that this service creates. They don't contain characters that end a cookie or a
 * header (RFC 6265, 4.1.1).
 */
const PAIR = /^[A-Za-z0-9_-]+=[A-Za-z0-9_-]*$/
