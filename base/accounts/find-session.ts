import type { Context } from 'koa'
import { type CookieScope, readCookies } from '../http/cookies.ts'
import type { Session, Sessions } from './sessions.ts'

export type FoundSession = { readonly session: Session; readonly cookie: string }

export async function findSession(
  ctx: Context,
  scope: CookieScope,
  sessions: Pick<Sessions, 'find'>,
): Promise<FoundSession | null> {
  for (const cookie of readCookies(ctx, 'session', scope)) {
    const session = await sessions.find(scope.realm, cookie)
    if (session !== null) return { session, cookie }
  }
  return null
}
