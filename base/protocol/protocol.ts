import { OAUTH_SETTINGS, SECRET_PLACEHOLDER } from '../../runtime/bundle/manifest-schema.ts'
import { z } from '../../runtime/zod.ts'

/*
 * The protocol between a Satellite and the control center. The Satellite sends every request. Paths are under
 * `CLOUD_URL/satellite/v1/`, and the remote environment token is the bearer token. Both sides validate with these
 * schemas. Released Satellites rely on these schemas: additions must be optional, and existing parts must not change.
 */

export const SATELLITE_API = '/satellite/v1'

export const SolutionName = z
  .string()
  .regex(/^(?!.{2}--)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
  .max(63)
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/)
/** Epoch ms. */
const Time = z.int().min(0)
const Text = z.string().max(2000)
export const MOST_SOLUTIONS = 200

/** A string in the settings. It must not contain `%%NAME%%`, which would insert a secret. */
function plain<Schema extends z.ZodType<string>>(schema: Schema) {
  return schema
    .refine((text) => !text.includes('%%'), { error: 'must not contain %%, which would insert a secret' })
    .optional()
}

/**
 * The OAuth settings that the control center may set. They contain no secrets and no URLs. Otherwise, anyone who
 * controls the control center could send users, codes, tokens or secrets to another server. URLs, and the redirect
 * after a failed login, are set only by the manifest or the Satellite's operator. Parameters that are passed to the
 * provider unchanged are excluded too, because they can contain URLs.
 */
export const DesiredOAuth = z.strictObject({
  api: OAUTH_SETTINGS.api.optional(),
  clientId: plain(OAUTH_SETTINGS.clientId),
  /**
   * A reference to a secret: `%%NAME%%` names a secret that the Satellite's operator stored on the Satellite and
   * allowed for certain hosts.
   */
  apiSecret: z
    .string()
    .max(100)
    .regex(SECRET_PLACEHOLDER, 'must be %%NAME%%, where NAME is a secret that the operator stored on the Satellite')
    .optional(),
  tenant: OAUTH_SETTINGS.tenant,
  defaultScope: plain(OAUTH_SETTINGS.defaultScope.unwrap()),
  code_challenge_method: OAUTH_SETTINGS.code_challenge_method,
  token_endpoint_auth_method: OAUTH_SETTINGS.token_endpoint_auth_method,
  secondFactorAcr: plain(OAUTH_SETTINGS.secondFactorAcr.unwrap()),
  teamId: OAUTH_SETTINGS.teamId,
  keyId: OAUTH_SETTINGS.keyId,
  response_type: OAUTH_SETTINGS.response_type,
  response_mode: OAUTH_SETTINGS.response_mode,
})
export type DesiredOAuth = z.infer<typeof DesiredOAuth>

/** A map by solution name, with at most `MOST_SOLUTIONS` entries. */
function bySolution<Schema extends z.ZodType>(schema: Schema) {
  return z
    .record(SolutionName, schema)
    .refine((map) => Object.keys(map).length <= MOST_SOLUTIONS, `must have at most ${MOST_SOLUTIONS} solutions`)
}

export const DesiredSettings = z
  .strictObject({
    /**
     * If null, the start page lists the solutions. If absent, the value from the Satellite's own environment applies.
     */
    defaultSolution: SolutionName.nullable().optional(),
    /** If absent, the value from the Satellite's own environment applies. */
    logLevel: z.enum(['debug', 'info', 'warn', 'error']).optional(),
    oauth: bySolution(DesiredOAuth).optional(),
  })
  .meta({ id: 'DesiredSettings' })
export type DesiredSettings = z.infer<typeof DesiredSettings>

/**
 * An environment's desired state. Properties that are not listed here make it invalid. Otherwise, anyone who controls
 * the control center could change a Satellite's grants, secrets, admin account or URLs.
 */
export const DesiredState = z
  .strictObject({
    /**
     * The environment's id. The Satellite stores the id from its first statement, and rejects other ids until its token
     * changes.
     */
    environment: z.uuid(),
    /**
     * The sequence number, which increases with each change. A Satellite never accepts a lower number, or different
     * content with the same number.
     */
    number: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    issuedAt: Time,
    /** Solutions that are not listed stay unchanged. */
    solutions: bySolution(z.strictObject({ sha256: Sha256, version: z.string().max(100) })),
    settings: DesiredSettings,
  })
  .meta({ id: 'DesiredState' })
export type DesiredState = z.infer<typeof DesiredState>

/** `typ` of the JWS (RFC 7515, compact, alg `EdDSA` with Ed25519) that contains a desired state. */
export const DESIRED_TYPE = 'solhost-desired+jws'
/** Longest JWS, in characters. */
export const LONGEST_STATEMENT = 256 * 1024

/**
 * GET `desired?after={number}&wait={seconds}`: responds with 200 `{statement}` as soon as there is a statement with a
 * number above the given one (0: any). If there is none within `wait` seconds (at most `LONGEST_WAIT`), responds with
 * 204.
 */
export const DesiredAnswer = z.object({ statement: z.string().max(LONGEST_STATEMENT) }).meta({ id: 'DesiredAnswer' })
export const LONGEST_WAIT = 55

