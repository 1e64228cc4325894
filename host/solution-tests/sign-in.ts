import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { createCorrelationId } from '../../base/http/correlation.ts'
import { type Json, ScriptError } from '../../runtime/plugin.ts'
import { z } from '../../runtime/zod.ts'
import { askAgain, earlierOf } from '../login/ask-again.ts'
import { type AuthenticatorQuestion, createAuthenticatorQuestion } from '../login/ask-authenticator.ts'
import { customFields, queryParams } from '../login/query-params.ts'
import type { SignInAnswer } from '../login/sign-in-answer.ts'
import { isProviderMode, signInModeOf } from '../login/sign-in-mode.ts'
import { lastLoginOf } from '../oauth/last-login.ts'
import { secretFields } from '../solutions/redact.ts'
import { createEntryRunner, type EntryCall, type EntryResult } from '../solutions/run-entry.ts'
import { createRecorder, type Recorded, type RecordedParts } from './recorder.ts'
import { ScriptFailure } from './script-failure.ts'

/** The browser that tests simulate. */
export const BROWSER = { address: '127.0.0.1', serverUrl: 'http://localhost', locale: 'en' } as const

export type GivenParams = Readonly<Record<string, Json>>

/** @throws ScriptError if there is no authenticator, ScriptFailure if its script fails */
export async function signIn(solution: ActiveSolution, given: GivenParams, parts: RecordedParts): Promise<Json> {
  const { authenticator, loginSolution } = solution.manifest
  const isThere = solution.modules.some(
    ({ name, manifest }) => manifest.type === 'authenticator' || name === loginSolution,
  )
  if (!isThere) {
    const advice = 'add a user with solution.addUser, then call solution.open({ user })'
    throw new ScriptError(`the solution has no authenticator ("authenticator": "${authenticator}"): ${advice}`)
  }
  const recorder = createRecorder()
  const mark = recorder.mark()
  const runEntry = createEntryRunner(recorder.around(parts))
  const results: EntryResult[] = []
  const ask = createAuthenticatorQuestion(async (...call) => {
    const result = await runEntry(...call)
    results.push(result)
    return result
  })
  const answer = await askAsHost(ask, solution, given)
  if (answer.kind === 'failed') throw new ScriptFailure(answer.failure)
  const { login, tenant, locale, showUrl } = answer.effects
  // If no user was signed in, the other commands have no effect, as on a host.
  const result = results.map(valuesOf).at(-1) ?? null
  return plain({ login, tenant, locale, showUrl, result, ...recorder.since(mark) })
}

/** Calls the script in the same way as a host, so that it gets the same parameters. */
function askAsHost(
  ask: AuthenticatorQuestion,
  solution: ActiveSolution,
  { last_login: given, ...rest }: GivenParams,
): Promise<SignInAnswer> {
  const texts = textsOf(rest)
  const typed = new Map([...texts].filter(([name]) => isTyped(name)))
  const url = new Map([...texts].filter(([name]) => !isTyped(name)))
  const asking = { solution, url, correlationId: createCorrelationId(), ...BROWSER }
  const ofProvider = isProviderMode(signInModeOf(solution))
  if (given === undefined && !ofProvider) return ask(asking, queryParams(url, typed), typed)
  const last = readLastLogin(given, ofProvider)
  const custom = customFields(texts)
  if (last.uid === undefined) {
    // There is no login form, so the parameters are those of the requested page.
    const page = new Map([...url, ...Object.entries(custom)])
    return ask(
      { ...asking, url: page },
      { ...queryParams(page), last_login: lastLoginOf(claimsOf(last), Date.now(), null) },
    )
  }
  const username = texts.get('username') ?? last.username
  const series = { ...last, uid: last.uid, username, custom }
  const earlier = earlierOf(asking, series)
  const lastLogin = ofProvider
    ? lastLoginOf(claimsOf(last), last.last_login, earlier)
    : { last_login: last.last_login, ...earlier }
  return askAgain(ask, asking, series, lastLogin)
}

