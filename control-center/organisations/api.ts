import { z } from '../../runtime/zod.ts'
import { RoleName } from '../access/roles.ts'
import { type MemberRoute, type PersonRoute, personRoute, route } from '../access/route.ts'
import { OrganisationName, type Organisations, OrganisationTitle } from './organisations.ts'

export type OrganisationApiParts = { readonly organisations: Organisations }

const NewOrganisation = z
  .strictObject({
    name: OrganisationName.describe('part of URLs; cannot be changed'),
    title: OrganisationTitle,
  })
  .meta({ id: 'NewOrganisation' })

const OrganisationChange = z.strictObject({ title: OrganisationTitle }).meta({ id: 'OrganisationChange' })

const Organisation = z.object({ name: z.string(), title: z.string(), role: RoleName }).meta({ id: 'Organisation' })

export function ownOrganisationRoutes({ organisations }: OrganisationApiParts): PersonRoute[] {
  return [
    personRoute(
      'GET /organisations',
      {
        summary: 'List the organisations that you are a member of',
        right: 'person',
        answers: { 200: z.object({ items: z.array(Organisation) }) },
      },
      async ({ who }) => ({ items: await organisations.ofMember(who.uid) }),
    ),
    personRoute(
      'POST /organisations',
      {
        summary: 'Create an organisation, of which you become an owner',
        right: 'person',
        act: 'organisation-create',
        body: NewOrganisation,
        answers: { 201: Organisation },
      },
      async ({ who, body, names, ctx }) => {
        names.target = body.name
        const { name, title } = await organisations.create(body, who.uid)
        ctx.set('Location', `/api/organisations/${name}`)
        return { name, title, role: 'owner' as const }
      },
    ),
  ]
}

export function organisationRoutes({ organisations }: OrganisationApiParts): MemberRoute[] {
  return [
    route(
      'GET /organisations/:organisation',
      { summary: 'Get an organisation, with your role', right: 'read', answers: { 200: Organisation } },
      ({ who: { organisation, role } }) => ({ ...organisation, role }),
    ),
    route(
      'PATCH /organisations/:organisation',
      {
        summary: 'Change the title',
        right: 'organisation',
        act: 'organisation-change',
        body: OrganisationChange,
        answers: { 200: Organisation },
      },
      async ({ who: { organisation, role }, body: { title }, names }) => {
        names.target = title
        await organisations.rename(organisation.id, title)
        return { name: organisation.name, title, role }
      },
    ),
  ]
}
