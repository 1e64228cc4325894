import * as z from 'zod'
import { inPath, json, jsonBody, list, operation, ref } from '../../host/admin/openapi-parts.ts'
import { ORGANISATION } from '../openapi-parts.ts'
import { ENVIRONMENT_TYPES, EnvironmentName } from './environments.ts'

export const NewEnvironment = z.strictObject({ name: EnvironmentName, type: z.enum(ENVIRONMENT_TYPES) })

const Environment = z.object({ name: z.string(), type: z.enum(ENVIRONMENT_TYPES), createdAt: z.int() })

const SCHEMAS = { Environment, NewEnvironment }

export const environmentSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const organisation = inPath('organisation')

export const environmentPaths = {
  [`${ORGANISATION}/environments`]: {
    parameters: [organisation],
    get: operation('The environments', { 200: json(list(ref('Environment'))) }),
    post: {
      ...operation('Make one', { 201: json(ref('Environment')) }),
      requestBody: jsonBody(ref('NewEnvironment')),
    },
  },
}
