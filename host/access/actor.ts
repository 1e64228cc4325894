import type { Context } from 'koa'
import { stateOf } from '../../base/http/request.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { AuditAction, AuditEntry } from './audit.ts'

/** The caller of the API: the admin account, which has full access, or a token with scopes. */
export type Actor = {
  /** The actor's name in the audit log: `admin` or `token:{id}`. */
  readonly name: string
  /**
   * Null for full access. Otherwise, the scopes, such as `solutions:crm:write`, `solutions:*:read` or `users:read`. A
   * `write` scope includes `read`.
   */
  readonly scopes: readonly string[] | null
  /**
   * Whether the operator confirmed their identity within the last `CONFIRMED_FOR`. Always true for tools: they can't
   * confirm, but each of their requests contains credentials.
   */
  readonly isConfirmed: boolean
  /** Whether the credentials are still valid; long-running responses check this repeatedly. */
  readonly isStillIn: () => Promise<boolean>
}

export type Scoped = Pick<Actor, 'scopes'>
export type ScopeKind = 'read' | 'write'

export function setActor(ctx: Context, actor: Actor): void {
  ctx.state.actor = actor
}

export function isAuthenticated(ctx: Context): boolean {
  return (ctx.state as { actor?: Actor }).actor !== undefined
}

export function actorOf(ctx: Context): Actor {
  const { actor } = ctx.state as { actor?: Actor }
  if (actor === undefined) throw new TypeError('the request was not authenticated')
  return actor
}

/**
 * Checks that the actor has a scope.
 * @param subject `solutions:{name}`, `users`, `sessions`, `audit`, `maintenance` or `health`; null allows only the
 *   admin account and tokens with the scope `admin`
 * @param isOfAccount if true, the scope `admin` is not enough
 * @throws ERR_FORBIDDEN with the name of the missing scope
 */
export function needScope({ scopes }: Scoped, subject: string | null, kind: ScopeKind, isOfAccount: boolean): void {
  if (scopes === null || (scopes.includes('admin') && !isOfAccount)) return
  if (subject === null) {
    const who = isOfAccount ? 'the admin account' : 'the admin account, or a token with the scope admin,'
    throw new PlatformError('ERR_FORBIDDEN', `Only ${who} can do this.`)
  }
  if (includesScope(scopes, subject, kind)) return
  throw new PlatformError('ERR_FORBIDDEN', `This requires a token with the scope ${subject}:${kind}.`)
}

/** Whether the actor has a scope. For the parameters, see `needScope`. */
export function hasScope({ scopes }: Scoped, subject: string, kind: ScopeKind): boolean {
  return scopes === null || scopes.includes('admin') || includesScope(scopes, subject, kind)
}

function includesScope(scopes: readonly string[], subject: string, kind: ScopeKind): boolean {
  const kinds = kind === 'read' ? ['read', 'write'] : ['write']
  const subjects = [subject, subject.replace(/^solutions:.*/, 'solutions:*')]
  return subjects.some((one) => kinds.some((each) => scopes.includes(`${one}:${each}`)))
}

/** @throws ERR_CONFIRMATION_NEEDED */
export function needConfirmation(ctx: Context): void {
  if (actorOf(ctx).isConfirmed) return
  throw new PlatformError(
    'ERR_CONFIRMATION_NEEDED',
    'Confirm that it’s you before you change this: open /admin/confirm, then repeat the change.',
  )
}

/**
 * The solution and the target of an audit entry. If they are unknown before a route's handler runs, the handler sets
 * them.
 */
export type Named = { -readonly [Key in 'solution' | 'target']?: AuditEntry[Key] }

export function auditOf(ctx: Context, action: AuditAction, outcome: string, named: Named): AuditEntry {
  const { client, correlationId } = stateOf(ctx)
  return { actor: actorOf(ctx).name, action, outcome, address: client.address, correlationId, ...named }
}
