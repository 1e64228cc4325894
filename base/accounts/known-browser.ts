import type { Context } from 'koa'
import type { Limits } from '../../runtime/limits.ts'
import type { PlatformKey } from '../config/platform-key.ts'
import { type CookieScope, readCookies, setCookie } from '../http/cookies.ts'
import { accountHash } from './throttle.ts'

/**
 * Recognises browsers that have signed in to an account before. An attacker's wrong guesses then don't block users who
 * sign in with such a browser. The cookie `known-{name}` can't be forged, but doesn't sign anyone in.
 */
export interface KnownBrowsers {
  isKnown(ctx: Context, scope: CookieScope, source: string, username: string): boolean
  /** Sets the cookie after a sign-in, unless the browser has one that won't expire soon. */
  note(ctx: Context, scope: CookieScope, source: string, username: string): void
}

const PURPOSE = 'known-browser'
/**
 * The cookie starts with this number of hexadecimal digits: its expiry time in epoch seconds. The signature follows.
 */
const EXPIRY = 8
/** The cookie is renewed once less than this fraction of its lifetime is left. */
const RENEWED = 1 / 2

export function createKnownBrowsers(key: PlatformKey, limits: Limits, now: () => number = Date.now): KnownBrowsers {
  const textOf = ({ realm }: CookieScope, source: string, username: string, expiry: string) => {
    const account = accountHash(source, username)
    return `${realm} ${account} ${expiry}`
  }

  /** @returns whether the browser has a cookie for this account that is valid for more than `left` ms */
  function hasCookie(ctx: Context, scope: CookieScope, source: string, username: string, left: number): boolean {
    return readCookies(ctx, 'known', scope).some((cookie) => {
      const expiry = cookie.slice(0, EXPIRY)
      const isOver = !(Number.parseInt(expiry, 16) * 1000 > now() + left)
      return !isOver && key.verify(PURPOSE, textOf(scope, source, username, expiry), cookie.slice(EXPIRY))
    })
  }

  return {
    isKnown: (ctx, scope, source, username) => hasCookie(ctx, scope, source, username, 0),
    note(ctx, scope, source, username) {
      if (hasCookie(ctx, scope, source, username, limits.KNOWN_BROWSER * RENEWED)) return
      const expiry = Math.floor((now() + limits.KNOWN_BROWSER) / 1000)
        .toString(16)
        .padStart(EXPIRY, '0')
      const cookie = expiry + key.sign(PURPOSE, textOf(scope, source, username, expiry))
      setCookie(ctx, 'known', scope, cookie, limits.KNOWN_BROWSER)
    },
  }
}
