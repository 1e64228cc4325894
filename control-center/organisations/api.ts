import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { Confirmations } from '../access/confirmations.ts'
import { RoleName } from '../access/roles.ts'
import { type MemberRoute, type PersonRoute, personRoute, route } from '../access/route.ts'
import { OrganisationName, type Organisations, OrganisationTitle, SECOND_FACTOR_RULES } from './organisations.ts'

export type OrganisationApiParts = { readonly organisations: Organisations; readonly confirmations: Confirmations }

const NewOrganisation = z
  .strictObject({
    name: OrganisationName.describe('the name, which is part of URLs and cannot be changed'),
    title: OrganisationTitle,
  })
  .meta({ id: 'NewOrganisation' })

const OrganisationChange = z.strictObject({ title: OrganisationTitle }).meta({ id: 'OrganisationChange' })

const SignInPolicy = z
  .strictObject({
    secondFactor: z
      .enum(SECOND_FACTOR_RULES, { error: `must be one of ${SECOND_FACTOR_RULES.join(', ')}` })
      .describe('`required`: members without a second factor must set one up at their next sign-in'),
  })
  .meta({ id: 'SignInPolicy' })

const Organisation = z.object({ name: z.string(), title: z.string(), role: RoleName }).meta({ id: 'Organisation' })

export function ownOrganisationRoutes({ organisations }: Pick<OrganisationApiParts, 'organisations'>): PersonRoute[] {
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
        summary: 'Create an organisation; you become its owner',
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

export function organisationRoutes({ organisations, confirmations }: OrganisationApiParts): MemberRoute[] {
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
    route(
      'GET /organisations/:organisation/sign-in-policy',
      {
        summary: 'Get the second-factor requirement for members',
        right: 'members',
        answers: { 200: SignInPolicy },
      },
      async ({ who }) => ({ secondFactor: await organisations.secondFactorOf(who.organisation.id) }),
    ),
    route(
      'PUT /organisations/:organisation/sign-in-policy',
      {
        summary: 'Set whether members need a second factor to sign in; API tokens can’t do this',
        right: 'members',
        act: 'sign-in-policy',
        body: SignInPolicy,
        answers: { 200: SignInPolicy },
      },
      async ({ who: { organisation, uid }, body, names }) => {
        names.target = body.secondFactor
        // Chosen here: owners must have a second factor themselves first. That way, they can't lock themselves out, and
        // they know what they require of others.
        if (body.secondFactor === 'required' && (uid === null || !(await confirmations.hasFactor(uid)))) {
          throw new PlatformError(
            'ERR_REQUEST_INVALID',
            'Set up a second factor for your own account before you require one for members.',
          )
        }
        await organisations.setSecondFactor(organisation.id, body.secondFactor)
        return body
      },
    ),
  ]
}
