import type Router from '@koa/router'
import type { Context } from 'koa'
import type { Limits } from '../../runtime/limits.ts'
import { z } from '../../runtime/zod.ts'
import { readBytes, readJson, readOptionalJson } from '../http/read-body.ts'
import { readWith } from './read-with.ts'

// Each API route is declared once, beside its handler. The declaration yields the router entry, the validation of the
// request, the OpenAPI document, the audit log entry and the table in the docs.

/** A body that is not JSON. */
export type Bytes = {
  /** Accepted media types. */
  readonly types: readonly string[]
  /** Maximum size in bytes. */
  readonly most: keyof Limits
  readonly description?: string
}

/** A response that is not JSON. If `type` is absent, the response has no content. */
export type Content = { readonly description: string; readonly type?: string }

export type Answers = Readonly<Record<number, z.ZodType | Content>>

type BodyDefinition = z.ZodType | Bytes | undefined
type BodyOf<Body extends BodyDefinition> = Body extends z.ZodType
  ? z.output<Body>
  : Body extends Bytes
    ? Buffer
    : undefined
type QueryOf<Query extends z.ZodType | undefined> = Query extends z.ZodType ? z.output<Query> : undefined
/**
 * A path's parameters. A colon comes before the name of a parameter. An asterisk comes before the name of a parameter
 * that matches the rest of the path.
 */
export type ParamsOf<Address extends string> = Address extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [Key in Name]: string } & ParamsOf<Rest>
  : Address extends `${string}:${infer Name}`
    ? { readonly [Key in Name]: string }
    : Address extends `${string}*${infer Name}`
      ? { readonly [Key in Name]: string }
      : unknown
/** A handler's return type, from the responses that the route declares. */
type Returned<Answered extends Answers> = {
  [Status in keyof Answered]: Answered[Status] extends z.ZodType ? Shown<z.input<Answered[Status]>> : unknown
}[keyof Answered]
/** Makes arrays and objects readonly, because stores return readonly values and handlers return them unchanged. */
type Shown<Value> = Value extends readonly (infer Item)[]
  ? readonly Shown<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Shown<Value[Key]> }
    : Value

export type Definition<Who, Right, Act, Names, Address extends string, Body, Query, Answered, Found> = {
  /** A few words for the documentation. */
  readonly summary: string
  readonly right: Right
  /** The action in the audit log. Absent if the route changes nothing. */
  readonly act?: Act
  /**
   * Throws to reject a request, if possible before its body is read. The handler receives the result as `found`. In the
   * control center, `names` receives it too. On the host, `names` runs before this function, so that the audit log also
   * contains refused requests. It receives undefined as `found`.
   */
  before?(asking: Asking<Who, Address>): Found | Promise<Found>
  /** Returns names for the audit log. Called before the handler, because the handler may delete the named objects. */
  names?(asking: Asking<Who, Address> & { readonly found: Found }): Names | Promise<Names>
  readonly query?: Query
  /** The optional request headers that the handler reads, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Body
  /** Whether the body is optional. If the request has none, the handler receives null. */
  readonly isBodyOptional?: true
  /** Maximum size of a JSON body in bytes. Default: `JSON_BODY`. */
  readonly bodyLimit?: (limits: Limits) => number
  /**
   * The responses by status code. If there are several, the handler sets the status. Properties that aren't in the
   * schema are not sent.
   */
  readonly answers: Answered
}

/** The request, before its query and body are read. */
export type Asking<Who, Address extends string> = {
  readonly who: Who
  readonly params: ParamsOf<Address>
  /** Use this only for headers, streams and long responses. */
  readonly ctx: Context
}

export type Asked<Who, Names, Address extends string, Body, Query, Found> = Asking<Who, Address> & {
  /** The result of `before`. */
  readonly found: Found
  readonly query: Query
  readonly body: Body
  /** The names for the audit log. A handler may add names. */
  readonly names: Names
  /** Call this if the request changed nothing. It is then not recorded in the audit log. */
  readonly leaveOut: () => void
}

/** Returned by a handler that has set the body, such as a stream of events. */
export const SENT = Symbol('sent')

/** A declared route, without the types of its handler. */
export type Route<Who, Right, Act, Names> = {
  readonly method: Method
  /** The path without the API's prefix, with `:name` for each parameter. */
  readonly path: string
  readonly definition: Definition<
    Who,
    Right,
    Act,
    Names,
    string,
    BodyDefinition,
    z.ZodType | undefined,
    Answers,
    unknown
  >
  handle(asked: Asked<Who, Names, string, unknown, unknown, unknown>): unknown
}

type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

/** The parts of a route that describe the API. */
export type DeclaredRoute<Right> = Pick<Route<never, Right, unknown, never>, 'method' | 'path'> & {
  readonly definition: Pick<
    Route<never, Right, unknown, never>['definition'],
    'summary' | 'right' | 'act' | 'query' | 'headers' | 'body' | 'isBodyOptional' | 'answers'
  >
}

