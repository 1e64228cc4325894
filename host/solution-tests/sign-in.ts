import { type Json, ScriptError } from '../../runtime/plugin.ts'
import { createCorrelationId } from '../http/correlation.ts'
import { argumentOf, queryParams } from '../login/query-params.ts'
import type { ActiveSolution } from '../solutions/catalog.ts'
import { secretFields } from '../solutions/redact.ts'
import { createEntryRunner, type EntryCall, type EntryResult } from '../solutions/run-entry.ts'
import { createRecorder, type Recorded, type RecordedParts } from './recorder.ts'
import { ScriptFailure } from './script-failure.ts'

/** Where a test's browser is. */
export const BROWSER = { address: '127.0.0.1', serverUrl: 'http://localhost', locale: 'en' } as const

export type GivenParams = Readonly<Record<string, Json>>

/** @throws ScriptError where there is no authenticator, ScriptFailure where its script fails */
export async function signIn(solution: ActiveSolution, given: GivenParams, parts: RecordedParts): Promise<Json> {
  const { authenticator, loginSolution } = solution.manifest
  const isThere = solution.modules.some(
    ({ name, manifest }) => manifest.type === 'authenticator' || name === loginSolution,
  )
  if (!isThere) {
    const advice = 'solution.addUser adds users that the platform signs in; solution.open({ user }) opens it for one'
    throw new ScriptError(`the solution has no authenticator to ask ("authenticator": "${authenticator}"); ${advice}`)
  }
  const { last_login, ...rest } = given
  const fields = textsOf(rest)
  const params = { ...queryParams(new Map(), fields), ...(last_login === undefined ? {} : { last_login }) }
  const [result, done] = await run(solution, parts, {
    unit: 'authenticator',
    entry: 'onSolutionOpen',
    args: [argumentOf(fields), params],
    secrets: secretFields(fields),
    call: { kind: 'login', correlationId: createCorrelationId(), user: null, account: null, ...BROWSER },
  })
  const { login, tenant, locale, showUrl } = result.effects
  // Without a login the rest of what it asked for comes to nothing, as on a host.
  return plain({ login, tenant, locale, showUrl, result: valuesOf(result), ...done })
}

/** @throws ScriptError where there is no such function, ScriptFailure where it fails */
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
    const rule = '"authenticator": "OAUTH_AUTHENTICATOR", and the function in the authenticator or in globals.js'
    throw new ScriptError(`no getOAuthConfig would be asked ("authenticator": "${authenticator}"); it takes ${rule}`)
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

/** Forms and addresses send texts; anything else would be something that no browser sends. */
function textsOf(given: GivenParams): ReadonlyMap<string, string> {
  const entries = Object.entries(given).map(([name, value]) => {
    if (typeof value === 'string') return [name, value] as const
    throw new ScriptError(`queryParams.${name} must be a text, as forms and addresses have them`)
  })
  return new Map(entries)
}

function valuesOf({ hasValues, values }: EntryResult): Json {
  return hasValues ? (values as Json) : null
}

/** As a guest gets it: nothing of the host's own objects. */
export function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}
