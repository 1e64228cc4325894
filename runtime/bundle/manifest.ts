import type { z } from '../zod.ts'
import { type Authentication, type InputSchema, type WrittenEndpoint, waysOf } from './endpoint-schema.ts'
import type { Fault, Warning } from './faults.ts'
import { Findings, showName } from './findings.ts'
import { type JobDeclaration, jobOf } from './job-schema.ts'
import { type JsonPlaces, NO_PLACES } from './json-places.ts'
import {
  AUTHENTICATOR_MODES,
  isQuotable,
  knownKeys,
  ManifestSchema,
  type REALMS,
  type WrittenManifest,
} from './manifest-schema.ts'
import { fewTypos, nearestKey } from './nearest-key.ts'
import { pathName, quoteValue } from './quote.ts'

export { FORM_EVENTS, ManifestSchema, manifestJsonSchema } from './manifest-schema.ts'
export { AUTHENTICATOR_MODES }

export type AuthenticatorMode = (typeof AUTHENTICATOR_MODES)[number]

export type EventTypeDeclaration = {
  readonly description: string | null
  readonly arguments: readonly { readonly name: string; readonly type: string }[]
  readonly returnType: string | null
}

export type DatabaseRequest = {
  readonly server: 'embedded' | 'alpha' | 'beta' | 'gamma'
  readonly database: string | null
}

/** The sign-in settings by name, and the provider's additional parameters. */
export type OAuthSettings = NonNullable<WrittenManifest['oauth']>

/** Whether users need a second factor. If `requiredFor` is null, `required` and `passkey` apply to all users. */
export type ManifestSignIn = {
  readonly secondFactor: NonNullable<WrittenManifest['signIn']>['secondFactor']
  readonly requiredFor: readonly string[] | null
}

export type EndpointDeclaration = {
  readonly function: string
  readonly authentication: readonly Authentication[]
  readonly permission: string | null
  readonly signature: WrittenEndpoint['signature'] | null
  readonly cors: '*' | readonly string[] | null
  readonly query: InputSchema | null
  readonly body: InputSchema | null
}

/** A complete manifest: omitted values have their defaults, and older keys are converted to current ones. */
export type Manifest = {
  readonly name: string
  readonly title: string
  readonly version: string
  readonly type: 'solution' | 'module' | 'authenticator'
  readonly authenticator: AuthenticatorMode
  readonly loginForm: string | null
  readonly loginSolution: string | null
  readonly firstForm: string | null
  readonly modules: readonly string[]
  /** The object has no prototype. The same is true for `oauth` and `databases`. */
  readonly eventTypes: Readonly<Record<string, EventTypeDeclaration>>
  readonly permissions: readonly string[]
  /** If null, the default of the solution's sign-in mode applies. Only the solution's own manifest can set this. */
  readonly signIn: ManifestSignIn | null
  readonly oauth: OAuthSettings | null
  readonly databases: Readonly<Record<string, DatabaseRequest>>
  /** Keyed by method and path, such as `GET /orders/{id}`. The object has no prototype. */
  readonly endpoints: Readonly<Record<string, EndpointDeclaration>>
  /** The jobs by name. The object has no prototype. */
  readonly jobs: Readonly<Record<string, JobDeclaration>>
  /** Hosts in the form `host` or `host:port`, in lower case. */
  readonly http: readonly string[]
  readonly listed: boolean
  /** How calls outside clients are isolated from each other. Only the solution's own manifest can set it. */
  readonly realm: (typeof REALMS)[number]
}

export type ManifestCheck = { manifest: Manifest | null; faults: Fault[]; warnings: Warning[] }

/**
 * Checks the result of `parseStrictJson` for a manifest. The bundle reader checks whether the manifest has the right
 * type.
 */
export function checkManifest(value: unknown, file: string, places: JsonPlaces = NO_PLACES): ManifestCheck {
  const found = new Findings()
  const parsed = ManifestSchema.safeParse(value, { reportInput: true })
  if (!parsed.success) {
    reportIssues(parsed.error.issues, file, places, found)
    return { manifest: null, faults: [...found.faults], warnings: [] }
  }
  if (parsed.data.mustAuthenticate !== undefined) {
    const instead = parsed.data.mustAuthenticate ? 'DEFAULT' : 'NONE'
    const message =
      parsed.data.authenticator === undefined
        ? `"mustAuthenticate" is deprecated; use "authenticator": "${instead}"`
        : '"mustAuthenticate" is deprecated and has no effect, because "authenticator" is set; remove it'
    found.warn(file, 'manifest_deprecated', message, places.key(['mustAuthenticate']))
  }
  if (parsed.data.loginSolution !== undefined) {
    const message =
      '"loginSolution" is deprecated; use "authenticator": "AUTHENTICATOR" and list the module in "modules"'
    found.warn(file, 'manifest_deprecated', message, places.key(['loginSolution']))
  }
  return { manifest: normalise(parsed.data), faults: [], warnings: [...found.warnings] }
}

