import type { Context } from 'koa'
import { findSession } from '../../base/accounts/find-session.ts'
import type { Session, Sessions } from '../../base/accounts/sessions.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import type { User, Users } from '../../base/accounts/users.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import { type CookieScope, readCookies, setCookie } from '../../base/http/cookies.ts'
import { agentOf, stateOf } from '../../base/http/request.ts'

/** A user's session on the control center's pages. The page token proves that a request comes from one of our pages. */
export type PageSession = {
  readonly session: Session
  readonly cookie: string
  readonly csrfToken: string
}

type SignedInUser = Pick<User, 'uid' | 'username' | 'passwordChangedAt'>

/** Users' sessions on the control center's pages. */
export interface PageSessions {
  /**
   * Starts a session and sets its cookie.
   * @param user the user when they proved their identity
   * @param methods how the user signed in
   * @returns false if the user was disabled or deleted, or got a new password in the meantime, so they are not signed
   *   in
   */
  start(ctx: Context, user: SignedInUser, methods: readonly SignInMethod[]): Promise<boolean>
  find(ctx: Context): Promise<PageSession | null>
  end(ctx: Context): Promise<void>
  /**
   * Records that the user has just confirmed their identity.
   * @param method the second factor that the user confirmed with; null if they used none
   */
  confirm(session: PageSession, method: SignInMethod | null): Promise<void>
  isCsrfToken(cookie: string, token: string): boolean
}

/**
 * The control center's realm. Sessions and cookie names contain it, so changing it signs everyone out. A host at the
 * same URL uses other cookie names, because a solution's name can't start with a capital letter.
 */
export const REALM = 'Control-Center'
const CSRF = 'center-csrf'

export function createPageSessions(sessions: Sessions, users: Pick<Users, 'get'>, key: PlatformKey): PageSessions {
  return {
    async start(ctx, { uid, username, passwordChangedAt }, methods) {
      const { cookie } = await sessions.start({
        realm: REALM,
        uid,
        username,
        permissions: [],
        tenant: null,
        locale: 'en',
        source: 'users',
        selector: null,
        providerLogin: null,
        factorsOf: 'users',
        methods,
        isConfirmed: true,
        agent: agentOf(ctx),
        address: stateOf(ctx).client.address,
      })
      // If the password was changed before the session was stored, nothing else ends the session.
      const user = await users.get(uid)
      if (!user?.enabled || user.passwordChangedAt !== passwordChangedAt) {
        await sessions.end(REALM, cookie)
        return false
      }
      setCookie(ctx, 'session', cookieScopeOf(ctx), cookie)
      return true
    },
    async find(ctx) {
      const found = await findSession(ctx, cookieScopeOf(ctx), sessions)
      return found === null ? null : { ...found, csrfToken: key.sign(CSRF, found.cookie) }
    },
    async end(ctx) {
      for (const cookie of readCookies(ctx, 'session', cookieScopeOf(ctx))) await sessions.end(REALM, cookie)
      setCookie(ctx, 'session', cookieScopeOf(ctx), null)
    },
    async confirm({ session, cookie }, method) {
      const methods = method === null ? session.methods : [...new Set([...session.methods, method])]
      await sessions.confirm(REALM, cookie, methods)
    },
    isCsrfToken: (cookie, token) => key.verify(CSRF, cookie, token),
  }
}

export function cookieScopeOf(ctx: Context): CookieScope {
  return { realm: REALM, secure: originOf(ctx).startsWith('https:'), ownHost: true }
}

/**
 * The origin for links in emails and other links that are opened outside this browser. Uses `PUBLIC_URL` if it is set,
 * otherwise the origin of this request.
 */
export function publicOriginOf(ctx: Context, { publicUrl }: Pick<ServiceSettings, 'publicUrl'>): string {
  return publicUrl?.origin ?? originOf(ctx)
}

/** The origin at which this browser uses the control center. The middleware `hostGate` has determined it. */
export function originOf(ctx: Context): string {
  return stateOf(ctx).site?.origin ?? ''
}
