import type { Context } from 'koa'
import type { MatchedEndpoint } from '../../base/bundles/endpoint-table.ts'
import type { EndpointMethod } from '../../runtime/bundle/endpoint-schema.ts'

/** A path's endpoints by method. */
export type Matched = ReadonlyMap<EndpointMethod, MatchedEndpoint>

/** Headers that cross-origin requests may send, in addition to the CORS-safelisted request headers. */
const ALLOWED_HEADER = /^(?:authorization|content-type|x-[a-z0-9-]{1,60})$/
const MOST_HEADERS = 50
/** How long browsers cache a preflight, in seconds. */
const MAX_AGE = 600

/** Responds to an OPTIONS request: a CORS preflight, or a request for the supported methods. */
export function answerOptions(ctx: Context, matched: Matched): void {
  ctx.status = 204
  ctx.set('Allow', allowedMethods(matched))
  const asked = ctx.get('Access-Control-Request-Method')
  const endpoint = [...matched.values()].find(({ endpoint: { method } }) => method === methodOf(asked))
  if (endpoint === undefined || !allowOrigin(ctx, endpoint)) return
  const methods = [...matched.values()]
    .filter((one) => isAllowed(ctx.get('Origin'), one))
    .map((one) => one.endpoint.method)
  const headers = ctx
    .get('Access-Control-Request-Headers')
    .toLowerCase()
    .split(',', MOST_HEADERS)
    .map((name) => name.trim())
    .filter((name) => ALLOWED_HEADER.test(name))
  ctx.set('Access-Control-Allow-Methods', methods.join(', '))
  if (headers.length > 0) ctx.set('Access-Control-Allow-Headers', headers.join(', '))
  ctx.set('Access-Control-Max-Age', String(MAX_AGE))
  ctx.vary('Access-Control-Request-Headers')
}

/**
 * Lets the page that sent the request read the response, if the endpoint allows its origin.
 * @returns whether the origin is allowed
 */
export function allowOrigin(ctx: Context, matched: MatchedEndpoint): boolean {
  const { cors } = matched.endpoint.declaration
  if (cors === null) return false
  const origin = ctx.get('Origin')
  if (cors !== '*') ctx.vary('Origin')
  if (!isAllowed(origin, matched)) return false
  ctx.set('Access-Control-Allow-Origin', cors === '*' ? '*' : origin)
  ctx.set('Access-Control-Expose-Headers', '*')
  return true
}

export function allowedMethods(matched: Matched): string {
  const methods: string[] = [...matched.keys()]
  return [...(matched.has('GET') ? ['HEAD'] : []), ...methods, 'OPTIONS'].join(', ')
}

/** HEAD requests are handled by the endpoint for GET. */
export function methodOf(method: string): string {
  return method === 'HEAD' ? 'GET' : method
}

function isAllowed(origin: string, { endpoint: { declaration } }: MatchedEndpoint): boolean {
  const { cors } = declaration
  return origin !== '' && cors !== null && (cors === '*' || cors.includes(origin))
}
