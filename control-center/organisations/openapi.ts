import { inPath, json, jsonBody, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { z } from '../../runtime/zod.ts'
import { RoleName } from '../access/roles.ts'
import { ORGANISATION } from '../openapi-parts.ts'
import { OrganisationName, OrganisationTitle } from './organisations.ts'

export const NewOrganisation = z.strictObject({
  name: OrganisationName.describe('part of addresses; it never changes'),
  title: OrganisationTitle,
})

export const OrganisationChange = z.strictObject({ title: OrganisationTitle })

const Organisation = z.object({ name: z.string(), title: z.string(), role: RoleName })

const SCHEMAS = { Organisation, NewOrganisation, OrganisationChange }

export const organisationSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

export const organisationPaths = {
  '/api/organisations': {
    get: operation('The organisations that you are a member of', { 200: json(list(ref('Organisation'))) }),
    post: {
      ...operation('Make an organisation; you are its owner', { 201: json(ref('Organisation')) }),
      requestBody: jsonBody(ref('NewOrganisation')),
    },
  },
  [ORGANISATION]: {
    parameters: [inPath('organisation')],
    get: operation('One of them, with your role', { 200: json(ref('Organisation')) }),
    patch: {
      ...operation('Give it another title', { 200: json(ref('Organisation')) }),
      requestBody: jsonBody(ref('OrganisationChange')),
    },
  },
}
