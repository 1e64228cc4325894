import type { Context, Middleware } from 'koa'
import type { User, Users } from '../../base/accounts/users.ts'
import { isRefusal } from '../../base/http/errors.ts'
import { sourceOfPost } from '../../base/http/fetch-metadata.ts'
import { stateOf } from '../../base/http/request.ts'
import { createNews } from '../../base/work/news.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { ApiToken, ApiTokens } from './api-tokens.ts'
import type { Audit } from './audit.ts'
import type { Confirmations } from './confirmations.ts'
import type { Memberships, Organisation } from './organisation.ts'
import { originOf, type PageSession, type PageSessions } from './page-sessions.ts'
import { adviceFor, mayDo, type Right, type Role } from './roles.ts'

/** The sender of a request, as a member of an organisation. Authenticated by a session or an API token. */
export type Member = {
  /** The name in the audit log: `user:{name}` or `token:{id}`. */
  readonly name: string
  /** The user's id; null for an API token. */
  readonly uid: string | null
  readonly organisation: Organisation
  readonly role: Role
}

/** The sender of a request: a user signed in to the pages, or anyone with an API token. */
export type Caller =
  | { readonly kind: 'person'; readonly user: User; readonly session: PageSession }
  | { readonly kind: 'token'; readonly token: ApiToken }

export interface Access {
  /** Finds the caller and stores it for later middleware. */
  readonly identify: Middleware
  /** Rejects API requests without a caller, and browser requests that don't come from our own pages. */
  readonly requireCaller: Middleware
  /**
   * Returns the caller's membership in the organisation named in the URL path (`:organisation`).
   * @throws ERR_NOT_FOUND if they are not a member
   * @throws ERR_FORBIDDEN if their role lacks the permission
   */
  need(ctx: Context, right: Right): Promise<Member>
  /**
   * Whether the caller still has the permission. Check this while streaming a response: the session may end, or the
   * token or membership may be removed. Rejects if this can't be determined, for example during a database failure.
   */
  stillHas(ctx: Context, right: Right): Promise<boolean>
  /** Returns the signed-in user. @throws ERR_FORBIDDEN if the caller uses an API token */
  needPerson(ctx: Context): User
  /**
   * Requires a recent confirmation of the user's identity. Requests with an API token pass, because no user could
   * confirm them.
   * @throws ERR_CONFIRMATION_NEEDED if the user must first confirm their identity
   */
  needConfirmation(ctx: Context): Promise<void>
}

type State = { caller?: Caller | null; member?: Member | null }

/** Returns the sender of the request; null if they aren't authenticated, or `identify` has not run yet. */
export function callerOf(ctx: Context): Caller | null {
  return (ctx.state as State).caller ?? null
}

/**
 * The caller's membership in the organisation named in the URL path. Null if the caller is not a member, or if no
 * middleware has looked up the membership yet.
 */
export function memberOf(ctx: Context): Member | null {
  return (ctx.state as State).member ?? null
}

export type AccessParts = {
  readonly users: Users
  readonly pageSessions: PageSessions
  readonly apiTokens: ApiTokens
  readonly organisations: Memberships
  readonly audit: Audit
  readonly confirmations: Confirmations
}

