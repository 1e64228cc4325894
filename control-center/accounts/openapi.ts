import { json, jsonBody, operation, ref } from '../../base/api/openapi-parts.ts'
import { z } from '../../runtime/zod.ts'

export const PasswordChange = z.strictObject({
  current: z.string().max(1000),
  new: z.string().max(1000).describe('a password by the rules of the sign-in'),
})
export type PasswordChange = z.infer<typeof PasswordChange>

const Account = z.object({
  username: z.string().describe('the e-mail address'),
  lastLoginAt: z.int().nullable(),
  passwordChangedAt: z.int().nullable(),
})

const SCHEMAS = { Account, PasswordChange }

export const accountSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

export const accountPaths = {
  '/api/account': {
    get: operation('Your own account; for people, not for access tokens', { 200: json(ref('Account')) }),
  },
  '/api/account/password': {
    put: {
      ...operation('Change your own password; you are signed out everywhere', { 204: { description: 'changed' } }),
      requestBody: jsonBody(ref('PasswordChange')),
    },
  },
  '/api/account/sessions': {
    delete: operation('Sign out everywhere', { 204: { description: 'signed out' } }),
  },
}
