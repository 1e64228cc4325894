import { inPath, inQuery, json, jsonBody, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { z } from '../../runtime/zod.ts'
import { ORGANISATION } from '../openapi-parts.ts'
import { ENVIRONMENT_TYPES, EnvironmentName } from './environments.ts'

export const NewEnvironment = z.strictObject({ name: EnvironmentName, type: z.enum(ENVIRONMENT_TYPES) })

export const NewEnvironmentToken = z.strictObject({ name: z.string().trim().min(1).max(200) })

const State = z.object({
  isConnected: z.boolean().describe('seen within 2 minutes'),
  lastSeenAt: z.int(),
  version: z.string().nullable(),
  health: z.object({ health: z.enum(['good', 'warning', 'bad']), findings: z.array(z.string()) }).nullable(),
})

const Environment = z.object({
  name: z.string(),
  type: z.enum(ENVIRONMENT_TYPES),
  createdAt: z.int(),
  state: State.nullable().describe('null: never connected'),
})

const EnvironmentDetails = Environment.extend({
  solutions: z.array(z.string()).describe('those that its tokens may read of and sign users in to'),
})

const EnvironmentToken = z.object({
  id: z.string(),
  name: z.string(),
  createdAt: z.int(),
  lastUsedAt: z.int().nullable(),
  token: z.string().optional().describe('in the answers to POST alone'),
})

const SCHEMAS = { Environment, EnvironmentDetails, NewEnvironment, EnvironmentToken, NewEnvironmentToken }

export const environmentSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const ONE = `${ORGANISATION}/environments/{environment}`
const organisation = inPath('organisation')
const environment = inPath('environment')

export const environmentPaths = {
  [`${ORGANISATION}/environments`]: {
    parameters: [organisation],
    get: operation('The environments', { 200: json(list(ref('Environment'))) }),
    post: {
      ...operation('Make one', { 201: json(ref('Environment')) }),
      requestBody: jsonBody(ref('NewEnvironment')),
    },
  },
  [ONE]: {
    parameters: [organisation, environment],
    get: operation('One environment', { 200: json(ref('EnvironmentDetails')) }),
    delete: {
      ...operation('Delete it with its tokens and all that is kept of it', { 204: { description: 'deleted' } }),
      parameters: [inQuery('confirm', { type: 'string' }, 'its name once more; mandatory')],
    },
  },
  [`${ONE}/solutions/{solution}`]: {
    parameters: [organisation, environment, inPath('solution')],
    put: operation('Let its tokens sign users in to a solution', { 204: { description: 'they may' } }),
    delete: operation('Let them no longer', { 204: { description: 'they may not' } }),
  },
  [`${ONE}/tokens`]: {
    parameters: [organisation, environment],
    get: operation('Its remote environment tokens', { 200: json(list(ref('EnvironmentToken'))) }),
    post: {
      ...operation('Make one; it is shown this once', { 201: json(ref('EnvironmentToken')) }),
      requestBody: jsonBody(ref('NewEnvironmentToken')),
    },
  },
  [`${ONE}/tokens/{id}`]: {
    parameters: [organisation, environment, inPath('id')],
    delete: operation('Revoke one, at once', { 204: { description: 'revoked' } }),
  },
  [`${ONE}/tokens/{id}/rotate`]: {
    parameters: [organisation, environment, inPath('id')],
    post: operation('Make its successor, shown this once; the old one works until it is revoked', {
      201: json(ref('EnvironmentToken')),
    }),
  },
}
