import { inPath, json, jsonBody, operation, ref } from '../../base/api/openapi-parts.ts'
import { LOGIN_STATE_NAMES } from '../../base/bundles/login-states.ts'
import { WARNING_CODES } from '../../runtime/bundle/faults.ts'
import { z } from '../../runtime/zod.ts'

export const GenerateForm = z.strictObject({
  replace: z.boolean().default(false).describe('whether a media/login.html that is there is replaced'),
})

const LoginPage = z.object({
  hasTemplate: z.boolean().describe('whether the active version has a media/login.html'),
  isUsed: z.boolean().describe('false: the default page is shown, since there is no template or it lacks the form'),
  warnings: z.array(
    z.object({
      file: z.string(),
      line: z.int().optional(),
      column: z.int().optional(),
      code: z.enum(Object.keys(WARNING_CODES)),
      message: z.string(),
      source: z.string().nullable().describe('the line'),
      advice: z.string().nullable(),
    }),
  ),
  locales: z.array(z.string()),
  states: z.array(z.enum(LOGIN_STATE_NAMES)),
})

const SCHEMAS = { GenerateForm, LoginPage }

export const loginPageSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const one = '/admin/api/solutions/{name}/login-page'

export const loginPagePaths = {
  [one]: {
    parameters: [inPath('name')],
    get: operation('The login page of the active version: its template, what is wrong with it, how it can be shown', {
      200: json(ref('LoginPage')),
    }),
  },
  [`${one}/generate`]: {
    parameters: [inPath('name')],
    post: {
      ...operation('Add the default login page to the media, as a new version that becomes active', {
        201: json(ref('Uploaded')),
        200: json(ref('Uploaded')),
      }),
      requestBody: { ...jsonBody(ref('GenerateForm')), required: false },
    },
  },
  [`${one}/template`]: {
    parameters: [inPath('name')],
    get: operation('The default login page with its placeholders, as generate adds it', {
      200: { description: 'as it says', content: { 'text/html': { schema: { type: 'string' } } } },
    }),
  },
}
