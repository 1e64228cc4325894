import { ENDPOINT_METHODS, type EndpointMethod, shapeOf } from '../../runtime/bundle/endpoint-schema.ts'
import type { EndpointDeclaration } from '../../runtime/bundle/manifest.ts'
import { clientManifests, type PreparedSolution } from './prepared-solution.ts'

export type Endpoint = {
  /** The key in the manifest, such as `GET /orders/{id}`. */
  readonly address: string
  readonly method: EndpointMethod
  /** The path below `api/`, without its first slash; parameters are in braces. */
  readonly segments: readonly string[]
  /** The module that declares the endpoint; null for the solution itself. */
  readonly module: string | null
  readonly declaration: EndpointDeclaration
}

export type MatchedEndpoint = { readonly endpoint: Endpoint; readonly params: Readonly<Record<string, string>> }

/**
 * Returns the endpoints of the solution and its modules, sorted by path. Main takes precedence over modules, and later
 * modules over earlier ones.
 */
export function endpointsOf(solution: Pick<PreparedSolution, 'manifest' | 'modules'>): readonly Endpoint[] {
  const byShape = new Map<string, Endpoint>()
  for (const { module, manifest } of clientManifests(solution)) {
    for (const [address, declaration] of Object.entries(manifest.endpoints)) {
      const [method = '', path = ''] = address.split(' ', 2)
      const segments = path.slice(1).split('/')
      byShape.set(shapeOf(address), { address, method: method as EndpointMethod, segments, module, declaration })
    }
  }
  return [...byShape.values()].sort((a, b) => compare(pathOf(a), pathOf(b)) || methodOrder(a) - methodOrder(b))
}

/**
 * Finds the endpoints for a path, by method. In each segment, a literal takes precedence over a parameter.
 * @param segments the decoded segments of the path
 */
export function matchEndpoints(
  endpoints: readonly Endpoint[],
  segments: readonly string[],
): ReadonlyMap<EndpointMethod, MatchedEndpoint> {
  const matched = new Map<EndpointMethod, MatchedEndpoint>()
  const fitting = endpoints.filter((endpoint) => fits(endpoint, segments)).sort(byPrecedence)
  for (const endpoint of fitting) {
    if (!matched.has(endpoint.method)) matched.set(endpoint.method, { endpoint, params: paramsOf(endpoint, segments) })
  }
  return matched
}

/**
 * Decodes a path below `api/`. @returns null if a segment is empty, "." or "..", contains a slash, backslash or control
 * character, or has an invalid percent-encoding
 */
export function decodeSegments(path: string): readonly string[] | null {
  const segments = path.split('/').map(decoded)
  return segments.every((segment) => segment !== null) ? segments : null
}

function decoded(segment: string): string | null {
  try {
    const text = decodeURIComponent(segment)
    return text === '' || text === '.' || text === '..' || /[/\\\p{Cc}]/u.test(text) ? null : text
  } catch {
    return null
  }
}

function fits(endpoint: Endpoint, segments: readonly string[]): boolean {
  return (
    endpoint.segments.length === segments.length &&
    endpoint.segments.every((segment, index) => isParameter(segment) || segment === segments[index])
  )
}

function byPrecedence(one: Endpoint, other: Endpoint): number {
  for (const [index, segment] of one.segments.entries()) {
    const difference = Number(isParameter(segment)) - Number(isParameter(other.segments[index] ?? ''))
    if (difference !== 0) return difference
  }
  return 0
}

function paramsOf(endpoint: Endpoint, segments: readonly string[]): Readonly<Record<string, string>> {
  const params: Record<string, string> = Object.create(null)
  for (const [index, segment] of endpoint.segments.entries()) {
    if (isParameter(segment)) params[segment.slice(1, -1)] = segments[index] ?? ''
  }
  return params
}

/** Whether a segment is a parameter. Literal segments can't contain a brace. */
function isParameter(segment: string): boolean {
  return segment.startsWith('{')
}

function pathOf({ segments }: Endpoint): string {
  return segments.join('/')
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function methodOrder({ method }: Endpoint): number {
  return ENDPOINT_METHODS.indexOf(method)
}
