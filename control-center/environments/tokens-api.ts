import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { readJson } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access, Member } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import { environmentIn, paramOf } from './api.ts'
import type { EnvironmentToken, EnvironmentTokens } from './environment-tokens.ts'
import type { Environment, Environments } from './environments.ts'
import { NewEnvironmentToken } from './openapi.ts'

export type EnvironmentTokenApiParts = {
  readonly access: Access
  readonly environments: Environments
  readonly environmentTokens: EnvironmentTokens
  readonly activity: Activity
  readonly limits: Limits
}

/** Of one environment. */
const MOST_TOKENS = 50

/** Remote environment tokens. Their right is of its own: who sees one could be its Satellite. */
export function addEnvironmentTokenRoutes(router: Router, parts: EnvironmentTokenApiParts): void {
  const { access, environments, environmentTokens, activity, limits } = parts
  const all = '/organisations/:organisation/environments/:environment/tokens'

  async function need(ctx: Context): Promise<{ readonly member: Member; readonly environment: Environment }> {
    const member = await access.need(ctx, 'credentials')
    return { member, environment: await environments.need(member.organisation.id, environmentIn(ctx)) }
  }

  async function needToken({ id }: Environment, ctx: Context): Promise<EnvironmentToken> {
    const token = (await environmentTokens.list(id)).find((one) => one.id === paramOf(ctx, 'id'))
    if (token !== undefined) return token
    throw new PlatformError('ERR_NOT_FOUND', 'There is no such token, or no longer.')
  }

  async function create({ id }: Environment, name: string) {
    if ((await environmentTokens.list(id)).length >= MOST_TOKENS) {
      throw new PlatformError(
        'ERR_REQUEST_INVALID',
        `An environment has at most ${MOST_TOKENS} tokens; revoke one first.`,
      )
    }
    const made = await environmentTokens.create(id, name)
    return { ...shown(made), token: made.token }
  }

  router.get(all, async (ctx) => {
    const { environment } = await need(ctx)
    ctx.body = { items: (await environmentTokens.list(environment.id)).map(shown) }
  })

  router.post(all, async (ctx) => {
    const { member, environment } = await need(ctx)
    const { name } = readWith(NewEnvironmentToken, await readJson(ctx, limits))
    const act = { action: 'environment-token-create', subject: `${environment.name} ${name}` }
    ctx.body = await recorded(ctx, activity, member, act, () => create(environment, name))
    ctx.status = 201
  })

  router.post(`${all}/:id/rotate`, async (ctx) => {
    const { member, environment } = await need(ctx)
    const { name } = await needToken(environment, ctx)
    const act = { action: 'environment-token-rotate', subject: `${environment.name} ${name}` }
    ctx.body = await recorded(ctx, activity, member, act, () => create(environment, name))
    ctx.status = 201
  })

  router.delete(`${all}/:id`, async (ctx) => {
    const { member, environment } = await need(ctx)
    const { id, name } = await needToken(environment, ctx)
    const act = { action: 'environment-token-revoke', subject: `${environment.name} ${name}` }
    await recorded(ctx, activity, member, act, () => environmentTokens.remove(environment.id, id))
    ctx.status = 204
  })
}

function shown({ id, name, createdAt, lastUsedAt }: EnvironmentToken) {
  return { id, name, createdAt, lastUsedAt }
}
