import { inPath, inQuery, json, jsonBody, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { Name } from '../../plugins/security/host.ts'
import { PartialOAuthForm, SECRET_PLACEHOLDER } from '../../runtime/bundle/manifest-schema.ts'
import { createLimits, type Limits } from '../../runtime/limits.ts'
import { isVisible, visible } from '../../runtime/visible-name.ts'
import { z } from '../../runtime/zod.ts'
import { GrantedHosts } from '../grants/granted-host.ts'
import { LONGEST_LIFETIME } from '../login/login-token.ts'
import { Scope } from './api-tokens.ts'

// Who may use the API and what operators manage beside solutions and users: the forms, and their description.

const Limit = z.coerce.number().int().min(1).max(1000).default(200)
const EpochMs = z.int().min(0)

export const NewToken = z.strictObject({
  name: Name,
  scopes: z
    .array(Scope)
    .min(1)
    .max(100)
    .overwrite((scopes) => [...new Set(scopes)]),
  expiresAt: EpochMs.nullish(),
})

export const SessionQuery = z.strictObject({
  limit: Limit,
  after: z.string().max(200).optional(),
  solution: z.string().max(200).optional(),
  uid: z.string().max(200).optional(),
  username: z.string().max(200).optional(),
})

const Time = z.coerce.number().int().min(0)

export const AuditQuery = z.strictObject({
  limit: Limit,
  before: z.coerce.number().int().min(1).optional(),
  solution: z.string().max(200).optional(),
  actor: z.string().max(250).optional(),
  action: z.string().max(100).optional(),
  target: z.string().max(250).optional(),
  outcome: z.string().max(200).optional(),
  correlationId: z.string().max(100).optional(),
  from: Time.optional(),
  to: Time.optional(),
})

/** Half a minute of streaming; who wants more goes on with `to`. */
export const AuditExportQuery = AuditQuery.extend({
  limit: z.coerce.number().int().min(1).max(100_000).default(10_000),
})

export const MaintenanceForm = z.strictObject({ on: z.boolean() })

/** A year at most: what lives longer is not worth waiting for. */
export const TestingForm = z.strictObject({
  clockOffsetMs: z
    .int()
    .min(0)
    .max(366 * 86_400_000)
    .optional()
    .describe('how far the clock is set forward'),
  throttles: z.boolean().optional().describe('whether attempts to sign in are counted'),
})

const GRANTABLE = z.enum(['alpha', 'beta', 'gamma'])
// No character that has a meaning in a connection string, and none that two servers compare in two ways.
const ServerDatabase = z.string().regex(/^[A-Za-z0-9_$]([A-Za-z0-9_$. -]{0,126}[A-Za-z0-9_$.-])?$/, {
  error: 'must be 1 to 128 letters, digits and "_$.-", with spaces only within',
})
const BindingName = z
  .string()
  .regex(/^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/, { error: 'must be a name of 1 to 64 letters, digits, "_" and "$"' })
  .refine((name) => !(name in Object.prototype), { error: 'must not be a name that every JavaScript object has' })

const DatabaseForm = z
  .strictObject({
    server: GRANTABLE,
    database: ServerDatabase,
    username: Name.optional(),
    password: z.string().max(1000).refine(isText, { error: 'must be text without NUL' }).optional(),
    hasPassword: z.boolean().optional().describe('shown; without effect when it is sent'),
  })
  .refine(({ username, password }) => username !== undefined || password === undefined, {
    error: 'must have a username where it has a password',
  })

export const GrantsForm = z.strictObject({
  databases: z
    .record(BindingName, DatabaseForm)
    .refine((databases) => Object.keys(databases).length <= 100, { error: 'must have at most 100 databases' })
    .default({}),
  http: GrantedHosts.default([]),
  users: z.boolean().default(false),
})

export const SecretForm = z.strictObject({
  value: z.string().min(1).max(16_384).refine(isText, { error: 'must be text without NUL' }),
  hosts: GrantedHosts.min(1),
})

/** A secret itself would lie in the table, and go to whatever host an author names. */
export const OAuthSettingsForm = PartialOAuthForm.refine(
  ({ apiSecret }) => apiSecret === undefined || SECRET_PLACEHOLDER.test(apiSecret),
  { path: ['apiSecret'], error: 'must be "%%NAME%%", a secret that is set at secrets/NAME' },
)

/** Names as `security.login` takes them. */
export function loginTokenForm(limits: Limits) {
  const error = `must be ${visible(limits.PERMISSION_LENGTH)}`
  const permission = z.string().min(1).max(limits.PERMISSION_LENGTH).refine(isVisible, { error })
  return z.strictObject({
    username: Name,
    uid: Name,
    permissions: z.array(permission).min(1).max(limits.PERMISSIONS),
    expiresIn: z.int().min(1000).max(LONGEST_LIFETIME).optional().describe('in ms; LOGIN_TOKEN_LIFETIME unless set'),
  })
}

const Grants = z.object({
  databases: z.record(
    z.string(),
    z.object({
      server: GRANTABLE,
      database: z.string(),
      username: z.string().optional(),
      hasPassword: z.boolean(),
    }),
  ),
  http: z.array(z.string()),
  users: z.boolean(),
})
const Warnings = z.object({ warnings: z.array(z.object({ code: z.string(), message: z.string() })) })
const Token = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  expiresAt: EpochMs.nullable(),
})
const Session = z.object({
  id: z.string(),
  solution: z.string(),
  uid: z.string(),
  username: z.string(),
  createdAt: EpochMs,
  lastSeenAt: EpochMs,
  address: z.string(),
})
const AuditEntry = z.object({
  time: EpochMs,
  actor: z.string(),
  action: z.string(),
  target: z.string().optional().describe('what the action changed, such as user:{name} or token:{id} ({name})'),
  solution: z.string().optional(),
  outcome: z.string(),
  address: z.string(),
  correlationId: z.string().optional(),
})

