import { inPath, inQuery, json, jsonBody, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { z } from '../../runtime/zod.ts'
import { ORGANISATION } from '../openapi-parts.ts'
import { RoleName } from './roles.ts'

export const NewAccessToken = z.strictObject({
  name: z.string().trim().min(1).max(200),
  role: RoleName.exclude(['owner']).describe('what its bearer may do; owners are people'),
  expiresAt: z.int().min(0).nullable().default(null).describe('epoch ms; null: never'),
})

export const ActivityQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  before: z.coerce.number().int().min(1).optional(),
  actor: z.string().trim().min(1).max(250).optional(),
  action: z.string().trim().min(1).max(100).optional(),
})

const AccessToken = z.object({
  id: z.string(),
  name: z.string(),
  role: RoleName,
  createdAt: z.int(),
  expiresAt: z.int().nullable(),
  token: z.string().optional().describe('in the answer to POST alone'),
})

const Act = z.object({
  id: z.int(),
  time: z.int(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  outcome: z.string(),
  address: z.string(),
  correlationId: z.string(),
})

const SCHEMAS = { AccessToken, NewAccessToken, Act }

export const accessSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const organisation = inPath('organisation')

export const accessPaths = {
  [`${ORGANISATION}/access-tokens`]: {
    parameters: [organisation],
    get: operation('The tokens that tools use this API with', { 200: json(list(ref('AccessToken'))) }),
    post: {
      ...operation('Make one; it is shown this once', { 201: json(ref('AccessToken')) }),
      requestBody: jsonBody(ref('NewAccessToken')),
    },
  },
  [`${ORGANISATION}/access-tokens/{id}`]: {
    parameters: [organisation, inPath('id')],
    delete: operation('Revoke one, at once', { 204: { description: 'revoked' } }),
  },
  [`${ORGANISATION}/activity`]: {
    parameters: [organisation],
    get: {
      ...operation('Who did what, newest first', { 200: json(list(ref('Act'))) }),
      parameters: [
        inQuery('limit', { type: 'integer', minimum: 1, maximum: 1000, default: 200 }),
        inQuery('before', { type: 'integer' }, 'the `next` of an earlier answer'),
        inQuery('actor', { type: 'string' }, 'such as `user:anna@example.org` or `token:{id}`'),
        inQuery('action', { type: 'string' }, 'such as `environment-create`'),
      ],
    },
  },
}
