import type { Context } from 'koa'
import type { PlatformKey } from '../config/platform-key.ts'
import { storedHash } from '../database/stored-hash.ts'
import { type CookieScope, readCookie, readCookies, setCookie } from '../http/cookies.ts'
import { randomText } from '../program/random-text.ts'

/**
 * The CSRF token of a form, bound to the browser by the cookie `login-{name}`. Opening another page doesn't change the
 * cookie, so that forms in two tabs work. Signing in replaces it.
 */
export interface FormTokens {
  /**
   * Returns the token for a page; sets the cookie if the browser has none. Within one response, all calls return the
   * same token.
   */
  issue(ctx: Context, scope: CookieScope): string
  check(ctx: Context, scope: CookieScope, token: string | undefined): boolean
  /** Gives the browser a new cookie, which invalidates the tokens of earlier pages. */
  renew(ctx: Context, scope: CookieScope): void
  /**
   * Returns the browser's id: the hash of its cookie. If this response sets a new cookie, uses that one. Returns null
   * if there is no cookie. Never sets a cookie.
   */
  browserOf(ctx: Context, scope: CookieScope): string | null
  /**
   * A browser can send several cookies with the same name. Returns an id for each, to compare with an earlier result of
   * `browserOf`.
   */
  browsersOf(ctx: Context, scope: CookieScope): readonly string[]
}

const PURPOSE = 'form-token'

export function createFormTokens(key: PlatformKey): FormTokens {
  /**
   * The new cookie that each response sets. All tokens on a page must belong to the same cookie. One cookie per
   * response is enough, because a request belongs to one solution.
   */
  const given = new WeakMap<Context, string>()
  const textOf = (scope: CookieScope, cookie: string) => `${scope.realm} ${cookie}`

  function renew(ctx: Context, scope: CookieScope): string {
    const cookie = randomText(24)
    setCookie(ctx, 'login', scope, cookie)
    given.set(ctx, cookie)
    return cookie
  }

  return {
    issue(ctx, scope) {
      const cookie = given.get(ctx) ?? readCookie(ctx, 'login', scope) ?? renew(ctx, scope)
      return key.sign(PURPOSE, textOf(scope, cookie))
    },
    check(ctx, scope, token) {
      const isOf = (cookie: string) => token !== undefined && key.verify(PURPOSE, textOf(scope, cookie), token)
      return readCookies(ctx, 'login', scope).some(isOf)
    },
    renew: (ctx, scope) => void renew(ctx, scope),
    browserOf(ctx, scope) {
      const cookie = given.get(ctx) ?? readCookie(ctx, 'login', scope)
      return cookie === undefined ? null : storedHash(cookie)
    },
    browsersOf: (ctx, scope) => readCookies(ctx, 'login', scope).map(storedHash),
  }
}
