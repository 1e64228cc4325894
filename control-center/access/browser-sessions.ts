import type { Context } from 'koa'
import type { PlatformKey } from '../../host/config/platform-key.ts'
import { readCookie, setCookie } from '../../host/http/cookies.ts'
import { stateOf } from '../../host/http/request.ts'
import type { Session, Sessions } from '../../host/sessions/sessions.ts'
import type { User } from '../../host/users/users.ts'
import type { CenterSettings } from '../config/settings.ts'

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
      setCookie(ctx, 'session', scopeOf(ctx), cookie)
    },
    async find(ctx) {
      const cookie = readCookie(ctx, 'session', scopeOf(ctx))
      const session = cookie === undefined ? null : await sessions.find(CENTER, cookie)
      if (session === null || cookie === undefined) return null
      return { session, cookie, csrfToken: key.sign(CSRF, cookie) }
    },
    async end(ctx) {
      const cookie = readCookie(ctx, 'session', scopeOf(ctx))
      if (cookie !== undefined) await sessions.end(CENTER, cookie)
      setCookie(ctx, 'session', scopeOf(ctx), null)
    },
    isCsrfToken: (cookie, token) => key.verify(CSRF, cookie, token),
  }
}

function scopeOf(ctx: Context) {
  return { solution: CENTER, secure: originOf(ctx).startsWith('https:'), ownHost: true }
}

/** Where links lead that are opened elsewhere, such as those of mails: `PUBLIC_URL`, else where the control center is for who asks. */
export function publicOriginOf(ctx: Context, { publicUrl }: Pick<CenterSettings, 'publicUrl'>): string {
  return publicUrl?.origin ?? originOf(ctx)
}

/** Where the control center is for this browser, as the step `hostGate` found. */
export function originOf(ctx: Context): string {
  return stateOf(ctx).site?.origin ?? ''
}