/** Returns the function with which one service declares its routes. */
export function routesOf<Who, Right, Act, Names extends object>() {
  return function route<
    const Address extends `${Method} /${string}`,
    const Answered extends Answers,
    Body extends BodyDefinition = undefined,
    Query extends z.ZodType | undefined = undefined,
    Found = undefined,
  >(
    address: Address,
    definition: Definition<Who, Right, Act, Names, Address, Body, Query, Answered, Found>,
    handle: (
      asked: Asked<Who, Names, Address, BodyOf<Body>, QueryOf<Query>, Found>,
    ) => Returned<Answered> | typeof SENT | Promise<Returned<Answered> | typeof SENT>,
  ): Route<Who, Right, Act, Names> {
    const [method, path] = address.split(' ') as [Method, string]
    return { method, path, definition, handle }
  }
}

/** What a service does before and after each route's handler. */
export type Service<Who, Right, Act, Names> = {
  readonly limits: Limits
  /**
   * Authenticates and authorizes the caller, runs the steps and writes the audit log.
   * @throws the errors that reject the request
   */
  readonly run: (about: About<Right, Act>, steps: Steps<Who, Names>) => Promise<unknown>
}

export type About<Right, Act> = {
  readonly ctx: Context
  readonly right: Right
  readonly act: Act | undefined
  readonly params: Readonly<Record<string, string>>
}

export type Steps<Who, Names> = {
  /** Returns the names for the audit log. The handler may add names to the same object. */
  readonly name: (who: Who) => Promise<Names>
  /** Checks the query and the body. @throws ERR_REQUEST_INVALID, ERR_CONTENT_TYPE, ERR_BODY_TOO_LARGE */
  readonly read: (who: Who) => Promise<void>
  /** Runs the handler, after `read` and `name`. */
  readonly work: (who: Who) => Promise<unknown>
  /** Whether the handler called `leaveOut`. */
  readonly isLeftOut: () => boolean
}

export function addRoutes<Who, Right, Act, Names extends object>(
  router: Router,
  routes: readonly Route<Who, Right, Act, Names>[],
  service: Service<Who, Right, Act, Names>,
): void {
  for (const route of routes) router.register(route.path, [route.method], (ctx) => answer(ctx, route, service))
}

async function answer<Who, Right, Act, Names extends object>(
  ctx: Context,
  { definition, handle }: Route<Who, Right, Act, Names>,
  { limits, run }: Service<Who, Right, Act, Names>,
): Promise<void> {
  const { right, act, query: querySchema, answers } = definition
  const params = paramsOf(ctx)
  let names = {} as Names
  let isLeftOut = false
  let query: unknown
  let body: unknown
  let found: unknown
  const steps: Steps<Who, Names> = {
    async name(who) {
      names = { ...(await definition.names?.({ who, params, ctx, found })) } as Names
      return names
    },
    async read(who) {
      found = await definition.before?.({ who, params, ctx })
      if (querySchema !== undefined) query = readWith(querySchema, { ...ctx.query })
      body = await readBody(ctx, definition, limits)
    },
    work: async (who) => handle({ who, params, query, body, names, leaveOut, ctx, found }),
    isLeftOut: () => isLeftOut,
  }
  const leaveOut = () => {
    isLeftOut = true
  }
  const result = await run({ ctx, right, act, params }, steps)
  if (result === SENT) return
  // Koa's initial status is 404, so 404 means that the handler didn't set a status. Handlers throw if a resource is
  // missing.
  const status = ctx.status === 404 ? Number(Object.keys(answers)[0]) : ctx.status
  const described = answers[status]
  if (described !== undefined && hasContent(described)) ctx.body = shown(described, result)
  ctx.status = status
}

/**
 * Maximum length of a parameter. Longer ones are truncated, so that error messages can quote them. The maximum exceeds
 * the length of any name, so a truncated parameter matches nothing.
 */
const LONGEST_PARAMETER = 300

function paramsOf(ctx: Context): Readonly<Record<string, string>> {
  const given = Object.entries(ctx.params as Record<string, string>)
  return Object.fromEntries(given.map(([name, value]) => [name, value.slice(0, LONGEST_PARAMETER)]))
}

async function readBody(
  ctx: Context,
  {
    body,
    isBodyOptional,
    bodyLimit = ({ JSON_BODY }) => JSON_BODY,
  }: {
    readonly body?: BodyDefinition
    readonly isBodyOptional?: true
    readonly bodyLimit?: (limits: Limits) => number
  },
  limits: Limits,
): Promise<unknown> {
  if (body === undefined) return undefined
  if (isBytes(body)) return readBytes(ctx, body.types, limits[body.most])
  const most = { JSON_BODY: bodyLimit(limits) }
  return readWith(body, await (isBodyOptional ? readOptionalJson(ctx, most) : readJson(ctx, most)))
}

export function isBytes(body: z.ZodType | Bytes): body is Bytes {
  return 'most' in body
}

function hasContent(answered: z.ZodType | Content): boolean {
  return answered instanceof z.ZodType || answered.type !== undefined
}

/** Returns only the properties that the schema lists. */
function shown(schema: z.ZodType | Content, result: unknown): unknown {
  if (!(schema instanceof z.ZodType)) return result
  const checked = schema.safeParse(result)
  if (checked.success) return checked.data
  throw new TypeError(`The response does not match its schema: ${z.prettifyError(checked.error).slice(0, 2000)}`)
}

/** The response of routes that return no content. */
export const DONE = { 204: { description: 'done' } } as const