/**
 * GET `key`: the public key that verifies statements. If none is pinned, the Satellite trusts the key that it received
 * on its first connection.
 */
export const KeyAnswer = z.object({ publicKey: z.string().regex(/^[A-Za-z0-9_-]{43}$/) }).meta({ id: 'KeyAnswer' })

/*
 * GET `bundles/{sha256}`: responds with `application/zip`. Only bundles in the environment's desired state are
 * available.
 */

/** All other fields of an error are dropped, because anyone with a token could send anything in them. */
const ReportedFault = z.object({
  message: Text,
  file: z.string().max(300).optional(),
  line: z.int().min(0).optional(),
  column: z.int().min(0).optional(),
})

/**
 * The result for one solution of a desired state. `code` and `faults` have the same form as in the response to an
 * upload.
 */
export const SolutionResult = z.object({
  name: SolutionName,
  sha256: Sha256,
  outcome: z.enum(['active', 'failed']),
  code: z.string().max(100).optional(),
  message: Text.optional(),
  faults: z.array(ReportedFault).max(50).optional(),
})
export type SolutionResult = z.infer<typeof SolutionResult>

/**
 * POST `report`: the state of one of the environment's nodes, sent at least every `REPORT_EVERY` and after each change.
 */
export const Report = z
  .object({
    /** A node's id, created when its process starts. It distinguishes the nodes of an environment. */
    node: z.uuid(),
    /** The Satellite's version. */
    version: z.string().max(100),
    /** The sequence number of the last desired state that the node tried to apply; 0 if there was none. */
    number: z.int().min(0),
    /** `refused`: the statement itself was not accepted; `reason` explains why. */
    outcome: z.enum(['none', 'applied', 'failed', 'refused']),
    reason: Text.optional(),
    results: z.array(SolutionResult).max(MOST_SOLUTIONS),
    /** The solutions that are running now. */
    solutions: z
      .array(z.object({ name: SolutionName, sha256: Sha256.nullable(), version: z.string().max(100) }))
      .max(MOST_SOLUTIONS),
    /** The first problems on the Satellite's health page, as sentences for the operator. */
    health: z.enum(['good', 'warning', 'bad']),
    findings: z.array(Text).max(20),
  })
  .meta({ id: 'Report' })
export type Report = z.infer<typeof Report>
/** Maximum time between two reports, in ms. */
export const REPORT_EVERY = 30_000

/**
 * GET `solutions/{name}/login-page` with `If-None-Match`: responds with 200 and an ETag, or with 304. `template` is a
 * login template, to which the usual rules for templates apply. `texts` are i18n tables by locale (`default`, `nl`, …)
 * and key.
 */
export const LoginPageAnswer = z
  .object({
    template: z.string().max(256 * 1024),
    texts: z.record(z.string().max(35), z.record(z.string().max(200), z.string().max(10_000))),
  })
  .meta({ id: 'LoginPageAnswer' })
export type LoginPageAnswer = z.infer<typeof LoginPageAnswer>

/** POST `solutions/{name}/authenticate`. `address` is the browser's IP address, for the throttle. */
export const AuthenticateRequest = z
  .strictObject({
    username: z.string().max(200),
    password: z.string().max(1000),
    /** The `custom_…` fields of the login page. */
    custom: z.record(z.string().max(100), z.string().max(1000)).optional(),
    address: z.string().max(100),
  })
  .meta({ id: 'AuthenticateRequest' })
export type AuthenticateRequest = z.infer<typeof AuthenticateRequest>

/**
 * POST `solutions/{name}/refresh`: checks a remembered user again. `since` is when the user last entered credentials.
 * If the password has changed since then, the remembered login is no longer valid.
 */
export const RefreshRequest = z.strictObject({ uid: z.string().max(200), since: Time }).meta({ id: 'RefreshRequest' })
export type RefreshRequest = z.infer<typeof RefreshRequest>

/**
 * A header of `refresh`: the Satellite's time when it sends the request, in epoch ms. It is optional. If the two clocks
 * differ by more than `CLOCKS_AGREE`, the control center converts `since` to its own clock. Otherwise, a Satellite
 * whose clock is ahead would accept remembered logins from before a password change.
 */
export const CLOCK_HEADER = 'solhost-clock'
/** In ms. Smaller differences can be caused by the network. */
export const CLOCKS_AGREE = 10_000

/**
 * The response to `authenticate` and `refresh`, with status 200 even if the sign-in is rejected. A throttled request
 * gets 429 with Retry-After.
 */
export const AuthenticateAnswer = z
  .discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('accepted'),
      uid: z.string().min(1).max(200),
      username: z.string().min(1).max(200),
      permissions: z.array(z.string().min(1).max(200)).max(1000),
      /** The tenant in the format that `security.setTenantValue` accepts; null if there is no tenant value. */
      tenant: z
        .array(z.union([z.string().max(200), z.number()]))
        .max(100)
        .nullable(),
    }),
    z.object({
      outcome: z.literal('refused'),
      /** `verify`: the email address is not confirmed yet. Reported only if the password is correct. */
      reason: z.enum(['credentials', 'verify']),
    }),
  ])
  .meta({ id: 'AuthenticateAnswer' })
export type AuthenticateAnswer = z.infer<typeof AuthenticateAnswer>
