import { inPath, json, jsonBody, operation, ref } from '../../base/api/openapi-parts.ts'
import { z } from '../../runtime/zod.ts'
import { ORGANISATION } from '../openapi-parts.ts'
import { Design } from './design.ts'

export const NewLoginPage = z.strictObject({
  design: Design,
  base: z.int().min(0).optional().describe('the version that it was begun from; refused where another came since'),
})

export const LoginPageDraft = z.strictObject({ design: Design })

export const VersionNumber = z.coerce.number().int().min(1).max(2_147_483_647)

const LoginPageVersion = z.object({ number: z.int(), publishedAt: z.int(), publishedBy: z.string() })

const LoginPage = z.object({
  number: z.int().describe('0: nobody has designed it yet'),
  design: Design,
  history: z.array(LoginPageVersion).describe('the last ten, the newest first'),
})

const SCHEMAS = { LoginPage, LoginPageVersion, LoginPageDesign: Design, NewLoginPage, LoginPageDraft }

export const loginPageSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const one = `${ORGANISATION}/solutions/{solution}/login-page`
const parameters = [inPath('organisation'), inPath('solution')]

export const loginPagePaths = {
  [one]: {
    parameters,
    get: operation('The login page of a solution, with ETag', { 200: json(ref('LoginPage')) }),
    put: {
      ...operation('Publish a design as a new version', { 201: json(ref('LoginPageVersion')) }),
      requestBody: jsonBody(ref('NewLoginPage')),
    },
  },
  [`${one}/draft`]: {
    parameters,
    put: {
      ...operation('Keep what you are at work on, for the preview', { 204: { description: 'kept' } }),
      requestBody: jsonBody(ref('LoginPageDraft')),
    },
    delete: operation('Drop it', { 204: { description: 'dropped' } }),
  },
  [`${one}/versions/{number}`]: {
    parameters: [...parameters, inPath('number')],
    get: operation('The design of a version', { 200: json(ref('LoginPageDesign')) }),
  },
  [`${one}/versions/{number}/use`]: {
    parameters: [...parameters, inPath('number')],
    post: operation('Publish that design again, as a new version', { 201: json(ref('LoginPageVersion')) }),
  },
}