export function createAccess(parts: AccessParts): Access {
  const { users, pageSessions, apiTokens, organisations, audit, confirmations } = parts
  const isNews = createNews()

  async function findCaller(ctx: Context): Promise<Caller | null> {
    const header = ctx.get('Authorization')
    if (header !== '') {
      const given = /^Bearer (\S{1,4096})$/i.exec(header)?.[1]
      const token = given === undefined ? null : await apiTokens.find(given)
      return token === null ? null : { kind: 'token', token }
    }
    const found = await pageSessions.find(ctx)
    if (found === null) return null
    const user = await users.get(found.session.uid)
    // Reject the sessions of users who must choose a new password. They choose it the next time they sign in.
    return user?.enabled && !user.mustChangePassword ? { kind: 'person', user, session: found } : null
  }

  function requireOwnPage(ctx: Context, { cookie }: PageSession): void {
    const source = sourceOfPost(ctx, originOf(ctx))
    const hasToken = pageSessions.isCsrfToken(cookie, ctx.get('X-CSRF-Token'))
    const isReading = ctx.method === 'GET' || ctx.method === 'HEAD'
    if (source !== 'foreign' && (hasToken || (isReading && source === 'same-origin'))) return
    throw new PlatformError(
      'ERR_FOREIGN_ORIGIN',
      'The request was not sent from a control center page, or you opened the page before you last signed in. Reload the page.',
    )
  }

  async function membershipOf(ctx: Context): Promise<Member | null> {
    const name = String((ctx.params as { organisation?: unknown }).organisation ?? '').slice(0, 100)
    const caller = callerOf(ctx)
    if (caller?.kind === 'person') {
      const found = await organisations.membership(name, caller.user.uid)
      return found === null ? null : { ...found, name: `user:${caller.user.username}`, uid: caller.user.uid }
    }
    const organisation = caller === null ? null : await organisations.find(name)
    if (caller === null || organisation?.id !== caller.token.organisation) return null
    return { name: `token:${caller.token.id}`, uid: null, organisation, role: caller.token.role }
  }

  const access: Access = {
    async identify(ctx, next) {
      ;(ctx.state as State).caller =
        ctx.path.startsWith('/satellite/') || ctx.path.startsWith('/otlp/') ? null : await findCaller(ctx)
      return next()
    },
    async requireCaller(ctx, next) {
      const caller = callerOf(ctx)
      if (caller === null) {
        // Don't use the Basic scheme, because it makes browsers prompt for the password and send it with every later
        // request.
        ctx.set('WWW-Authenticate', 'Bearer realm="control-center"')
        throw new PlatformError(
          'ERR_UNAUTHENTICATED',
          ctx.get('Authorization') === ''
            ? 'You are not signed in. Sign in, or send an API token (Bearer) in the Authorization header.'
            : 'The API token is unknown, revoked or expired. Create a new one on the "API tokens" page.',
        )
      }
      if (caller.kind === 'person') requireOwnPage(ctx, caller.session)
      return next()
    },
    async need(ctx, right) {
      const member = await membershipOf(ctx)
      ;(ctx.state as State).member = member
      if (member === null)
        throw new PlatformError(
          'ERR_NOT_FOUND',
          'You are not a member of this organisation, or it does not exist. Check its name in the URL.',
        )
      if (mayDo(member.role, right)) return member
      const { client, correlationId } = stateOf(ctx)
      if (isNews(JSON.stringify([member.name, member.organisation.id, right]))) {
        const act = {
          organisation: member.organisation.id,
          actor: member.name,
          target: right,
          address: client.address,
        }
        await audit.record({ ...act, action: 'access', outcome: 'ERR_FORBIDDEN', correlationId })
      }
      const advice = adviceFor(right, member.uid === null)
      throw new PlatformError(
        'ERR_FORBIDDEN',
        `The role "${member.role}" does not have the permission "${right}". ${advice}`,
      )
    },
    async stillHas(ctx, right) {
      try {
        await access.identify(ctx, async () => {})
        await access.need(ctx, right)
        return true
      } catch (error) {
        if (isRefusal(error)) return false
        throw error
      }
    },
    needPerson(ctx) {
      const caller = callerOf(ctx)
      if (caller?.kind === 'person') return caller.user
      throw new PlatformError(
        'ERR_FORBIDDEN',
        'This request does not accept API tokens. Sign in to the control center instead.',
      )
    },
    async needConfirmation(ctx) {
      const caller = callerOf(ctx)
      if (caller?.kind !== 'person' || !(await confirmations.isNeeded(caller.session.session))) return
      throw new PlatformError(
        'ERR_CONFIRMATION_NEEDED',
        'This change requires you to confirm your identity. Open /confirm, then repeat the change.',
      )
    },
  }
  return access
}
