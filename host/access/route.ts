import type Router from '@koa/router'
import { recordOutcome } from '../../base/api/record-outcome.ts'
import { addRoutes, type Route, routesOf } from '../../base/api/route.ts'
import type { Limits } from '../../runtime/limits.ts'
import { type Actor, actorOf, auditOf, type Named, needConfirmation, needScope, type ScopeKind } from './actor.ts'
import type { Audit, AuditAction } from './audit.ts'

/**
 * The token scope that a route requires. It can contain a route parameter as `{name}`. `any` allows any token. Null
 * allows only the admin account and tokens with the scope `admin`. `account` allows only the admin account.
 */
export type AdminRight = `${string}:${'read' | 'write'}` | 'any' | 'account' | null
export type AdminRoute = Route<Actor, AdminRight, AuditAction, Named>

export const route = routesOf<Actor, AdminRight, AuditAction, Named>()

/** Before these actions, operators must confirm their identity, because the actions change who has access. */
const CONFIRMED: ReadonlySet<AuditAction> = new Set([
  'solution-grants',
  'token-create',
  'token-delete',
  'sign-in-policy',
  'directory',
  'factor-reset',
])

/** For these actions, a token needs exactly the scope that the route declares. The scope `admin` is not enough. */
const OF_ACCOUNT: ReadonlySet<AuditAction> = new Set(['factor-reset', 'factor-unlock'])

export function addAdminRoutes(
  router: Router,
  routes: readonly AdminRoute[],
  { audit, limits }: { readonly audit: Audit; readonly limits: Limits },
): void {
  addRoutes(router, routes, {
    limits,
    async run({ ctx, right, act, params }, { name, read, work, isLeftOut }) {
      const actor = actorOf(ctx)
      async function admitted() {
        const isOfAccount = right === 'account' || (act !== undefined && OF_ACCOUNT.has(act))
        if (right !== 'any') needScope(actor, ...scopeOf(right, params), isOfAccount)
        if (act !== undefined && CONFIRMED.has(act)) needConfirmation(ctx)
        await read(actor)
        return work(actor)
      }
      if (act === undefined) return admitted()
      const names = await name(actor)
      return recordOutcome(admitted, async (outcome) => {
        if (!isLeftOut()) await audit.record(auditOf(ctx, act, outcome, names))
      })
    },
  })
}

/**
 * Fills in the scope's parameters.
 * @returns the arguments for `needScope`
 */
export function scopeOf(
  right: Exclude<AdminRight, 'any'>,
  params: Readonly<Record<string, string>>,
): [string | null, ScopeKind] {
  if (right === null || right === 'account') return [null, 'write']
  const [, subject = '', kind] = /^(.+):(read|write)$/.exec(right) ?? []
  return [subject.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? ''), kind as ScopeKind]
}
