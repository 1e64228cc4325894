import { type Endpoint, endpointsOf } from '../../base/bundles/endpoint-table.ts'
import type { PreparedSolution } from '../../base/bundles/prepared-solution.ts'
import type { Authentication } from '../../runtime/bundle/endpoint-schema.ts'
import { strictSchema } from './check-input.ts'

type Described = Pick<PreparedSolution, 'manifest' | 'modules'>

const SIGNATURE_HEADERS = {
  stripe: 'Stripe-Signature',
  github: 'X-Hub-Signature-256',
  standard: 'Webhook-Signature',
} as const

const problem = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }
const answered = (description: string) => ({ description, content: problem })

const PROBLEM = {
  type: 'object',
  required: ['type', 'title', 'status', 'code', 'correlationId'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string' },
    detail: { type: 'string' },
    correlationId: { type: 'string' },
    faults: {
      type: 'array',
      items: { type: 'object', properties: { path: { type: 'string' }, message: { type: 'string' } } },
    },
  },
}

/** Returns the OpenAPI 3.1 document for a solution's endpoints. */
export function describeEndpoints(solution: Described): object {
  const { name, title, version } = solution.manifest
  const endpoints = endpointsOf(solution)
  const paths: Record<string, Record<string, object>> = {}
  for (const endpoint of endpoints) {
    const path = `/${endpoint.segments.join('/')}`
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(endpoint) }
  }
  return {
    openapi: '3.1.0',
    info: { title, version },
    servers: [{ url: `/solution/${name}/api` }],
    paths,
    components: { schemas: { Problem: PROBLEM }, securitySchemes: schemesOf(name, endpoints) },
  }
}

function operationOf(endpoint: Endpoint): object {
  const { declaration, method } = endpoint
  const { authentication, permission } = declaration
  return {
    operationId: `${declaration.function}.${method.toLowerCase()}.${endpoint.segments.join('.').replace(/[{}]/g, '')}`,
    summary: declaration.function,
    ...(permission === null ? {} : { description: `Requires the permission "${permission}".` }),
    security: authentication.map((way) => (way === 'none' ? {} : { [schemeName(endpoint, way)]: [] })),
    parameters: parametersOf(endpoint),
    ...(method === 'GET' ? {} : { requestBody: bodyOf(endpoint) }),
    responses: {
      default: { description: 'the function’s response' },
      ...(authentication.includes('none') ? {} : { 401: answered('the caller could not be authenticated') }),
      ...(permission === null && !authentication.includes('session')
        ? {}
        : { 403: answered('the caller does not have the permission') }),
      ...(declaration.query === null && declaration.body === null
        ? {}
        : { 422: answered('the request does not match the schema') }),
      429: answered('too many requests from this network'),
      503: answered('the host is busy or in maintenance'),
      504: answered('the function timed out'),
    },
  }
}

function parametersOf({ segments, declaration: { query } }: Endpoint): object[] {
  const inPath = segments
    .filter((segment) => segment.startsWith('{'))
    .map((segment) => ({ name: segment.slice(1, -1), in: 'path', required: true, schema: { type: 'string' } }))
  const inQuery = Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: query?.required?.includes(name) === true,
    ...(schema.description === undefined ? {} : { description: schema.description }),
    schema: strictSchema(schema),
  }))
  return [...inPath, ...inQuery]
}

function bodyOf({ declaration: { body } }: Endpoint): object {
  if (body === null) {
    return { content: { 'application/json': {}, 'application/x-www-form-urlencoded': {}, 'text/*': {} } }
  }
  return { required: body.type !== 'null', content: { 'application/json': { schema: strictSchema(body) } } }
}

/** Each signature scheme has its own header. */
function schemeName({ declaration: { signature } }: Endpoint, way: Authentication): string {
  return way === 'signature' && signature ? `signature-${signature.scheme}` : way
}

function schemesOf(solution: string, endpoints: readonly Endpoint[]): Readonly<Record<string, object>> {
  const schemes: Record<string, object> = {}
  for (const endpoint of endpoints) {
    const { authentication, signature } = endpoint.declaration
    for (const way of authentication) {
      const name = schemeName(endpoint, way)
      if (way === 'token') schemes[name] = { type: 'http', scheme: 'bearer' }
      else if (way === 'session') schemes[name] = { type: 'apiKey', in: 'cookie', name: `session-${solution}` }
      else if (signature) schemes[name] = { type: 'apiKey', in: 'header', name: SIGNATURE_HEADERS[signature.scheme] }
    }
  }
  return schemes
}
