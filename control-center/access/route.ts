import type Router from '@koa/router'
import type { User } from '../../base/accounts/users.ts'
import { addRoutes, type Route, routesOf } from '../../base/api/route.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access, Member } from './access.ts'
import { type Audit, recorded } from './audit.ts'
import type { Right } from './roles.ts'

/** The target and action in a request's audit entry. Without an action, the entry contains the route's action. */
export type Names = { target?: string; action?: string }
/** A route for the members and API tokens of the organisation in the URL path. */
export type MemberRoute = Route<Member, Right, string, Names>
/** A route for signed-in users, regardless of their organisations. Rejects API tokens. */
export type PersonRoute = Route<User, 'person', string, Names>

export const route = routesOf<Member, Right, string, Names>()
export const personRoute = routesOf<User, 'person', string, Names>()

export type RouteParts = { readonly access: Access; readonly audit: Audit; readonly limits: Limits }

/**
 * Users must confirm their identity for these actions, because they determine who else gets access. Chosen here:
 * removing a member or an invitation only removes access, so it needs no confirmation.
 */
const CONFIRMED: ReadonlySet<string> = new Set([
  'access-token-create',
  'access-token-delete',
  'environment-token-create',
  'environment-token-rotate',
  'environment-token-revoke',
  'factor-reset',
  'invitation-create',
  'member-role',
  'sign-in-policy',
])

/** Actions that API tokens can't perform. Otherwise, someone with a pipeline's token could turn second factors off. */
const OF_PERSONS: ReadonlySet<string> = new Set(['factor-reset', 'sign-in-policy'])

export function addMemberRoutes(router: Router, routes: readonly MemberRoute[], parts: RouteParts): void {
  const { access, audit, limits } = parts
  addRoutes(router, routes, {
    limits,
    async run({ ctx, right, act }, { name, read, work }) {
      const member = await access.need(ctx, right)
      if (act !== undefined && OF_PERSONS.has(act)) access.needPerson(ctx)
      await read(member)
      if (act === undefined) return work(member)
      return recorded(ctx, audit, member, named(act, await name(member)), async () => {
        if (CONFIRMED.has(act)) await access.needConfirmation(ctx)
        return work(member)
      })
    },
  })
}

export function addPersonRoutes(router: Router, routes: readonly PersonRoute[], parts: RouteParts): void {
  const { access, audit, limits } = parts
  addRoutes(router, routes, {
    limits,
    async run({ ctx, act }, { name, read, work }) {
      const user = access.needPerson(ctx)
      await read(user)
      if (act === undefined) return work(user)
      // Actions on a person's own account don't belong to an organisation.
      const actor = { name: `user:${user.username}` }
      return recorded(ctx, audit, actor, named(act, await name(user)), () => work(user))
    },
  })
}

/** Sets the action. Returns the same object, because the handler may change it later. */
function named(act: string, names: Names): Names & { action: string } {
  return Object.assign(names, { action: names.action ?? act })
}
