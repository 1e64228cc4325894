import { isIPv6 } from 'node:net'
import { startsWithHost } from '../address.ts'
import { z } from '../zod.ts'
import { EndpointAddress, EndpointSchema, INPUT_KEYS, MOST_ENDPOINTS } from './endpoint-schema.ts'
import { JobName, JobSchema, MOST_JOBS } from './job-schema.ts'
import {
  areUnique,
  Identifier,
  isWellFormed,
  list,
  OwnIdentifier,
  orUnknownKey,
  PermissionName,
  pattern,
  text,
} from './schema-parts.ts'

/** The events that the platform fires for forms. */
export const FORM_EVENTS = [
  'onLoad',
  'onUnload',
  'onShow',
  'onHide',
  'onBeforeHide',
  'onResize',
  'onSort',
  'onElementFocusGained',
  'onElementFocusLost',
  'onElementDataChange',
  'onAction',
  'onRecordSelection',
] as const

export const AUTHENTICATOR_MODES = [
  'NONE',
  'DEFAULT',
  'PLATFORM_CLOUD',
  'AUTHENTICATOR',
  'OAUTH',
  'OAUTH_AUTHENTICATOR',
] as const

/** How calls outside clients are isolated from each other. */
export const REALMS = ['fresh', 'hardened'] as const

/**
 * Maximum number of items in a list. Chosen here: far more than a solution needs, and small enough that no list in a
 * manifest is expensive to process.
 */
const MAX_ITEMS = 1000

const SEMVER =
  /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$/

