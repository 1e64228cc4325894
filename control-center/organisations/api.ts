import type Router from '@koa/router'
import { readWith } from '../../base/api/read-with.ts'
import { readJson } from '../../base/http/read-body.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import { NewOrganisation, OrganisationChange } from './openapi.ts'
import type { Organisations } from './organisations.ts'

export type OrganisationApiParts = {
  readonly access: Access
  readonly organisations: Organisations
  readonly activity: Activity
  readonly limits: Limits
}

export function addOrganisationRoutes(router: Router, parts: OrganisationApiParts): void {
  const { access, organisations, activity, limits } = parts

  router.get('/organisations', async (ctx) => {
    const { uid } = access.needPerson(ctx)
    const items = await organisations.ofMember(uid)
    ctx.body = { items: items.map(({ name, title, role }) => ({ name, title, role })) }
  })

  router.post('/organisations', async (ctx) => {
    const user = access.needPerson(ctx)
    const wanted = readWith(NewOrganisation, await readJson(ctx, limits))
    const actor = { name: `user:${user.username}`, organisation: { id: '' } }
    const act = { action: 'organisation-create', subject: wanted.name }
    const { name, title } = await recorded(ctx, activity, actor, act, () => organisations.create(wanted, user.uid))
    ctx.status = 201
    ctx.set('Location', `/api/organisations/${name}`)
    ctx.body = { name, title, role: 'owner' }
  })

  router.get('/organisations/:organisation', async (ctx) => {
    const { organisation, role } = await access.need(ctx, 'read')
    ctx.body = { name: organisation.name, title: organisation.title, role }
  })

  router.patch('/organisations/:organisation', async (ctx) => {
    const member = await access.need(ctx, 'organisation')
    const { id, name } = member.organisation
    const { title } = readWith(OrganisationChange, await readJson(ctx, limits))
    const act = { action: 'organisation-change', subject: title }
    await recorded(ctx, activity, member, act, () => organisations.rename(id, title))
    ctx.body = { name, title, role: member.role }
  })
}
