import { inPath, inQuery, json, jsonBody, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { z } from '../../runtime/zod.ts'

// The API's forms of the default users. They bound what is read; base/accounts/user-rules.ts says what is right.

const Text = z.string().max(1000)
const Permission = z.union([Text, z.strictObject({ name: Text, solution: Text })])
const Password = z.string().max(10_000).nullable().meta({ writeOnly: true })

export const UserQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  after: Text.optional(),
  search: Text.optional(),
})

export const UserChange = z.strictObject({
  username: Text.optional(),
  displayName: Text.nullable().optional(),
  email: Text.nullable().optional(),
  enabled: z.boolean().optional(),
  permissions: z.array(Permission).max(10_000).optional(),
  mustChangePassword: z
    .boolean()
    .optional()
    .describe(
      'true unless it is set, where a password comes with it: who has it from somebody else chooses another one',
    ),
  password: Password.optional().describe('null: nobody signs in by a password'),
})

export const NewUser = UserChange.extend({ username: Text })

export const ImportQuery = z.strictObject({ 'dry-run': z.enum(['', 'true', 'false']).optional() })

const User = z.object({
  uid: z.string(),
  username: z.string(),
  displayName: z.string().nullable(),
  email: z.string().nullable(),
  enabled: z.boolean(),
  permissions: z.array(Permission).describe('a plain text holds in all solutions'),
  mustChangePassword: z.boolean(),
})

const Imported = z.object({ created: z.int(), changed: z.int(), unchanged: z.int(), dryRun: z.boolean() })

const SCHEMAS = { User, NewUser, UserChange, Imported }

export const userSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const CSV = { 'text/csv': { schema: { type: 'string' } } }
const UID = [inPath('uid')]

export const userPaths = {
  '/admin/api/users': {
    get: {
      ...operation('The default users, by name', { 200: json(list(ref('User'))) }),
      parameters: [
        inQuery('limit', { type: 'integer', minimum: 1, maximum: 1000, default: 200 }),
        inQuery('after', { type: 'string' }, 'the `next` of an earlier answer'),
        inQuery('search', { type: 'string' }, 'what the user name begins with, in any case'),
      ],
    },
    post: { ...operation('Make a user', { 201: json(ref('User')) }), requestBody: jsonBody(ref('NewUser')) },
  },
  '/admin/api/users/{uid}': {
    parameters: UID,
    get: operation('One user', { 200: json(ref('User')) }),
    patch: {
      ...operation('Change what is sent. A new password, disabling and a permission less sign the user out', {
        200: json(ref('User')),
      }),
      requestBody: jsonBody(ref('UserChange')),
    },
    delete: operation('Delete a user, who is signed out', { 204: { description: 'deleted' } }),
  },
  '/admin/api/users/{uid}/sign-out': {
    parameters: UID,
    post: operation('End all sessions and remembered logins of a user', { 204: { description: 'signed out' } }),
  },
  '/admin/api/users/{uid}/erase': {
    parameters: UID,
    post: operation('Delete a user and take the name out of the audit', { 204: { description: 'erased' } }),
  },
  '/admin/api/users.csv': {
    get: operation('All users as CSV, without passwords', { 200: { description: 'RFC 4180', content: CSV } }),
    post: {
      ...operation('Make and change users by their names: all or none; faults are listed by line', {
        200: json(ref('Imported')),
      }),
      parameters: [inQuery('dry-run', { type: 'string', enum: ['', 'true', 'false'] }, 'only check and count')],
      requestBody: {
        description: 'UTF-8; columns username, displayName, email, enabled, permissions (`Users;Sales@crm`), password',
        required: true,
        content: CSV,
      },
    },
  },
}
