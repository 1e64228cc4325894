import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { readJson } from '../../base/http/read-body.ts'
import { SolutionName } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access, Member } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import { publicOriginOf } from '../access/browser-sessions.ts'
import { mayDo, type Right } from '../access/roles.ts'
import type { CenterSettings } from '../config/settings.ts'
import type { KnownSolutions } from './known-solutions.ts'
import {
  NamedSolution,
  NewLink,
  NewSolutionUser,
  RoleInput,
  RoleNameOfSolution,
  SolutionUserChange,
  SolutionUserQuery,
} from './openapi.ts'
import type { Place, SolutionRoles } from './roles.ts'
import type { SendLinks } from './send-links.ts'
import type { SolutionUsers } from './solution-users.ts'

export type SolutionUserApiParts = {
  readonly access: Access
  readonly activity: Activity
  readonly knownSolutions: KnownSolutions
  readonly solutionUsers: SolutionUsers
  readonly solutionRoles: SolutionRoles
  readonly sendLinks: SendLinks
  readonly settings: Pick<CenterSettings, 'publicUrl'>
  readonly limits: Limits
}

export function addSolutionUserRoutes(router: Router, parts: SolutionUserApiParts): void {
  const { access, activity, knownSolutions, solutionUsers, solutionRoles, sendLinks, limits } = parts
  const all = '/organisations/:organisation/solutions'
  const users = `${all}/:solution/users`
  const roles = `${all}/:solution/roles`

  router.get(all, async (ctx) => {
    const member = await access.need(ctx, 'read')
    const items = await knownSolutions.list(member.organisation.id)
    const seesUsers = mayDo(member.role, 'solution-users')
    ctx.body = { items: items.map(({ users: count, ...one }) => (seesUsers ? { ...one, users: count } : one)) }
  })

  router.post(all, async (ctx) => {
    const member = await access.need(ctx, await rightOf(ctx, access))
    const { name } = readWith(NamedSolution, await readJson(ctx, limits))
    const place = { organisation: member.organisation.id, solution: name }
    const act = { action: 'solution-name', subject: name }
    await recorded(ctx, activity, member, act, () => knownSolutions.add(place))
    ctx.status = 201
    ctx.body = (await knownSolutions.list(member.organisation.id)).find((one) => one.name === name)
  })

  router.delete(`${all}/:solution`, async (ctx) => {
    await access.need(ctx, 'login-pages')
    const { member, place } = await ofSolution(ctx, access, 'solution-users')
    const act = { action: 'solution-delete', subject: place.solution }
    await recorded(ctx, activity, member, act, () => knownSolutions.remove(place))
    ctx.status = 204
  })

  router.get(users, async (ctx) => {
    const { place } = await ofSolution(ctx, access, 'solution-users')
    ctx.body = await solutionUsers.list(place, readWith(SolutionUserQuery, { ...ctx.query }))
  })

  router.post(users, async (ctx) => {
    const { member, place } = await ofSolution(ctx, access, 'solution-users')
    const { invite, ...wanted } = readWith(NewSolutionUser, await readJson(ctx, limits))
    const act = { action: 'solution-user-create', subject: `${place.solution} ${wanted.username}` }
    ctx.body = await recorded(ctx, activity, member, act, async () => {
      if (invite) await sendLinks.needShare(member.organisation, wanted.email ?? null)
      const user = await solutionUsers.create(place, wanted)
      if (!invite) return user
      return { ...user, ...(await sendLinks.fromOperator('invitation', recipient(ctx, member, place, user))) }
    })
    ctx.status = 201
  })

  router.get(`${users}/:uid`, async (ctx) => {
    const { place, uid } = await ofSolution(ctx, access, 'solution-users')
    ctx.body = await solutionUsers.need(place, uid)
  })

  router.patch(`${users}/:uid`, async (ctx) => {
    const { member, place, uid } = await ofSolution(ctx, access, 'solution-users')
    const { username } = await solutionUsers.need(place, uid)
    const change = readWith(SolutionUserChange, await readJson(ctx, limits))
    const act = { action: 'solution-user-change', subject: `${place.solution} ${username}` }
    ctx.body = await recorded(ctx, activity, member, act, () => solutionUsers.change(place, uid, change))
  })

  router.delete(`${users}/:uid`, async (ctx) => {
    const { member, place, uid } = await ofSolution(ctx, access, 'solution-users')
    const { username } = await solutionUsers.need(place, uid)
    const act = { action: 'solution-user-delete', subject: `${place.solution} ${username}` }
    await recorded(ctx, activity, member, act, () => solutionUsers.remove(place, uid))
    ctx.status = 204
  })

  router.post(`${users}/:uid/links`, async (ctx) => {
    const { member, place, uid } = await ofSolution(ctx, access, 'solution-users')
    const user = await solutionUsers.need(place, uid)
    const { kind } = readWith(NewLink, await readJson(ctx, limits))
    const act = { action: `solution-user-${kind}`, subject: `${place.solution} ${user.username}` }
    const send = () => sendLinks.fromOperator(kind, recipient(ctx, member, place, user))
    ctx.body = await recorded(ctx, activity, member, act, send)
    ctx.status = 201
  })

  router.get(roles, async (ctx) => {
    const { place } = await ofSolution(ctx, access, 'solution-users')
    ctx.body = { items: await solutionRoles.list(place) }
  })

  router.put(`${roles}/:role`, async (ctx) => {
    const { member, place } = await ofSolution(ctx, access, 'solution-users')
    const role = readWith(RoleNameOfSolution, (ctx.params as { role?: string }).role)
    const { permissions } = readWith(RoleInput, await readJson(ctx, limits))
    const act = { action: 'solution-role-put', subject: `${place.solution} ${role}` }
    ctx.body = await recorded(ctx, activity, member, act, () => solutionRoles.put(place, role, permissions))
  })

  router.delete(`${roles}/:role`, async (ctx) => {
    const { member, place } = await ofSolution(ctx, access, 'solution-users')
    const role = readWith(RoleNameOfSolution, (ctx.params as { role?: string }).role)
    const act = { action: 'solution-role-delete', subject: `${place.solution} ${role}` }
    await recorded(ctx, activity, member, act, async () => {
      if (await solutionRoles.remove(place, role)) return
      throw new PlatformError('ERR_NOT_FOUND', `"${place.solution}" has no role "${role}", or no longer.`)
    })
    ctx.status = 204
  })

  function recipient(ctx: Context, { organisation }: Member, { solution }: Place, user: Recipient['user']): Recipient {
    return { organisation, solution, user, origin: publicOriginOf(ctx, parts.settings) }
  }
}

type Recipient = Parameters<SendLinks['fromOperator']>[1]

/** Who may do something with one of a solution's parts here may name one. */
async function rightOf(ctx: Context, access: Access): Promise<Right> {
  const { role } = await access.need(ctx, 'read')
  return mayDo(role, 'solution-users') ? 'solution-users' : 'login-pages'
}

/**
 * The member who asks, and what about. Any name that a solution can have will do: users are there before packages.
 * @throws ERR_SOLUTION_NOT_FOUND for what no solution can be called
 */
export async function ofSolution(ctx: Context, access: Access, right: Right) {
  const member = await access.need(ctx, right)
  const { solution: given = '', uid = '' } = ctx.params as { solution?: string; uid?: string }
  const solution = SolutionName.safeParse(given)
  if (!solution.success) {
    throw new PlatformError('ERR_SOLUTION_NOT_FOUND', `No solution can be called "${given.slice(0, 100)}".`)
  }
  return { member, place: { organisation: member.organisation.id, solution: solution.data }, uid }
}