const SCHEMAS = {
  NewToken,
  Token,
  MadeToken: Token.extend({ token: z.string() }),
  Session,
  AuditEntry,
  Maintenance: MaintenanceForm,
  Testing: TestingForm,
  GrantsForm,
  Grants,
  WarnedGrants: Grants.extend(Warnings.shape),
  SecretForm,
  Secret: z.object({ name: z.string(), hosts: z.array(z.string()) }),
  OAuthSettingsForm,
  OAuthSettings: z.object({ settings: OAuthSettingsForm.nullable() }).extend(Warnings.shape),
  LoginTokenForm: loginTokenForm(createLimits()),
  LoginToken: z.object({ token: z.string(), expiresAt: EpochMs }),
}

export const accessSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const LIMIT = inQuery('limit', { type: 'integer', minimum: 1, maximum: 1000, default: 200 })
const TEXT = { type: 'string' }
const AUDIT_FILTERS = [
  inQuery('before', { type: 'integer' }, 'the `next` of an earlier answer'),
  inQuery('solution', TEXT),
  inQuery('actor', TEXT, 'such as admin, token:{id} or user:{name}'),
  inQuery('action', TEXT),
  inQuery('target', TEXT, 'in full, such as user:{name}, version:{first 12 digits of its SHA-256} or secret:{name}'),
  inQuery('outcome', TEXT, 'ok, refused, throttled or a code'),
  inQuery('correlationId', TEXT),
  inQuery('from', { type: 'integer' }, 'epoch ms, included'),
  inQuery('to', { type: 'integer' }, 'epoch ms, included'),
]
const DELETED = { 204: { description: 'deleted' } }
const one = '/admin/api/solutions/{name}'

