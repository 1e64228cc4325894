import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { readJson } from '../../base/http/read-body.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import { keysIn, RegistryInput } from './openapi.ts'
import type { NewRegistry, Registries } from './registries.ts'

export type RegistryApiParts = {
  readonly access: Access
  readonly registries: Registries
  readonly activity: Activity
  readonly limits: Limits
}

export function addRegistryRoutes(router: Router, { access, registries, activity, limits }: RegistryApiParts): void {
  const all = '/organisations/:organisation/registries'

  async function readRegistry(ctx: Context): Promise<NewRegistry> {
    const input = readWith(RegistryInput, await readJson(ctx, limits))
    const { name, host, namespace } = input
    return { name, host, namespace, keys: keysIn(input) }
  }

  router.get(all, async (ctx) => {
    const { organisation } = await access.need(ctx, 'credentials')
    ctx.body = { items: await registries.list(organisation.id) }
  })

  router.post(all, async (ctx) => {
    const member = await access.need(ctx, 'credentials')
    const wanted = await readRegistry(ctx)
    const act = { action: 'registry-create', subject: wanted.name }
    ctx.body = await recorded(ctx, activity, member, act, () => registries.create(member.organisation.id, wanted))
    ctx.status = 201
  })

  router.put(`${all}/:registry`, async (ctx) => {
    const member = await access.need(ctx, 'credentials')
    const wanted = await readRegistry(ctx)
    const act = { action: 'registry-replace', subject: wanted.name }
    const replace = () => registries.replace(member.organisation.id, idOf(ctx), wanted)
    ctx.body = await recorded(ctx, activity, member, act, replace)
  })

  router.delete(`${all}/:registry`, async (ctx) => {
    const member = await access.need(ctx, 'credentials')
    const { id } = member.organisation
    const subject = (await registries.find(id, idOf(ctx)))?.name ?? idOf(ctx)
    await recorded(ctx, activity, member, { action: 'registry-delete', subject }, () =>
      registries.remove(id, idOf(ctx)),
    )
    ctx.status = 204
  })
}

function idOf(ctx: Context): string {
  return String((ctx.params as { registry?: unknown }).registry ?? '').slice(0, 100)
}
