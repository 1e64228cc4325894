import type Router from '@koa/router'
import { readWith } from '../../base/api/read-with.ts'
import { tokenTarget } from '../../base/api/targets.ts'
import { readJson } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access } from './access.ts'
import type { AccessTokens } from './access-tokens.ts'
import { type Activity, recorded } from './activity.ts'
import { ActivityQuery, NewAccessToken } from './openapi.ts'

export type AccessApiParts = {
  readonly access: Access
  readonly accessTokens: AccessTokens
  readonly activity: Activity
  readonly limits: Limits
}

export function addAccessRoutes(router: Router, { access, accessTokens, activity, limits }: AccessApiParts): void {
  const one = '/organisations/:organisation'

  router.get(`${one}/access-tokens`, async (ctx) => {
    const { organisation } = await access.need(ctx, 'access-tokens')
    ctx.body = { items: await accessTokens.list(organisation.id) }
  })

  router.post(`${one}/access-tokens`, async (ctx) => {
    const member = await access.need(ctx, 'access-tokens')
    const wanted = readWith(NewAccessToken, await readJson(ctx, limits))
    const act = { action: 'access-token-create', subject: wanted.name }
    ctx.body = await recorded(ctx, activity, member, act, async () => {
      const token = await accessTokens.create(member.organisation.id, wanted)
      act.subject = tokenTarget(token)
      return token
    })
    ctx.status = 201
  })

  router.delete(`${one}/access-tokens/:id`, async (ctx) => {
    const member = await access.need(ctx, 'access-tokens')
    const { id: asked = '' } = ctx.params as { id?: string }
    const id = asked.slice(0, 100)
    const token = (await accessTokens.list(member.organisation.id)).find((one) => one.id === id)
    const act = { action: 'access-token-delete', subject: token === undefined ? `token:${id}` : tokenTarget(token) }
    await recorded(ctx, activity, member, act, async () => {
      if (await accessTokens.remove(member.organisation.id, id)) return
      throw new PlatformError('ERR_NOT_FOUND', 'There is no such access token, or no longer.')
    })
    ctx.status = 204
  })

  router.get(`${one}/activity`, async (ctx) => {
    const { organisation } = await access.need(ctx, 'activity')
    ctx.body = await activity.read({ organisation: organisation.id, ...readWith(ActivityQuery, { ...ctx.query }) })
  })
}
