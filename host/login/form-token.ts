import { randomBytes } from 'node:crypto'
import type { Context } from 'koa'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import { type CookieScope, readCookie, readCookies, setCookie } from '../../base/http/cookies.ts'

/**
 * The hidden token of a form, bound to the browser by the cookie `login-{name}`. The cookie is kept by later pages, so
 * that two tabs work, and replaced at sign-in.
 */
export interface FormTokens {
  /** The token for a page; sets the cookie if the browser has none. The same one for all of an answer. */
  issue(ctx: Context, scope: CookieScope): string
  check(ctx: Context, scope: CookieScope, token: string | undefined): boolean
  /** Gives the browser a new cookie: tokens of earlier pages are worth nothing after it. */
  renew(ctx: Context, scope: CookieScope): void
  /** What names the browser by its cookie and does not show it; null where it has none. Sets nothing. */
  browserOf(ctx: Context, scope: CookieScope): string | null
  /** The same for each of its cookies, to find what an earlier `browserOf` named. */
  browsersOf(ctx: Context, scope: CookieScope): readonly string[]
}

const PURPOSE = 'form-token'

export function createFormTokens(key: PlatformKey): FormTokens {
  /** The cookies that answers set: their pages come back with these. A request is for one solution. */
  const given = new WeakMap<Context, string>()
  const textOf = (scope: CookieScope, cookie: string) => `${scope.solution} ${cookie}`

  function renew(ctx: Context, scope: CookieScope): string {
    const cookie = randomBytes(24).toString('base64url')
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
      const cookie = readCookie(ctx, 'login', scope)
      return cookie === undefined ? null : storedHash(cookie)
    },
    browsersOf: (ctx, scope) => readCookies(ctx, 'login', scope).map(storedHash),
  }
}
