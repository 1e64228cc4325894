import type { Context } from 'koa'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import {
  decodeSegments,
  type Endpoint,
  endpointsOf,
  type MatchedEndpoint,
  matchEndpoints,
} from '../../base/bundles/endpoint-table.ts'
import { availableLocales } from '../../base/bundles/messages.ts'
import { allowEndpoint } from '../../base/http/content-security.ts'
import { isRefusal } from '../../base/http/errors.ts'
import { requireDataRequest } from '../../base/http/fetch-metadata.ts'
import { chooseLocale } from '../../base/http/languages.ts'
import { methodNotAllowed } from '../../base/http/method-check.ts'
import { stateOf } from '../../base/http/request.ts'
import type { EndpointMethod } from '../../runtime/bundle/endpoint-schema.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Failed } from '../../runtime/outcome.ts'
import type { Json } from '../../runtime/plugin.ts'
import { createBodyTurns } from './body-turns.ts'
import { createCallLimit } from './call-limit.ts'
import { type Caller, type CallerParts, createCallers } from './callers.ts'
import { createInputCheck, type InputCheck } from './check-input.ts'
import { allowedMethods, allowOrigin, answerOptions, methodOf } from './cors.ts'
import type { NetworkLimit } from './network-limit.ts'
import { headersOf, parseBody, queryOf, type RawBody, readRawBody } from './read-request.ts'
import { createRunEndpoint, type RunEndpoint, type RunEndpointParts } from './run-endpoint.ts'
import { sendAnswer, sendFailure } from './send-answer.ts'

export type EndpointParts = CallerParts & RunEndpointParts & { readonly limits: Limits; readonly network: NetworkLimit }

/**
 * Handles a request below a solution's `api/`. Checks the path and method, limits, caller, permission, query and body,
 * in this order. Then it runs the script. All input is limited in size and checked before a sandbox process receives
 * it.
 */
export type AnswerEndpoint = (ctx: Context, needSolution: () => Promise<ActiveSolution>) => Promise<void>

type Table = { readonly endpoints: readonly Endpoint[]; readonly checks: Map<Endpoint, InputCheck> }

export function createEndpoints(parts: EndpointParts): AnswerEndpoint {
  const { limits, sites, network } = parts
  const runEndpoint = createRunEndpoint(parts)
  const findCaller = createCallers(parts)
  const inTurn = createCallLimit(limits)
  const inBodyTurn = createBodyTurns()
  const tables = new WeakMap<ActiveSolution, Table>()

  function tableOf(solution: ActiveSolution): Table {
    const table = tables.get(solution) ?? { endpoints: endpointsOf(solution), checks: new Map() }
    tables.set(solution, table)
    return table
  }

  function inputCheck(solution: ActiveSolution, endpoint: Endpoint): InputCheck {
    const { checks } = tableOf(solution)
    const check = checks.get(endpoint) ?? createInputCheck(endpoint)
    checks.set(endpoint, check)
    return check
  }

  /**
   * Finds the endpoint. Responds to OPTIONS requests itself, and then returns null.
   * @throws ERR_NOT_FOUND, ERR_METHOD_NOT_ALLOWED
   */
  function match(
    ctx: Context,
    solution: ActiveSolution,
  ): { matched: MatchedEndpoint; segments: readonly string[] } | null {
    const segments = decodeSegments(pathOf(ctx))
    const found = segments === null ? null : matchEndpoints(tableOf(solution).endpoints, segments)
    if (segments === null || found === null || found.size === 0) {
      throw new PlatformError('ERR_NOT_FOUND', 'The solution has no endpoint at this URL. Check the path.')
    }
    if (ctx.method === 'OPTIONS') {
      answerOptions(ctx, found)
      return null
    }
    const matched = found.get(methodOf(ctx.method) as EndpointMethod)
    if (matched !== undefined) return { matched, segments }
    throw methodNotAllowed('This method', allowedMethods(found))
  }

  async function respond(ctx: Context, solution: ActiveSolution, isCounted: () => void): Promise<void> {
    requireDataRequest(ctx)
    const found = match(ctx, solution)
    if (found === null) return
    const { endpoint, params } = found.matched
    allowOrigin(ctx, found.matched)
    if (endpoint.declaration.authentication.includes('none')) {
      isCounted()
      await network.admit(stateOf(ctx).client.address)
      // Skip the function if the client disconnected while the request was waiting.
      if (ctx.res.destroyed) return
    }
    let raw: Promise<RawBody> | null = null
    const readBody = () => {
      raw ??= readRawBody(ctx, limits, network)
      return raw
    }
    const caller = await findCaller(ctx, solution, endpoint, readBody)
    needPermission(endpoint, caller)
    const query = queryOf(ctx)
    const received = await readBody()
    const size = received?.bytes.length ?? 0
    if (caller.way === 'none') network.countBody(stateOf(ctx).client.address, size)
    const answer = await inTurn(solution.name, async () => {
      const body = await inBodyTurn(size, () => {
        const parsed = parseBody(received, limits)
        inputCheck(solution, endpoint)(query, parsed)
        return parsed
      })
      return run(ctx, solution, endpoint, caller, {
        id: stateOf(ctx).correlationId,
        method: methodOf(ctx.method),
        path: `/${found.segments.join('/')}`,
        params,
        query,
        headers: headersOf(ctx.req),
        body,
      })
    })
    if (answer === null) return sendFailure(ctx, busy())
    if ('code' in answer) return sendFailure(ctx, answer)
    sendAnswer(ctx, answer, caller.way === 'none')
  }

  function run(
    ctx: Context,
    solution: ActiveSolution,
    endpoint: Endpoint,
    { way: _, ...caller }: Caller,
    request: Json,
  ): ReturnType<RunEndpoint> {
    const { client, correlationId } = stateOf(ctx)
    return runEndpoint(solution, endpoint, request, {
      ...caller,
      correlationId,
      address: client.address,
      locale: chooseLocale(ctx.get('Accept-Language'), availableLocales(solution.texts)),
      serverUrl: sites.originOf(solution.name, client),
    })
  }

  return async (ctx, needSolution) => {
    allowEndpoint(ctx)
    let isCounted = false
    try {
      await respond(ctx, await needSolution(), () => {
        isCounted = true
      })
    } catch (error) {
      // Count rejected requests too. Otherwise, an attacker could try an unlimited number of tokens or URLs.
      if (isRefusal(error) && error.code !== 'ERR_THROTTLED' && !isCounted) network.count(stateOf(ctx).client.address)
      throw error
    }
  }
}

/** The path below `api/`, not decoded. */
function pathOf(ctx: Context): string {
  return ctx.path.slice(ctx.path.indexOf('/api/') + 5)
}

/** @throws ERR_FORBIDDEN */
function needPermission({ declaration: { permission } }: Endpoint, { user }: Caller): void {
  if (permission === null || user?.permissions.includes(permission)) return
  throw new PlatformError('ERR_FORBIDDEN', `This endpoint requires the permission "${permission}".`)
}

function busy(): Failed {
  return { code: 'sandbox_busy', message: 'the solution has too many calls in progress', milliseconds: 0 }
}
