import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { readJson } from '../../base/http/read-body.ts'
import { SolutionName } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import type { Environment, Environments } from './environments.ts'
import { NewEnvironment } from './openapi.ts'
import type { EnvironmentState, EnvironmentStates } from './states.ts'

export type EnvironmentApiParts = {
  readonly access: Access
  readonly environments: Environments
  readonly environmentStates: EnvironmentStates
  readonly activity: Activity
  readonly limits: Limits
}

/** Of one environment: the desired state names no more. */
const MOST_SOLUTIONS = 200

export function addEnvironmentRoutes(router: Router, parts: EnvironmentApiParts): void {
  const { access, environments, environmentStates, activity, limits } = parts
  const all = '/organisations/:organisation/environments'
  const one = `${all}/:environment`

  router.get(all, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    const states = await environmentStates.ofOrganisation(organisation.id)
    const items = await environments.list(organisation.id)
    ctx.body = { items: items.map((environment) => shown(environment, states.get(environment.id) ?? null)) }
  })

  router.post(all, async (ctx) => {
    const member = await access.need(ctx, 'environments')
    const wanted = readWith(NewEnvironment, await readJson(ctx, limits))
    const act = { action: 'environment-create', subject: wanted.name }
    const create = () => environments.create(member.organisation.id, wanted)
    const environment = await recorded(ctx, activity, member, act, create)
    ctx.status = 201
    ctx.set('Location', `/api/organisations/${member.organisation.name}/environments/${environment.name}`)
    ctx.body = shown(environment, null)
  })

  router.get(one, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    const environment = await environments.need(organisation.id, environmentIn(ctx))
    const state = await environmentStates.find(environment.id)
    ctx.body = { ...shown(environment, state), solutions: await environments.solutions(environment.id) }
  })

  router.delete(one, async (ctx) => {
    const member = await access.need(ctx, 'environments')
    const name = environmentIn(ctx)
    await recorded(ctx, activity, member, { action: 'environment-delete', subject: name }, async () => {
      await environments.need(member.organisation.id, name)
      if (ctx.query.confirm !== name) {
        throw new PlatformError('ERR_REQUEST_INVALID', `To delete the environment, confirm its name: ?confirm=${name}`)
      }
      await environments.remove(member.organisation.id, name)
    })
    ctx.status = 204
  })

  router.put(`${one}/solutions/:solution`, async (ctx) => {
    const member = await access.need(ctx, 'environments')
    const { id, name } = await environments.need(member.organisation.id, environmentIn(ctx))
    const solution = readWith(SolutionName, paramOf(ctx, 'solution'))
    const act = { action: 'environment-solution-add', subject: `${name} ${solution}` }
    await recorded(ctx, activity, member, act, async () => {
      const others = (await environments.solutions(id)).filter((other) => other !== solution)
      if (others.length >= MOST_SOLUTIONS) {
        throw new PlatformError('ERR_REQUEST_INVALID', `An environment has at most ${MOST_SOLUTIONS} solutions.`)
      }
      await environments.addSolution(id, solution)
    })
    ctx.status = 204
  })

  router.delete(`${one}/solutions/:solution`, async (ctx) => {
    const member = await access.need(ctx, 'environments')
    const { id, name } = await environments.need(member.organisation.id, environmentIn(ctx))
    const solution = paramOf(ctx, 'solution')
    const act = { action: 'environment-solution-remove', subject: `${name} ${solution}` }
    await recorded(ctx, activity, member, act, async () => {
      if (await environments.removeSolution(id, solution)) return
      throw new PlatformError('ERR_NOT_FOUND', `"${solution}" is no solution of the environment "${name}".`)
    })
    ctx.status = 204
  })
}

/** The environment's name in the address. */
export function environmentIn(ctx: Context): string {
  return paramOf(ctx, 'environment')
}

export function paramOf(ctx: Context, name: string): string {
  return String((ctx.params as Record<string, unknown>)[name] ?? '').slice(0, 100)
}

function shown({ name, type, createdAt }: Environment, state: EnvironmentState | null) {
  return { name, type, createdAt, state }
}
