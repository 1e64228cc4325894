import type { Context } from 'koa'
import { pageOf } from '../../base/api/open-api.ts'
import { readWith } from '../../base/api/read-with.ts'
import { DONE } from '../../base/api/route.ts'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { Access, Member } from '../access/access.ts'
import type { Place } from '../access/of-solution.ts'
import { placeOf } from '../access/of-solution.ts'
import { publicOriginOf } from '../access/page-sessions.ts'
import { mayDo } from '../access/roles.ts'
import { type MemberRoute, route } from '../access/route.ts'
import type { KnownSolutions } from './known-solutions.ts'
import type { SolutionRoles } from './roles.ts'
import {
  LinkAnswer,
  NamedSolution,
  NewLink,
  NewSolutionUser,
  Role,
  RoleInput,
  RoleNameOfSolution,
  Solution,
  SolutionUser,
  SolutionUserChange,
  SolutionUserQuery,
} from './schemas.ts'
import type { SendLinks } from './send-links.ts'
import type { SolutionUsers } from './solution-users.ts'

export type SolutionUserApiParts = {
  readonly access: Access
  readonly knownSolutions: KnownSolutions
  readonly solutionUsers: SolutionUsers
  readonly solutionRoles: SolutionRoles
  readonly sendLinks: SendLinks
  readonly settings: Pick<ServiceSettings, 'publicUrl'>
}

export function solutionRoutes({ access, knownSolutions }: SolutionUserApiParts): MemberRoute[] {
  return [
    route(
      'GET /organisations/:organisation/solutions',
      {
        summary: 'List the solutions that have a package, users or a login page',
        right: 'read',
        answers: { 200: z.object({ items: z.array(Solution) }) },
      },
      async ({ who }) => {
        const items = await knownSolutions.list(who.organisation.id)
        const seesUsers = mayDo(who.role, 'solution-users')
        return { items: items.map(({ users: count, ...one }) => (seesUsers ? { ...one, users: count } : one)) }
      },
    ),
    route(
      'POST /organisations/:organisation/solutions',
      {
        summary: 'Add a solution that has no package yet',
        right: 'read',
        // A solution can be added to the list by anyone who may manage users or login pages.
        before: ({ who, ctx }) =>
          access.need(ctx, mayDo(who.role, 'solution-users') ? 'solution-users' : 'login-pages'),
        act: 'solution-name',
        body: NamedSolution,
        answers: { 201: Solution },
      },
      async ({ who: { organisation }, body: { name }, names }) => {
        names.target = name
        await knownSolutions.add({ organisation: organisation.id, solution: name })
        const added = (await knownSolutions.list(organisation.id)).find((one) => one.name === name)
        return added ?? { name, loginPage: null }
      },
    ),
    route(
      'DELETE /organisations/:organisation/solutions/:solution',
      {
        summary: 'Delete a solution’s users, roles and login page; packages are not deleted',
        right: 'login-pages',
        before: ({ ctx }) => access.need(ctx, 'solution-users'),
        act: 'solution-delete',
        names: (asking) => ({ target: placeOf(asking).solution }),
        answers: DONE,
      },
      (asked) => knownSolutions.remove(placeOf(asked)),
    ),
  ]
}

type OfUser = { readonly who: Member; readonly params: { readonly solution: string; readonly uid: string } }
type Recipient = Parameters<SendLinks['fromOperator']>[1]