/** Whether a login page would send this field in the form. All others are sent in the URL. */
function isTyped(name: string): boolean {
  return name === 'username' || name === 'password' || name.startsWith('custom_')
}

/** Members that a test omits get the values of an ordinary sign-in. */
const LastLogin = z.looseObject({
  last_login: z.number().default(() => Date.now()),
  uid: z.string().optional(),
  username: z.string().default(''),
  permissions: z.array(z.string()).default([]),
  tenant: z
    .array(z.union([z.string(), z.number()]))
    .nullable()
    .default(null),
  locale: z.string().nullable().default(null),
  claims: z.record(z.string(), z.json()).optional(),
})

/** @throws ScriptError whose message lists the values that a host would pass */
function readLastLogin(given: Json | undefined, ofProvider: boolean): z.infer<typeof LastLogin> {
  if (given === undefined)
    throw new ScriptError(
      'last_login is missing: users sign in with an OAuth provider, so pass the provider’s claims, such as { iss, sub, email }',
    )
  const read = LastLogin.safeParse(given)
  if (!read.success) {
    const [issue] = read.error.issues
    throw new ScriptError(`${['last_login', ...(issue?.path ?? [])].join('.')}: ${issue?.message}`)
  }
  if (read.data.uid === undefined && !ofProvider)
    throw new ScriptError('last_login.uid is missing; pass the uid of the user who is signing in')
  return read.data
}

/** Returns the provider's claims without the members that the platform sets. For `locale`, see `lastLoginOf`. */
function claimsOf({
  claims,
  last_login: _,
  uid,
  username,
  permissions,
  tenant,
  locale,
  ...others
}: z.infer<typeof LastLogin>): Readonly<Record<string, unknown>> {
  const shown = uid === undefined && locale !== null ? { ...others, locale } : others
  return claims ?? shown
}

/** @throws ScriptError if there is no such function, ScriptFailure if it fails */
export async function getOAuthConfig(
  solution: ActiveSolution,
  given: GivenParams,
  parts: RecordedParts,
): Promise<Json> {
  const units = (['authenticator', 'configuration'] as const).filter((unit) =>
    solution.entries[unit]?.includes('getOAuthConfig'),
  )
  const [unit] = units
  if (unit === undefined) {
    const { authenticator } = solution.manifest
    const rule =
      '"authenticator" must be "OAUTH_AUTHENTICATOR", and the authenticator or globals.js must declare getOAuthConfig'
    throw new ScriptError(
      `the host does not call getOAuthConfig in this solution, which has "authenticator": "${authenticator}"; ${rule}`,
    )
  }
  const url = textsOf(given)
  const [result, done] = await run(solution, parts, {
    unit,
    entry: 'getOAuthConfig',
    args: [queryParams(url)],
    secrets: secretFields(url),
    call: { kind: 'configuration', correlationId: createCorrelationId(), user: null, account: null, ...BROWSER },
  })
  return plain({ result: valuesOf(result), ...done })
}

async function run(
  solution: ActiveSolution,
  parts: RecordedParts,
  call: EntryCall,
): Promise<readonly [EntryResult, Recorded]> {
  const recorder = createRecorder()
  const mark = recorder.mark()
  const result = await createEntryRunner(recorder.around(parts))(solution, call)
  if (result.failure !== null) throw new ScriptFailure(result.failure)
  return [result, recorder.since(mark)]
}

/** Forms and URLs can send only strings, so convert the values. */
function textsOf(given: GivenParams): ReadonlyMap<string, string> {
  const entries = Object.entries(given).map(([name, value]) => {
    if (typeof value === 'string') return [name, value] as const
    throw new ScriptError(`queryParams.${name} must be a string, because forms and URLs can send only strings`)
  })
  return new Map(entries)
}

function valuesOf({ hasValues, values }: EntryResult): Json {
  return hasValues ? (values as Json) : null
}

/** Returns a JSON copy, as a guest receives it. The copy shares no objects with the host. */
export function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}
