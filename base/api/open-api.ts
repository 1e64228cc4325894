import type Router from '@koa/router'
import { z } from '../../runtime/zod.ts'
import { ERRORS } from '../http/errors.ts'
import { type Answers, type Bytes, type Content, type DeclaredRoute, isBytes } from './route.ts'

export type ApiDescription<Right> = {
  readonly title: string
  readonly version: string
  /** Prefix of all paths, such as `/admin/api`. */
  readonly prefix: string
  readonly securitySchemes: Readonly<Record<string, object>>
  /** Describes the permission that a route requires, such as a token's scope. */
  readonly need: (right: Right) => string
  /** Named schemas to include although no route refers to them. */
  readonly schemas?: readonly z.ZodType[]
}

/** An error in the uploaded content, such as a bundle or a CSV file. */
const Finding = z.looseObject({
  message: z.string(),
  code: z.string().optional(),
  file: z.string().optional(),
  line: z.int().optional(),
  column: z.int().optional(),
  source: z.string().nullish().describe('the source line that the message refers to'),
  advice: z.string().nullish().describe('how to fix the error'),
})

/** The format of every error (RFC 9457). */
export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.enum(Object.keys(ERRORS)),
    detail: z.string().optional(),
    correlationId: z.string(),
    faults: z.array(Finding).optional(),
    warnings: z.array(Finding).optional(),
  })
  .meta({ id: 'Problem' })

/**
 * Returns the schema of one page of a list. To get the next page, clients send `next` in the query parameter that the
 * route's documentation names.
 */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next: z.string().optional() })
}

/**
 * Serves the OpenAPI document. It is created on the first request, because that takes 30 ms and few clients request it.
 */
export function addDescription(router: Router, describe: () => object): void {
  let document: object | undefined
  router.get('/openapi.json', (ctx) => {
    document ??= describe()
    ctx.body = document
  })
}

/** Returns the OpenAPI 3.1 document for these routes. Schemas with an `id` (`.meta`) become components. */
export function openApi<Right>(
  routes: readonly DeclaredRoute<Right>[],
  { title, version, prefix, ...about }: ApiDescription<Right>,
): object {
  const named = new Map<string, object>()
  const paths: Record<string, Record<string, unknown>> = {}
  const problem = {
    description: 'an error',
    content: { 'application/problem+json': { schema: reference(Problem, named) } },
  }
  for (const { method, path, definition } of routes) {
    const { summary, right, query, headers = {}, body, answers } = definition
    const parameters = [...(query === undefined ? [] : queryParameters(query, named)), ...headerParameters(headers)]
    const address = `${prefix}${path.replaceAll(/[:*](\w+)/g, '{$1}')}`
    const need = about.need(right)
    paths[address] ??= path.includes(':') ? { parameters: pathParameters(path) } : {}
    paths[address][method.toLowerCase()] = {
      summary,
      ...(need === '' ? {} : { description: need }),
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(body === undefined ? {} : { requestBody: requestBody(body, definition.isBodyOptional !== true, named) }),
      responses: {
        ...responses(answers, named),
        default: problem,
      },
    }
  }
  for (const schema of about.schemas ?? []) reference(schema, named)
  return {
    openapi: '3.1.0',
    info: { title, version },
    components: { securitySchemes: about.securitySchemes, schemas: Object.fromEntries([...named].sort()) },
    security: Object.keys(about.securitySchemes).map((scheme) => ({ [scheme]: [] })),
    paths,
  }
}

function pathParameters(path: string) {
  const names = [...path.matchAll(/[:*](\w+)/g)].map(([, name]) => name)
  return names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
}

function queryParameters(query: z.ZodType, named: Map<string, object>) {
  const { properties = {}, required = [] } = reference(query, named) as {
    properties?: Record<string, { description?: string }>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(required.includes(name) ? { required: true } : {}),
    ...(description === undefined ? {} : { description }),
    schema,
  }))
}

function headerParameters(headers: Readonly<Record<string, string>>) {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    description,
    schema: { type: 'string' },
  }))
}

function requestBody(body: z.ZodType | Bytes, required: boolean, named: Map<string, object>): object {
  if (!isBytes(body)) return { required, content: { 'application/json': { schema: reference(body, named) } } }
  const content = Object.fromEntries(body.types.map((type) => [type, { schema: bytesOf(type) }]))
  return { required, ...(body.description === undefined ? {} : { description: body.description }), content }
}

function responses(answers: Answers, named: Map<string, object>): Record<string, object> {
  return Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, response(answer, named)]))
}

function response(answer: z.ZodType | Content, named: Map<string, object>): object {
  if (answer instanceof z.ZodType) {
    return {
      description: answer.meta()?.description ?? 'success',
      content: { 'application/json': { schema: reference(answer, named) } },
    }
  }
  const { description, type } = answer
  return { description, ...(type === undefined ? {} : { content: { [type]: { schema: bytesOf(type) } } }) }
}

function bytesOf(type: string): object {
  return type.startsWith('text/') ? { type: 'string' } : { type: 'string', format: 'binary' }
}

/**
 * Returns the JSON Schema of `schema`. Replaces nested schemas that have an id with references, and adds those schemas
 * to `named`.
 */
function reference(schema: z.ZodType, named: Map<string, object>): object {
  const {
    $schema: _,
    $defs = {},
    ...own
  } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Record<string, unknown> & {
    $defs?: Record<string, object>
  }
  for (const [id, definition] of Object.entries($defs)) named.set(id, referring(definition))
  return referring(own)
}

/** Makes references point to the document's components instead of the schema's own `$defs`. */
function referring(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'))
}
