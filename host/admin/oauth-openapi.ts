import { inPath, json, jsonBody, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { z } from '../../runtime/zod.ts'

const OAuthTest = z.object({
  steps: z.array(
    z.object({
      step: z.enum(['settings', 'discovery', 'endpoints', 'keys', 'secret', 'clock']),
      result: z.enum(['ok', 'failed', 'skipped']),
      message: z.string().describe('never with a secret in it'),
    }),
  ),
  redirectAddress: z.string().describe('to be registered at the provider'),
})

const OAuthProvider = z.object({
  api: z.string(),
  title: z.string(),
  issuer: z.string().nullable(),
  settings: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      description: z.string(),
      required: z.enum(['yes', 'no', 'issuer']).describe('issuer: unless an issuer is given'),
      default: z.string().nullable(),
      values: z.array(z.string()).nullable(),
    }),
  ),
})

const RedirectAddress = z.object({ redirectAddress: z.string() })

const SCHEMAS = { OAuthTest, OAuthProvider, RedirectAddress }

export const oauthSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const one = '/admin/api/solutions/{name}/oauth'

export const oauthPaths = {
  '/admin/api/oauth-providers': {
    get: operation('The providers and the settings that each takes; for any token', {
      200: json(list(ref('OAuthProvider'))),
    }),
  },
  [`${one}/test`]: {
    parameters: [inPath('name')],
    post: {
      ...operation(
        'Try OAuth settings as far as nobody has to sign in: those sent, over the manifest’s as PUT would have it; without a body those that are set',
        { 200: json(ref('OAuthTest')) },
      ),
      requestBody: { ...jsonBody(ref('OAuthSettingsForm')), required: false },
    },
  },
  [`${one}/redirect-address`]: {
    parameters: [inPath('name')],
    get: operation('The address to register at the provider', { 200: json(ref('RedirectAddress')) }),
  },
}