export function solutionUserRoutes({ solutionUsers, sendLinks, settings }: SolutionUserApiParts): MemberRoute[] {
  async function need(asking: OfUser) {
    const place = placeOf(asking)
    return { place, user: await solutionUsers.need(place, asking.params.uid) }
  }

  function named({ found: { place, user } }: { readonly found: Awaited<ReturnType<typeof need>> }) {
    return { target: `${place.solution} ${user.username}` }
  }

  function recipient(ctx: Context, { organisation }: Member, { solution }: Place, user: Recipient['user']): Recipient {
    return { organisation, solution, user, origin: publicOriginOf(ctx, settings) }
  }

  return [
    route(
      'GET /organisations/:organisation/solutions/:solution/users',
      {
        summary: 'List the users, sorted by name',
        right: 'solution-users',
        query: SolutionUserQuery,
        answers: { 200: pageOf(SolutionUser) },
      },
      (asked) => solutionUsers.list(placeOf(asked), asked.query),
    ),
    route(
      'POST /organisations/:organisation/solutions/:solution/users',
      {
        summary: 'Add a user',
        right: 'solution-users',
        act: 'solution-user-create',
        before: placeOf,
        body: NewSolutionUser,
        answers: { 201: SolutionUser },
      },
      async (asked) => {
        const { who, names, ctx, found: place } = asked
        const { invite, ...wanted } = asked.body
        names.target = `${place.solution} ${wanted.username}`
        if (invite) await sendLinks.needShare(who.organisation, wanted.email ?? null)
        const user = await solutionUsers.create(place, wanted)
        if (!invite) return user
        return { ...user, ...(await sendLinks.fromOperator('invitation', recipient(ctx, who, place, user))) }
      },
    ),
    route(
      'GET /organisations/:organisation/solutions/:solution/users/:uid',
      { summary: 'Get a user', right: 'solution-users', answers: { 200: SolutionUser } },
      (asked) => solutionUsers.need(placeOf(asked), asked.params.uid),
    ),
    route(
      'PATCH /organisations/:organisation/solutions/:solution/users/:uid',
      {
        summary: 'Change a user; properties that are not in the request body stay unchanged',
        right: 'solution-users',
        act: 'solution-user-change',
        before: need,
        names: named,
        body: SolutionUserChange,
        answers: { 200: SolutionUser },
      },
      ({ found: { place, user }, body }) => solutionUsers.change(place, user.uid, body),
    ),
    route(
      'DELETE /organisations/:organisation/solutions/:solution/users/:uid',
      {
        summary: 'Delete a user',
        right: 'solution-users',
        act: 'solution-user-delete',
        before: need,
        names: named,
        answers: DONE,
      },
      ({ found: { place, user } }) => solutionUsers.remove(place, user.uid),
    ),
    route(
      'POST /organisations/:organisation/solutions/:solution/users/:uid/links',
      {
        summary: 'Create a link: an invitation, a password reset, or a confirmation of the email address',
        right: 'solution-users',
        act: 'solution-user-link',
        before: need,
        names: named,
        body: NewLink,
        answers: { 201: LinkAnswer },
      },
      ({ who, body, names, ctx, found: { place, user } }) => {
        names.action = `solution-user-${body.kind}`
        return sendLinks.fromOperator(body.kind, recipient(ctx, who, place, user))
      },
    ),
  ]
}

type OfRole = { readonly who: Member; readonly params: { readonly solution: string; readonly role: string } }

export function solutionRoleRoutes({ solutionRoles }: SolutionUserApiParts): MemberRoute[] {
  const roleIn = ({ params }: OfRole) => readWith(RoleNameOfSolution, params.role)
  const named = (asking: OfRole) => ({ target: `${placeOf(asking).solution} ${roleIn(asking)}` })

  return [
    route(
      'GET /organisations/:organisation/solutions/:solution/roles',
      {
        summary: 'List the roles',
        right: 'solution-users',
        answers: { 200: z.object({ items: z.array(Role) }) },
      },
      async (asked) => ({ items: await solutionRoles.list(placeOf(asked)) }),
    ),
    route(
      'PUT /organisations/:organisation/solutions/:solution/roles/:role',
      {
        summary: 'Create a role, or change its permissions',
        right: 'solution-users',
        act: 'solution-role-put',
        before: named,
        names: named,
        body: RoleInput,
        answers: { 200: Role },
      },
      (asked) => solutionRoles.put(placeOf(asked), roleIn(asked), asked.body.permissions),
    ),
    route(
      'DELETE /organisations/:organisation/solutions/:solution/roles/:role',
      {
        summary: 'Delete a role, and remove it from users',
        right: 'solution-users',
        act: 'solution-role-delete',
        names: named,
        answers: DONE,
      },
      async (asked) => {
        const [place, role] = [placeOf(asked), roleIn(asked)]
        if (await solutionRoles.remove(place, role)) return
        throw new PlatformError(
          'ERR_NOT_FOUND',
          `The solution "${place.solution}" has no role "${role}". The role may have been deleted.`,
        )
      },
    ),
  ]
}