/**
 * Returns the modules and forms that a manifest refers to. References that can't be read are omitted. Works for an
 * invalid manifest too, so that one response also lists the missing modules and forms.
 */
export function namedParts(value: unknown): { modules: string[]; forms: string[]; loginSolution: string | null } {
  const written = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  const { shape } = ManifestSchema
  const modules = Array.isArray(written.modules) ? written.modules.slice(0, 1000) : []
  const names = modules.filter((name) => shape.name.safeParse(name).success) as string[]
  const forms = [written.loginForm, written.firstForm].filter(
    (form) => shape.firstForm.safeParse(form).data,
  ) as string[]
  return {
    modules: [...new Set(names)],
    forms,
    loginSolution: shape.loginSolution.safeParse(written.loginSolution).data ?? null,
  }
}

function normalise(written: WrittenManifest): Manifest {
  return {
    name: written.name,
    title: written.title ?? written.name,
    version: written.version,
    type: written.type ?? 'solution',
    authenticator: authenticatorMode(written),
    loginForm: written.loginForm ?? null,
    loginSolution: written.loginSolution ?? null,
    firstForm: written.firstForm ?? null,
    modules: written.modules ?? [],
    eventTypes: mapRecord(written.eventTypes ?? {}, (event) => ({
      description: event.description ?? null,
      arguments: event.arguments ?? [],
      returnType: event.returnType ?? null,
    })),
    permissions: written.permissions ?? [],
    signIn: written.signIn
      ? { secondFactor: written.signIn.secondFactor, requiredFor: written.signIn.requiredFor ?? null }
      : null,
    oauth: written.oauth ? Object.assign(Object.create(null), written.oauth) : null,
    databases: mapRecord(written.databases ?? {}, ({ server, database }) => ({ server, database: database ?? null })),
    endpoints: mapRecord(written.endpoints ?? {}, (endpoint) => ({
      function: endpoint.function,
      authentication: waysOf(endpoint),
      permission: endpoint.permission ?? null,
      signature: endpoint.signature ?? null,
      cors: endpoint.cors ?? null,
      query: endpoint.query ?? null,
      body: endpoint.body ?? null,
    })),
    jobs: mapRecord(written.jobs ?? {}, jobOf),
    http: (written.http ?? []).map((host) => host.toLowerCase()),
    listed: written.listed ?? true,
    realm: written.realm ?? 'fresh',
  }
}

/** `authenticator` takes precedence. If both properties are absent, authentication is required. */
function authenticatorMode(written: WrittenManifest): AuthenticatorMode {
  if (written.authenticator === 'OAUTH PROVIDER') return 'OAUTH'
  return written.authenticator ?? (written.mustAuthenticate === false ? 'NONE' : 'DEFAULT')
}

function mapRecord<In, Out>(record: Record<string, In>, change: (value: In) => Out): Record<string, Out> {
  const result: Record<string, Out> = Object.create(null)
  for (const [key, value] of Object.entries(record)) result[key] = change(value)
  return result
}

/** Reports one error per position: if a value violates three rules, the author has probably made only one mistake. */
function reportIssues(issues: readonly z.core.$ZodIssue[], file: string, places: JsonPlaces, found: Findings): void {
  const reported = new Set<string>()
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        // Once the list of errors is full, only count further keys: comparing thousands with every known key would take
        // too long.
        const message = found.isFull ? '' : unknownKeyMessage(key, issue.path)
        found.fault(file, 'manifest_unknown_key', message, found.isFull ? {} : places.key([...issue.path, key]))
      }
      continue
    }
    const place = pathName(issue.path)
    if (reported.has(place)) continue
    reported.add(place)
    found.fault(file, 'manifest_invalid', invalidMessage(issue), found.isFull ? {} : places.value(issue.path))
  }
}

function unknownKeyMessage(key: string, path: readonly PropertyKey[]): string {
  const known = knownKeys(path)
  const nearest = nearestKey(key, known, fewTypos)
  const where = path.length === 0 ? 'the manifest' : pathName(path)
  const advice = nearest === null ? `the allowed properties are ${known.join(', ')}` : `did you mean "${nearest}"?`
  return `${where} has an unknown property "${showName(key)}"; ${advice}`
}

function invalidMessage(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_key')
    return `the name ${pathName(issue.path)} ${issue.issues[0]?.message ?? issue.message}`
  const what = issue.path.length === 0 ? 'the manifest' : pathName(issue.path)
  if (issue.input === undefined) return `${what} is missing; it ${issue.message}`
  return `${what} ${issue.message}${isQuotable(issue.path) ? quoteValue(issue.input) : ''}`
}
