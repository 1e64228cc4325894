import * as z from 'zod'
import { json, jsonBody, list, operation, ref } from '../../host/admin/openapi-parts.ts'
import { RoleName } from '../access/roles.ts'
import { OrganisationName } from './organisations.ts'

export const NewOrganisation = z.strictObject({
  name: OrganisationName.describe('part of addresses; it never changes'),
  title: z.string().trim().min(1).max(200),
})

const Organisation = z.object({ name: z.string(), title: z.string(), role: RoleName })

const SCHEMAS = { Organisation, NewOrganisation }

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
}
