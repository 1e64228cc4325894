import type { Context } from 'koa'
import { findSession } from '../../base/accounts/find-session.ts'
import type { Session, Sessions } from '../../base/accounts/sessions.ts'
import type { User } from '../../base/accounts/users.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import { type CookieScope, readCookies, setCookie } from '../../base/http/cookies.ts'
import { stateOf } from '../../base/http/request.ts'

/** Who is signed in to the pages of the control center, with what a page sends along to show that it is ours. */
export type BrowserSession = {
  readonly session: Session
  readonly cookie: string
  readonly csrfToken: string
}

/** Sign-ins of browsers, in the host's own sessions, as of a solution of this name. */
export interface BrowserSessions {
  /** Sets the cookie. */
  start(ctx: Context, user: Pick<User, 'uid' | 'username'>): Promise<void>
  find(ctx: Context): Promise<BrowserSession | null>
  end(ctx: Context): Promise<void>
  isCsrfToken(cookie: string, token: string): boolean
}

/** No solution can have this name: it begins with a capital. */
export const CENTER = 'Control-Center'
const CSRF = 'center-csrf'

export function createBrowserSessions(sessions: Sessions, key: PlatformKey): BrowserSessions {
  return {
    async start(ctx, { uid, username }) {
      const { cookie } = await sessions.start({
        solution: CENTER,
        uid,
        username,
        permissions: [],
        tenant: null,
        locale: 'en',
        source: 'users',
        selector: null,
        providerLogin: null,
        address: stateOf(ctx).client.address,
      })
      setCookie(ctx, 'session', cookieScopeOf(ctx), cookie)
    },
    async find(ctx) {
      const found = await findSession(ctx, cookieScopeOf(ctx), sessions)
      return found === null ? null : { ...found, csrfToken: key.sign(CSRF, found.cookie) }
    },
    async end(ctx) {
      for (const cookie of readCookies(ctx, 'session', cookieScopeOf(ctx))) await sessions.end(CENTER, cookie)
      setCookie(ctx, 'session', cookieScopeOf(ctx), null)
    },
    isCsrfToken: (cookie, token) => key.verify(CSRF, cookie, token),
  }
}

/** Of the control center's cookies. */
export function cookieScopeOf(ctx: Context): CookieScope {
  return { solution: CENTER, secure: originOf(ctx).startsWith('https:'), ownHost: true }
}

/** Where links lead that are opened elsewhere, such as those of mails: `PUBLIC_URL`, else where the control center is for who asks. */
export function publicOriginOf(ctx: Context, { publicUrl }: Pick<ServiceSettings, 'publicUrl'>): string {
  return publicUrl?.origin ?? originOf(ctx)
}

/** Where the control center is for this browser, as the step `hostGate` found. */
export function originOf(ctx: Context): string {
  return stateOf(ctx).site?.origin ?? ''
}
