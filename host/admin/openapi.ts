import { inQuery, json, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { FAULT_CODES, WARNING_CODES } from '../../runtime/bundle/faults.ts'
import { CODES } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { accessPaths, accessSchemas } from './access-openapi.ts'
import { healthPaths, healthSchemas } from './health-openapi.ts'
import { loginPagePaths, loginPageSchemas } from './login-page-openapi.ts'
import { oauthPaths, oauthSchemas } from './oauth-openapi.ts'
import { settingsPaths, settingsSchemas } from './settings-openapi.ts'
import { userPaths, userSchemas } from './users-openapi.ts'
import { Sha256, versionPaths, versionSchemas } from './versions-openapi.ts'

// The API's forms in zod: what requests are checked with, and what `/admin/api/openapi.json` is made from.

export const Activation = z.strictObject({ sha256: Sha256 })

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

export const LogQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  before: z.coerce.number().int().min(1).optional(),
  level: z.enum(LOG_LEVELS).optional(),
  text: z.string().max(200).optional(),
  code: z.string().max(100).optional(),
  correlationId: z.string().max(100).optional(),
})

const Place = { file: z.string(), line: z.int().optional(), column: z.int().optional(), message: z.string() }
const Explained = {
  source: z.string().nullish().describe('the line that it is about'),
  advice: z.string().nullish().describe('what to change'),
}
const Fault = z.object({ ...Place, code: z.enum(Object.keys(FAULT_CODES)), ...Explained })
const Warning = z.object({ ...Place, code: z.enum(Object.keys(WARNING_CODES)), ...Explained })

const Solution = z.object({
  name: z.string(),
  title: z.string(),
  type: z.string(),
  authenticator: z.string(),
  active: Sha256.nullable(),
  state: z.enum(['active', 'quarantined', 'inactive']),
  retryAt: z.int().optional(),
})
const Version = z.object({ sha256: Sha256, version: z.string(), uploadedAt: z.int(), bytes: z.int() })
const Uploaded = z.object({
  name: z.string(),
  version: z.string(),
  sha256: Sha256,
  active: z.boolean(),
  warnings: z.array(Warning),
})
const LogLine = z.object({
  time: z.int(),
  level: z.enum(LOG_LEVELS),
  message: z.string(),
  code: z.string().optional(),
  file: z.string().optional(),
  line: z.int().optional(),
  column: z.int().optional(),
  correlationId: z.string().optional(),
})
const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  code: z.enum(Object.keys(CODES)),
  detail: z.string().optional(),
  correlationId: z.string(),
  faults: z.array(Fault).optional(),
  warnings: z.array(Warning).optional(),
})

const SCHEMAS = { Solution, Version, Uploaded, LogLine, Problem, Activation }

const ZIP = {
  required: true,
  content: { 'application/zip': { schema: { type: 'string', format: 'binary' } } },
}

/** The OpenAPI 3.1 description of the API. */
export function openApi(version: string): object {
  const name = { name: 'name', in: 'path', required: true, schema: { type: 'string' } }
  const one = '/admin/api/solutions/{name}'
  return {
    openapi: '3.1.0',
    info: { title: 'Solhost admin API', version },
    components: {
      securitySchemes: { admin: { type: 'http', scheme: 'basic' }, token: { type: 'http', scheme: 'bearer' } },
      schemas: {
        ...Object.fromEntries(Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema)])),
        ...accessSchemas,
        ...userSchemas,
        ...oauthSchemas,
        ...settingsSchemas,
        ...healthSchemas,
        ...versionSchemas,
        ...loginPageSchemas,
      },
    },
    security: [{ admin: [] }, { token: [] }],
    paths: {
      '/admin/api/solutions': {
        get: operation('List the solutions', { 200: json(list(ref('Solution'))) }),
        post: {
          ...operation('Upload a bundle under the name in its manifest; needs solutions:*:write', {
            201: json(ref('Uploaded')),
            200: json(ref('Uploaded')),
          }),
          requestBody: ZIP,
        },
      },
      [one]: {
        parameters: [name],
        get: operation('One solution with its versions', {
          200: json({
            allOf: [
              ref('Solution'),
              { type: 'object', properties: { versions: { type: 'array', items: ref('Version') } } },
            ],
          }),
        }),
        put: {
          ...operation('Upload a bundle; it becomes active when nothing is at fault', {
            201: json(ref('Uploaded')),
            200: json(ref('Uploaded')),
          }),
          requestBody: ZIP,
        },
        delete: operation('Delete a solution; its data are kept for DELETED_KEPT', { 204: { description: 'deleted' } }),
      },
      [`${one}/activate`]: {
        parameters: [name],
        post: {
          ...operation('Switch or roll back to a version', { 200: json(ref('Solution')) }),
          requestBody: { required: true, content: { 'application/json': { schema: ref('Activation') } } },
        },
      },
      [`${one}/log`]: {
        parameters: [
          name,
          { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 1000, default: 200 } },
          { name: 'before', in: 'query', schema: { type: 'integer' }, description: 'the `next` of an earlier answer' },
          inQuery('level', { type: 'string', enum: LOG_LEVELS }),
          inQuery('text', { type: 'string' }, 'part of the message, in any case'),
          inQuery('code', { type: 'string' }),
          inQuery('correlationId', { type: 'string' }),
        ],
        get: operation(
          'The log, newest last; as text/event-stream it follows. With a filter an answer can be short and have a `next`',
          { 200: json(list(ref('LogLine'))) },
        ),
      },
      ...accessPaths,
      ...userPaths,
      ...oauthPaths,
      ...settingsPaths,
      ...healthPaths,
      ...versionPaths,
      ...loginPagePaths,
    },
  }
}
