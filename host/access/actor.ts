import type { Context } from 'koa'
import { stateOf } from '../../base/http/request.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { AuditAction, AuditEntry } from './audit.ts'

/** Who uses the API: the admin account, which may do everything, or a token with its scopes. */
export type Actor = {
  /** As the audit names it: `admin` or `token:{id}`. */
  readonly name: string
  /** null: everything. Else such as `solutions:crm:write`, `solutions:*:read` or `users:read`; `write` includes `read`. */
  readonly scopes: readonly string[] | null
  /** Whether what let it in still does: an answer that goes on for long asks now and again. */
  readonly isStillIn: () => Promise<boolean>
}

export function setActor(ctx: Context, actor: Actor): void {
  ctx.state.actor = actor
}

export function isAuthenticated(ctx: Context): boolean {
  return (ctx.state as { actor?: Actor }).actor !== undefined
}

export function actorOf(ctx: Context): Actor {
  const { actor } = ctx.state as { actor?: Actor }
  if (actor === undefined) throw new TypeError('nobody was authenticated')
  return actor
}

/**
 * @param subject `solutions:{name}`, `users`, `sessions`, `audit`, `maintenance` or `health`; null: only the admin account may
 * @throws ERR_FORBIDDEN that names the scope which is missing
 */
export function needScope(ctx: Context, subject: string | null, kind: 'read' | 'write'): void {
  const { scopes } = actorOf(ctx)
  if (scopes === null) return
  if (subject === null) throw new PlatformError('ERR_FORBIDDEN', 'Only the admin account may do this, no token.')
  const kinds = kind === 'read' ? ['read', 'write'] : ['write']
  const subjects = [subject, subject.replace(/^solutions:.*/, 'solutions:*')]
  if (subjects.some((one) => kinds.some((each) => scopes.includes(`${one}:${each}`)))) return
  throw new PlatformError('ERR_FORBIDDEN', `The token lacks the scope ${subject}:${kind}.`)
}

/** The names in an entry. `work` sets those that are known only once it has begun. */
export type Named = { -readonly [Key in 'solution' | 'target']?: AuditEntry[Key] }

/** An entry of the audit for what the request did. */
export function auditOf(ctx: Context, action: AuditAction, outcome: string, named: Named): AuditEntry {
  const { client, correlationId } = stateOf(ctx)
  return { actor: actorOf(ctx).name, action, outcome, address: client.address, correlationId, ...named }
}
