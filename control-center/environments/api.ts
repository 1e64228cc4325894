import type Router from '@koa/router'
import { readWith } from '../../host/admin/read-with.ts'
import { readJson } from '../../host/http/read-body.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import type { Environment, Environments } from './environments.ts'
import { NewEnvironment } from './openapi.ts'

export type EnvironmentApiParts = {
  readonly access: Access
  readonly environments: Environments
  readonly activity: Activity
  readonly limits: Limits
}

export function addEnvironmentRoutes(router: Router, parts: EnvironmentApiParts): void {
  const { access, environments, activity, limits } = parts
  const all = '/organisations/:organisation/environments'

  router.get(all, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    ctx.body = { items: (await environments.list(organisation.id)).map(shown) }
  })

  router.post(all, async (ctx) => {
    const member = await access.need(ctx, 'environments')
    const wanted = readWith(NewEnvironment, await readJson(ctx, limits))
    const act = { action: 'environment-create', subject: wanted.name }
    const create = () => environments.create(member.organisation.id, wanted)
    const environment = await recorded(ctx, activity, member, act, create)
    ctx.status = 201
    ctx.set('Location', `/api/organisations/${member.organisation.name}/environments/${environment.name}`)
    ctx.body = shown(environment)
  })
}

function shown({ name, type, createdAt }: Environment) {
  return { name, type, createdAt }
}