export const accessPaths = {
  '/admin/api/tokens': {
    get: operation('List the API tokens, without the tokens themselves', { 200: json(list(ref('Token'))) }),
    post: {
      ...operation('Make an API token; this answer alone has it', { 201: json(ref('MadeToken')) }),
      requestBody: jsonBody(ref('NewToken')),
    },
  },
  '/admin/api/tokens/{id}': {
    parameters: [inPath('id')],
    delete: operation('Delete an API token', DELETED),
  },
  '/admin/api/sessions': {
    parameters: [
      LIMIT,
      inQuery('after', TEXT, 'the `next` of an earlier answer'),
      inQuery('solution', TEXT),
      inQuery('uid', TEXT),
      inQuery('username', TEXT, 'letter by letter'),
    ],
    get: operation('The sessions that have not ended', { 200: json(list(ref('Session'))) }),
  },
  '/admin/api/sessions/{id}': {
    parameters: [inPath('id')],
    delete: operation('End a session, on every host within a second', { 204: { description: 'ended' } }),
  },
  '/admin/api/audit': {
    parameters: [LIMIT, ...AUDIT_FILTERS],
    get: operation(
      'Who did what, newest first. By action or outcome alone an answer can be short, or empty, and have a `next`',
      { 200: json(list(ref('AuditEntry'))) },
    ),
  },
  '/admin/api/audit.csv': {
    parameters: [
      inQuery('limit', { type: 'integer', minimum: 1, maximum: 100_000, default: 10_000 }),
      ...AUDIT_FILTERS,
    ],
    get: operation('The same as CSV', {
      200: { description: 'RFC 4180', content: { 'text/csv': { schema: { type: 'string' } } } },
    }),
  },
  '/admin/api/maintenance': {
    get: operation('Whether maintenance is on', { 200: json(ref('Maintenance')) }),
    put: {
      ...operation('While it is on, nobody new comes in and signed-in users finish', { 200: json(ref('Maintenance')) }),
      requestBody: jsonBody(ref('Maintenance')),
    },
  },
  '/admin/api/testing': {
    post: {
      ...operation('In testing mode only (else 404): sets the clock of the host forward, turns throttles off', {
        200: json(ref('Testing')),
      }),
      requestBody: jsonBody(ref('Testing')),
    },
  },
  [`${one}/grants`]: {
    parameters: [inPath('name')],
    get: operation('What is granted to a solution, without passwords', { 200: json(ref('Grants')) }),
    put: {
      ...operation('Grant this and nothing else; a password that is left out stays, on the same server and username', {
        200: json(ref('WarnedGrants')),
      }),
      requestBody: jsonBody(ref('GrantsForm')),
    },
  },
  [`${one}/secrets`]: {
    parameters: [inPath('name')],
    get: operation('The names of the secrets and where they may be sent', { 200: json(list(ref('Secret'))) }),
  },
  [`${one}/secrets/{secret}`]: {
    parameters: [inPath('name'), inPath('secret')],
    put: {
      ...operation('Set a secret; nothing shows it again', { 204: { description: 'set' } }),
      requestBody: jsonBody(ref('SecretForm')),
    },
    delete: operation('Delete a secret', DELETED),
  },
  [`${one}/oauth`]: {
    parameters: [inPath('name')],
    get: operation('The OAuth settings that were set here, and what is wrong with them and the manifest’s together', {
      200: json(ref('OAuthSettings')),
    }),
    put: {
      ...operation('Set OAuth settings; each wins over the one of that name in the manifest', {
        200: json(ref('OAuthSettings')),
      }),
      requestBody: jsonBody(ref('OAuthSettingsForm')),
    },
    delete: operation('Delete the OAuth settings; those of the manifest count again', DELETED),
  },
  [`${one}/login-tokens`]: {
    parameters: [inPath('name')],
    post: {
      ...operation('Make a token that signs a user in to the solution, once', { 201: json(ref('LoginToken')) }),
      requestBody: jsonBody(ref('LoginTokenForm')),
    },
  },
}

/** What a database or a header cannot hold is refused where it is sent. */
function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