const Name = pattern(
  /^(?!.{2}--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
  63,
  'a name of 1 to 63 lowercase letters, digits and hyphens, without a hyphen at the start or end, and without "--" at positions 3 and 4',
)
const FormName = pattern(/^[A-Za-z0-9._-]+$/, 100, 'the name of a form, such as "login" for forms/login.json')
const Address = z
  .string({ error: 'must be an http or https URL of at most 2000 characters' })
  .max(2000, { error: 'must be an http or https URL of at most 2000 characters' })
  .refine(isWebAddress, { error: 'must be an http or https URL of at most 2000 characters' })
const PlaceOrAddress = z
  .string({ error: 'must be an http or https URL or a path that starts with "/"' })
  .max(2000, { error: 'must have at most 2000 characters' })
  .refine((text) => isWebAddress(text) || /^\/(?![/\\])[\x21-\x7e]*$/.test(text), {
    error: 'must be an http or https URL or a path that starts with "/"',
  })

const EventArgument = z
  .strictObject(
    {
      name: Identifier.meta({ title: 'Name', description: 'Name of the argument, shown by code editors.' }),
      type: text(100).meta({
        title: 'Type',
        description: 'Type of the argument, such as string or Date, shown by code editors.',
      }),
    },
    { error: orUnknownKey('must be an object with "name" and "type"') },
  )
  .meta({ title: 'Argument', description: 'One argument that listeners receive after the event.' })

const EventTypeDeclaration = z
  .strictObject(
    {
      description: text(2000)
        .optional()
        .meta({ title: 'Description', description: 'Description of the event, shown by code editors.' }),
      arguments: list(EventArgument, 50)
        .optional()
        .meta({ title: 'Arguments', description: 'The arguments that listeners receive after the event.' }),
      returnType: text(100)
        .optional()
        .meta({ title: 'Result', description: 'Type of a listener’s result, shown by code editors.' }),
    },
    { error: orUnknownKey('must be an object') },
  )
  .meta({ title: 'Event type', description: 'An event that the solution fires with eventsManager.' })

const EventTypeName = OwnIdentifier.refine((name) => !(FORM_EVENTS as readonly string[]).includes(name), {
  error: 'must not be the name of a built-in event type',
})

const Database = z
  .strictObject(
    {
      server: z
        .enum(['embedded', 'alpha', 'beta', 'gamma'], { error: 'must be one of embedded, alpha, beta, gamma' })
        .meta({ title: 'Server', description: 'The kind of database server. The operator must grant access to it.' }),
      database: text(128).optional().meta({ title: 'Database', description: 'Name of the database on the server.' }),
    },
    { error: orUnknownKey('must be an object with "server"') },
  )
  .meta({ title: 'Database', description: 'A database that the solution requests.' })

/** The sign-in settings for an identity provider. docs/oauth.md describes them. */
export const OAUTH_SETTINGS = {
  api: z
    .enum(['Google', 'Microsoft', 'Apple', 'Okta', 'LinkedIn', 'GitHub', 'Custom'], {
      error: 'must be one of Google, Microsoft, Apple, Okta, LinkedIn, GitHub, Custom',
    })
    .meta({ title: 'Provider', description: 'The OAuth provider, or Custom.' }),
  clientId: text(500).meta({ title: 'Client id', description: 'The application’s ID at the provider.' }),
  apiSecret: text(4000).optional().meta({
    title: 'Application secret',
    description: 'Instead of the secret itself, use "%%NAME%%", where NAME is a secret that the operator sets.',
  }),
  issuer: Address.optional().meta({
    title: 'Issuer',
    description: 'The provider’s issuer URL, from which Solhost discovers the provider’s settings.',
  }),
  tenant: pattern(/^[A-Za-z0-9][A-Za-z0-9.-]*$/, 253, 'common, organizations, consumers, or a tenant’s ID or domain')
    .optional()
    .meta({
      title: 'Tenant',
      description: 'For Microsoft: whose accounts may sign in. Default: common.',
    }),
  domain: z
    .string({ error: 'must be a host or host:port' })
    .max(260, { error: 'must be a host or host:port' })
    .refine(isHost, { error: 'must be a host or host:port' })
    .optional()
    .meta({
      title: 'Domain',
      description: 'For Okta: the organization’s domain. For GitHub: only needed for GitHub Enterprise Server.',
    }),
  authorizationBaseUrl: Address.optional().meta({
    title: 'Authorization address',
    description: 'For Custom: the URL where users sign in.',
  }),
  accessTokenEndpoint: Address.optional().meta({
    title: 'Token address',
    description: 'For Custom: the URL where Solhost exchanges a code for tokens.',
  }),
  refreshTokenEndpoint: Address.optional().meta({
    title: 'Refresh address',
    description: 'The URL where refresh tokens are exchanged for new tokens. Default: the token URL.',
  }),
  revokeTokenEndpoint: Address.optional().meta({
    title: 'Revocation address',
    description: 'The URL where refresh tokens are revoked at sign-out. Default: the URL in the provider’s metadata.',
  }),
  jwks_uri: Address.optional().meta({
    title: 'Keys address',
    description: 'For Custom: the URL of the public keys that verify ID tokens.',
  }),
  userInfoEndpoint: Address.optional().meta({
    title: 'User info URL',
    description: 'For Custom: the URL that returns more claims about the user.',
  }),
  defaultScope: text(1000)
    .optional()
    .meta({ title: 'Scope', description: 'The scopes to request, for example "openid email profile".' }),
  code_challenge_method: z
    .enum(['S256', 'plain'], { error: 'must be S256 or plain' })
    .optional()
    .meta({ title: 'PKCE method', description: 'Default: S256. LinkedIn does not support PKCE.' }),
  token_endpoint_auth_method: z
    .enum(['client_secret_basic', 'client_secret_post', 'none'], {
      error: 'must be client_secret_basic, client_secret_post or none',
    })
    .optional()
    .meta({
      title: 'Client authentication',
      description: 'How Solhost sends the secret. Default: a method that the provider supports.',
    }),
  secondFactorAcr: text(500).optional().meta({
    title: 'Second factor (acr)',
    description:
      'Space-separated values of the ID token’s acr claim that show that the user passed a second factor. The value mfa in the amr claim always shows this.',
  }),
  teamId: pattern(/^[A-Za-z0-9]+$/, 40, '1 to 40 letters and digits')
    .optional()
    .meta({
      title: 'Team id',
      description: 'For Apple: if teamId and keyId are set, apiSecret is the private key that signs the client secret.',
    }),
  keyId: pattern(/^[A-Za-z0-9]+$/, 40, '1 to 40 letters and digits')
    .optional()
    .meta({
      title: 'Key id',
      description: 'For Apple: the ID of the private key in apiSecret.',
    }),
  response_type: z
    .enum(['code', 'id_token'], { error: 'must be code or id_token' })
    .optional()
    .meta({ title: 'Response type', description: 'Default: code.' }),
  response_mode: z
    .enum(['query', 'fragment', 'form_post'], { error: 'must be query, fragment or form_post' })
    .optional()
    .meta({ title: 'Response mode', description: 'How the provider returns its response.' }),
  login_failed_url: PlaceOrAddress.optional().meta({
    title: 'Page after a failed sign-in',
    description: 'The page that users are redirected to if the provider or the authenticator denies the sign-in.',
  }),
}

/**
 * Parameters that the platform itself sets in requests to a provider. Additional parameters must not use these names.
 */
const OWN_PARAMETERS: ReadonlySet<string> = new Set([
  'state',
  'nonce',
  'redirect_uri',
  'client_id',
  'client_secret',
  'scope',
  'code',
  'code_challenge',
  'code_verifier',
  'request',
  'request_uri',
  'client_assertion',
  'client_assertion_type',
  'id_token_hint',
  'registration',
])

/** A reference to an operator's secret, as used in `apiSecret`. */
export const SECRET_PLACEHOLDER = /^%%([A-Z][A-Z0-9_]{0,63})%%$/

const PARAMETER = {
  error: 'must be a number, a boolean or a string of at most 2000 characters without control characters',
}
const Parameter = z.union(
  [
    z
      .string()
      .max(2000, PARAMETER)
      .refine((value) => isWellFormed(value) && isPrintable(value), PARAMETER),
    z.number(),
    z.boolean(),
  ],
  PARAMETER,
)

/** Errors specific to a setting are reported first, then violations of rules that apply to every setting. */
function oauthSettings<Shape extends z.ZodRawShape>(shape: Shape) {
  return z
    .object(shape, { error: 'must be an object' })
    .catchall(Parameter)
    .refine((settings) => Object.keys(settings).length <= 60, { error: 'must have at most 60 settings' })
    .refine((settings) => Object.keys(settings).every((key) => /^[A-Za-z0-9._-]{1,100}$/.test(key)), {
      error: 'must have only names of 1 to 100 letters, digits, ".", "_" or "-"',
    })
    .superRefine((settings, found) => {
      for (const [key, value] of Object.entries(settings)) {
        const refusal = refusalOfSetting(key, value)
        if (refusal !== null) found.addIssue({ code: 'custom', path: [key], message: refusal, input: value })
      }
    })
}

function refusalOfSetting(key: string, value: unknown): string | null {
  if (OWN_PARAMETERS.has(key)) return 'must not be set: the platform sets it'
  if (typeof value !== 'string' || !/%%[^%\s]+%%/.test(value)) return null
  if (key !== 'apiSecret') return 'must not contain %%NAME%%: only apiSecret can be a secret'
  return SECRET_PLACEHOLDER.test(value)
    ? null
    : 'must be exactly one %%NAME%%, where NAME is a capital letter followed by up to 63 capital letters, digits or "_"'
}

/** Complete sign-in settings. Settings that depend on the provider may be absent: see the table of providers. */
export const OAuthForm = oauthSettings(OAUTH_SETTINGS)

/** Partial settings: the others are set elsewhere. */
export const PartialOAuthForm = oauthSettings({
  ...OAUTH_SETTINGS,
  api: OAUTH_SETTINGS.api.optional(),
  clientId: OAUTH_SETTINGS.clientId.optional(),
})

const OAuth = OAuthForm.refine(hasCustomAddresses, {
  error: 'must have issuer or all of authorizationBaseUrl, accessTokenEndpoint and jwks_uri, because "api" is "Custom"',
})

/** The names of the settings. Any other name is a parameter that is forwarded to the provider. */
export const OAUTH_SETTING_NAMES: ReadonlySet<string> = new Set(Object.keys(OAUTH_SETTINGS))

/** The levels that a manifest can set for the second factor. The operator can also turn it off. */
const SECOND_FACTORS = ['optional', 'required', 'passkey'] as const

/**
 * `required` and `passkey` apply to users with these permissions. An empty list is an error: it would apply to nobody,
 * so the level would have no effect.
 */
export const RequiredFor = list(PermissionName, MAX_ITEMS)
  .min(1, { error: 'must list at least one permission' })
  .refine(areUnique, { error: 'must not contain duplicate permissions' })

/** Whether a second factor can be required at this level. */
export function canRequire(level: string): boolean {
  return level === 'required' || level === 'passkey'
}

const SignIn = z
  .strictObject(
    {
      secondFactor: z.enum(SECOND_FACTORS, { error: `must be one of ${SECOND_FACTORS.join(', ')}` }).meta({
        title: 'Second factor',
        description:
          '"optional": users who have set up a second factor must use it. "required": all users must set one up. "passkey": all users must set up a passkey; codes are not enough.',
      }),
      requiredFor: RequiredFor.optional().meta({
        title: 'Required for',
        description:
          'Permissions that make a second factor mandatory. It is optional for users who have none of them. Default: mandatory for all users.',
        uniqueItems: true,
      }),
    },
    { error: orUnknownKey('must be an object with "secondFactor"') },
  )
  .refine(({ secondFactor, requiredFor }) => requiredFor === undefined || canRequire(secondFactor), {
    path: ['requiredFor'],
    error: 'requires "secondFactor" to be "required" or "passkey"',
  })

/** The content of `solution.json`, as an author writes it. Strict: unknown keys are errors. */
export const ManifestSchema = z
  .strictObject(
    {
      $schema: text(500).optional().meta({ title: 'Schema', description: 'URL of this schema, used by code editors.' }),
      name: Name.meta({
        title: 'Name',
        description: 'The solution’s name, which is part of its URL. It must be a valid DNS label.',
      }),
      title: text(200).optional().meta({ title: 'Title', description: 'Shown to users. Default: the name.' }),
      version: pattern(SEMVER, 100, 'a semantic version such as 1.0.0').meta({
        title: 'Version',
        description: 'Semantic version, such as 1.0.0.',
      }),
      type: z
        .enum(['solution', 'module', 'authenticator'], { error: 'must be one of solution, module, authenticator' })
        .optional()
        .meta({
          title: 'Type',
          description: 'Default: "solution". For a module, use "module", or "authenticator" if it signs users in.',
        }),
      authenticator: z
        .enum([...AUTHENTICATOR_MODES, 'OAUTH PROVIDER'], { error: `must be one of ${AUTHENTICATOR_MODES.join(', ')}` })
        .optional()
        .meta({ title: 'Authenticator', description: 'How users sign in. Default: DEFAULT.' }),
      mustAuthenticate: z
        .boolean({ error: 'must be true or false' })
        .optional()
        .meta({ title: 'Must authenticate', description: 'Deprecated; use "authenticator".', deprecated: true }),
      loginForm: FormName.optional().meta({
        title: 'Login form',
        description: 'For the authenticator DEFAULT: the form whose script signs users in with security.login.',
      }),
      loginSolution: Name.optional().meta({
        title: 'Login solution',
        description: 'Deprecated; use "authenticator": "AUTHENTICATOR".',
        deprecated: true,
      }),
      firstForm: FormName.optional().meta({
        title: 'First form',
        description: 'The form that the client shows first.',
      }),
      modules: list(Name, MAX_ITEMS)
        .refine(areUnique, { error: 'must not contain duplicate modules' })
        .optional()
        .meta({
          title: 'Modules',
          description: 'Names of folders in modules/. Later modules override earlier ones.',
          uniqueItems: true,
        }),
      eventTypes: z
        .record(EventTypeName, EventTypeDeclaration, { error: 'must be an object that maps names to event types' })
        .refine(hasFewKeys, { error: `must have at most ${MAX_ITEMS} event types` })
        .optional()
        .meta({ title: 'Event types', description: 'Events that the solution fires.' }),
      permissions: list(PermissionName, MAX_ITEMS)
        .refine(areUnique, { error: 'must not contain duplicate permissions' })
        .optional()
        .meta({ title: 'Permissions', description: 'The permissions that a sign-in can grant.', uniqueItems: true }),
      signIn: SignIn.optional().meta({
        title: 'Sign-in',
        description: 'Whether users need a second factor. The operator can override this.',
      }),
      oauth: OAuth.optional().meta({ title: 'OAuth', description: 'Settings of the OAuth provider.' }),
      databases: z
        .record(OwnIdentifier, Database, { error: 'must be an object that maps names to databases' })
        .refine(hasFewKeys, { error: `must have at most ${MAX_ITEMS} databases` })
        .optional()
        .meta({
          title: 'Databases',
          description: 'Databases that the solution needs. The operator must grant each one.',
        }),
      http: list(
        z
          .string({ error: 'must be a host or host:port' })
          .max(260, { error: 'must be a host or host:port' })
          .refine(isHost, { error: 'must be a host or host:port' }),
        MAX_ITEMS,
      )
        .optional()
        .meta({
          title: 'HTTP hosts',
          description: 'Hosts to which scripts send HTTP requests. The operator must grant each one.',
        }),
      endpoints: z
        .record(EndpointAddress, EndpointSchema, {
          error: 'must be an object that maps requests such as "GET /orders" to endpoints',
        })
        .refine((endpoints) => Object.keys(endpoints).length <= MOST_ENDPOINTS, {
          error: `must have at most ${MOST_ENDPOINTS} endpoints`,
        })
        .optional()
        .meta({
          title: 'Endpoints',
          description:
            'The functions that respond to HTTP requests such as "GET /orders/{id}". The paths are below /solution/{name}/api.',
        }),
      jobs: z
        .record(JobName, JobSchema, { error: 'must be an object that maps names to jobs' })
        .refine((jobs) => Object.keys(jobs).length <= MOST_JOBS, { error: `must have at most ${MOST_JOBS} jobs` })
        .optional()
        .meta({
          title: 'Jobs',
          description: 'Functions that run without a user: on a schedule, or when a script queues them.',
        }),
      realm: z.enum(REALMS, { error: 'must be one of fresh, hardened' }).optional().meta({
        title: 'Realm',
        description:
          'How sign-ins are isolated from each other. "fresh": each call has its own built-in objects. "hardened": calls share frozen built-in objects, which is faster. Default: "fresh".',
      }),
      listed: z
        .boolean({ error: 'must be true or false' })
        .optional()
        .meta({ title: 'Listed', description: 'Whether the start page lists the solution. Default: true.' }),
    },
    { error: orUnknownKey('must be an object') },
  )
  .meta({ title: 'Solution manifest', description: 'solution.json of a solution or module.' })

export type WrittenManifest = z.infer<typeof ManifestSchema>

/** The keys allowed in an object at `path` of the manifest. */
export function knownKeys(path: readonly PropertyKey[]): readonly string[] {
  if (path[0] === 'databases') return Object.keys(Database.shape)
  if (path[0] === 'signIn') return Object.keys(SignIn.shape)
  if (path[0] === 'endpoints') return knownEndpointKeys(path)
  if (path[0] === 'jobs') return Object.keys(JobSchema.shape)
  if (path[0] === 'eventTypes') return Object.keys((path.length > 2 ? EventArgument : EventTypeDeclaration).shape)
  return Object.keys(ManifestSchema.shape)
}

function knownEndpointKeys(path: readonly PropertyKey[]): readonly string[] {
  if (path.length === 2) return Object.keys(EndpointSchema.shape)
  return path[2] === 'signature' ? ['scheme', 'secret'] : INPUT_KEYS
}

/**
 * Whether an error message may quote the value at `path`. False for secrets and for parameters with an unknown meaning.
 */
export function isQuotable(path: readonly PropertyKey[]): boolean {
  const [top, setting] = path
  return top !== 'oauth' || (setting !== 'apiSecret' && Object.hasOwn(OAUTH_SETTINGS, setting ?? ''))
}

/** JSON Schema (2020-12) of the manifest, for completion and checks in editors. */
export function manifestJsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(ManifestSchema, { io: 'input' })
  return { $schema, $id: 'urn:solhost:schema:solution.json', ...schema }
}

function isPrintable(text: string): boolean {
  return /^[^\x00-\x1f\x7f-\x9f]*$/.test(text)
}

function hasFewKeys(record: object): boolean {
  return Object.keys(record).length <= MAX_ITEMS
}

function isWebAddress(text: string): boolean {
  return (
    /^https?:\/\/[^/\\]/i.test(text) && startsWithHost(text) && !/[\s\p{Cc}\p{Cs}]/u.test(text) && URL.canParse(text)
  )
}

function isHost(text: string): boolean {
  const match = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9.-]{1,253})(?::([1-9]\d{0,4}))?$/.exec(text)
  if (!match || Number(match[2] ?? 1) > 65_535) return false
  const host = match[1] as string
  if (host.startsWith('[')) return isIPv6(host.slice(1, -1))
  return host.split('.').every((label) => /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(label))
}

function hasCustomAddresses(settings: Readonly<Record<string, unknown>>): boolean {
  if (settings.api !== 'Custom' || settings.issuer !== undefined) return true
  const tokenNeeded = settings.response_type !== 'id_token'
  return (
    settings.authorizationBaseUrl !== undefined &&
    settings.jwks_uri !== undefined &&
    (!tokenNeeded || settings.accessTokenEndpoint !== undefined)
  )
}
