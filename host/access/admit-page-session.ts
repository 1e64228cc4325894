import type { Context, Middleware } from 'koa'
import { sourceOfPost } from '../../base/http/fetch-metadata.ts'
import { stateOf } from '../../base/http/request.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { needScope, setActor } from './actor.ts'
import { readPageCookies } from './page-cookie.ts'
import type { PageSession, PageSessions } from './page-sessions.ts'

type Found = { readonly session: PageSession; readonly cookie: string }
type State = { pageSession?: Found }

/** @returns null if the user is not signed in to the admin pages */
export function pageSessionOf(ctx: Context): PageSession | null {
  return (ctx.state as State).pageSession?.session ?? null
}

/** The session, for pages that require a sign-in. @throws TypeError if no user is signed in */
export function needPageSession(ctx: Context): PageSession {
  const session = pageSessionOf(ctx)
  if (session === null) throw new TypeError('the page was opened without a session')
  return session
}

/**
 * The session of the admin account, for pages that don't accept API tokens; null if the user is not signed in.
 * @throws ERR_FORBIDDEN if the user signed in with an API token
 */
export function accountSessionOf(ctx: Context): PageSession | null {
  const session = pageSessionOf(ctx)
  if (session !== null) needScope(session, null, 'write', true)
  return session
}

/** The session's cookie; null if the user is not signed in to the admin pages. */
export function pageCookieOf(ctx: Context): string | null {
  return (ctx.state as State).pageSession?.cookie ?? null
}

/**
 * On the admin port: finds the page session and lets its API requests act as the admin account, or as the API token
 * that signed in. Such a request must come from an admin page. To prove this, a request that changes something must
 * contain the page's token in `X-CSRF-Token`. A request that only reads must contain either the token or Fetch Metadata
 * that reports the same origin.
 */
export function admitPageSession(sessions: PageSessions): Middleware {
  return async (ctx, next) => {
    const found = await findSession(ctx, sessions)
    if (found === null) return next()
    ;(ctx.state as State).pageSession = found
    const { cookie } = found
    if (/^\/admin\/api(\/|$)/.test(ctx.path) && ctx.get('Authorization') === '') {
      requireOwnPage(ctx, sessions.isCsrfToken(cookie, ctx.get('X-CSRF-Token')))
      const isStillIn = async () => (await sessions.find(cookie, { isUse: false })) !== null
      const { name, scopes, isConfirmed } = found.session
      setActor(ctx, { name, scopes, isConfirmed, isStillIn })
    }
    return next()
  }
}

async function findSession(ctx: Context, sessions: PageSessions): Promise<Found | null> {
  const isUse = ctx.get('X-Unattended') === ''
  for (const cookie of readPageCookies(ctx)) {
    const session = await sessions.find(cookie, { isUse })
    if (session !== null) return { session, cookie }
  }
  return null
}

/** The origin of the admin pages as this browser sees it. */
export function adminOrigin(ctx: Context): string {
  const { client } = stateOf(ctx)
  return `${client.protocol}://${client.host}`
}

function requireOwnPage(ctx: Context, hasToken: boolean): void {
  const source = sourceOfPost(ctx, adminOrigin(ctx))
  const isReading = ctx.method === 'GET' || ctx.method === 'HEAD'
  if (source !== 'foreign' && (hasToken || (isReading && source === 'same-origin'))) return
  throw new PlatformError(
    'ERR_FOREIGN_ORIGIN',
    'The request did not come from an admin page, or you have signed in again since you opened it. Reload the page.',
  )
}
