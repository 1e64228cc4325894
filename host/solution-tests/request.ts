import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { decodeSegments, type Endpoint, endpointsOf, matchEndpoints } from '../../base/bundles/endpoint-table.ts'
import { createCorrelationId } from '../../base/http/correlation.ts'
import { statusOf } from '../../base/http/errors.ts'
import type { SignedInUser } from '../../plugins/security/host.ts'
import type { Authentication, EndpointMethod } from '../../runtime/bundle/endpoint-schema.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { type Json, ScriptError } from '../../runtime/plugin.ts'
import { createInputCheck } from '../endpoints/check-input.ts'
import { createRunEndpoint } from '../endpoints/run-endpoint.ts'
import { createEntryRunner } from '../solutions/run-entry.ts'
import { createRecorder, type RecordedParts } from './recorder.ts'
import { ScriptFailure } from './script-failure.ts'
import { BROWSER, plain } from './sign-in.ts'
import type { Opening } from './stage-visitor.ts'

/** A request that a test sends to an endpoint. */
export type TestRequest = {
  readonly body?: Json
  readonly headers?: Readonly<Record<string, string>>
  readonly locale?: string
  /** A signed-in user. */
  readonly user?: Opening['user']
  readonly token?: { readonly permissions?: readonly string[]; readonly tenant?: readonly (string | number)[] }
  readonly signed?: boolean
}

/** The steps of a request on a host, without HTTP. @throws ScriptFailure if the script fails */
export async function requestEndpoint(
  solution: ActiveSolution,
  address: string,
  given: TestRequest,
  user: SignedInUser | null,
  parts: RecordedParts & { readonly limits: Limits },
): Promise<Json> {
  const [, method = '', path = '', search = ''] = /^([A-Z]+) \/([^?\s]*)(?:\?(\S*))?$/.exec(address) ?? []
  if (method === '')
    throw new ScriptError('the first argument must be a method and a path, such as "GET /orders/7?full=1"')
  const recorder = createRecorder()
  const mark = recorder.mark()
  const recorded = recorder.around(parts)
  try {
    const segments = decodeSegments(path)
    const found = segments === null ? null : matchEndpoints(endpointsOf(solution), segments)
    if (found === null || found.size === 0) throw new PlatformError('ERR_NOT_FOUND', `there is no endpoint /${path}`)
    const matched = found.get(method as EndpointMethod)
    if (matched === undefined)
      throw new PlatformError('ERR_METHOD_NOT_ALLOWED', `the endpoint does not accept the method ${method}`)
    const { endpoint, params } = matched
    const caller = callerOf(endpoint, given, user)
    const query: Record<string, string> = Object.fromEntries(new URLSearchParams(search))
    const { body = null } = given
    createInputCheck(endpoint)(query, body)
    const headers = Object.fromEntries(
      Object.entries(given.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    )
    const correlationId = createCorrelationId()
    const run = createRunEndpoint({
      limits: parts.limits,
      runEntry: createEntryRunner(recorded),
      supervisor: parts.supervisor,
      solutionLog: recorded.log,
    })
    const request = { id: correlationId, method, path: `/${segments?.join('/')}`, params, query, headers, body }
    const locale = given.locale ?? BROWSER.locale
    const answer = await run(solution, endpoint, request, { ...BROWSER, ...caller, correlationId, locale })
    if ('code' in answer) throw new ScriptFailure(answer)
    const shown = { status: answer.status, headers: Object.fromEntries(answer.headers), body: bodyOf(answer) }
    return plain({ ...shown, code: null, faults: [], ...recorder.since(mark) })
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    const { faults = [] } = error.details as { faults?: readonly Json[] }
    const shown = { status: statusOf(error), headers: {}, body: null, code: error.code, faults }
    return plain({ ...shown, ...recorder.since(mark) })
  }
}

/**
 * Checks the caller as a host does. The caller must be authenticated in one of the endpoint's ways and have its
 * permission.
 */
function callerOf({ declaration }: Endpoint, given: TestRequest, signedIn: SignedInUser | null) {
  const ways: readonly Authentication[] = declaration.authentication
  const ofToken = given.token === undefined ? null : tokenUser(given.token)
  const user = ways.includes('none')
    ? null
    : ofToken !== null && ways.includes('token')
      ? ofToken
      : given.token === undefined && ways.includes('session')
        ? signedIn
        : null
  const isKnown = user !== null || ways.includes('none') || (given.signed === true && ways.includes('signature'))
  if (!isKnown) throw new PlatformError('ERR_UNAUTHENTICATED', `this endpoint requires a valid ${ways.join(' or ')}`)
  const { permission } = declaration
  if (permission !== null && !user?.permissions.includes(permission)) {
    throw new PlatformError('ERR_FORBIDDEN', `this endpoint requires the permission "${permission}"`)
  }
  return { user, account: null }
}

function tokenUser({ permissions = [], tenant }: NonNullable<TestRequest['token']>): SignedInUser {
  return { username: 'token:test', uid: 'token:test', permissions, tenant: tenant ?? null }
}

/** Returns the body. JSON is parsed, because tests would do so anyway. */
function bodyOf({
  body,
  headers,
}: {
  readonly body: string | null
  readonly headers: ReadonlyMap<string, string>
}): Json {
  if (body === null) return null
  return /json/i.test(headers.get('content-type') ?? 'json') ? (JSON.parse(body) as Json) : body
}
