import { bodyParser } from '@koa/bodyparser'
import type { Context } from 'koa'
import getRawBody from 'raw-body'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'

/**
 * The fields of a posted form, in order. The last value of a repeated name wins.
 * @throws ERR_CONTENT_TYPE, ERR_BODY_TOO_LARGE, ERR_TOO_MANY_FIELDS
 */
export async function readForm(ctx: Context, limits: Limits): Promise<Map<string, string>> {
  return new Map(await readFormPairs(ctx, limits))
}

/** Same as `readForm`, but with every value of a repeated name. */
export async function readFormPairs(ctx: Context, limits: Limits): Promise<[name: string, value: string][]> {
  const bytes = await readBytes(ctx, ['application/x-www-form-urlencoded'], limits.FORM_BODY)
  const fields = new URLSearchParams(bytes.toString())
  if (fields.size > limits.FORM_FIELDS) {
    throw new PlatformError(
      'ERR_TOO_MANY_FIELDS',
      `The form has ${fields.size} fields, but at most ${limits.FORM_FIELDS} are allowed. Send fewer fields.`,
    )
  }
  return [...fields]
}

/** The query parameters, in order. The last value of a repeated name wins. */
export function readQuery(ctx: Context): Map<string, string> {
  const { querystring } = ctx
  return querystring === '' ? new Map() : new Map(new URLSearchParams(querystring))
}

/** @throws ERR_CONTENT_TYPE, ERR_BODY_TOO_LARGE, ERR_BAD_REQUEST for invalid JSON or a key named `__proto__` */
export async function readJson(ctx: Context, limits: Pick<Limits, 'JSON_BODY'>): Promise<unknown> {
  const { body, rawBody } = await parseJson(ctx, limits.JSON_BODY)
  // The library accepts an empty body, although it is not valid JSON.
  if (rawBody === '') throw notJson()
  return body
}

/** Same as `readJson`, but null if the request has no body. */
export async function readOptionalJson(ctx: Context, limits: Pick<Limits, 'JSON_BODY'>): Promise<unknown> {
  const hasBody = ctx.get('Transfer-Encoding') !== '' || (ctx.request.length ?? 0) > 0
  return hasBody ? readJson(ctx, limits) : null
}

/** @throws ERR_CONTENT_TYPE if the type is not in `types`, ERR_BODY_TOO_LARGE if there are more than `limit` bytes */
export async function readBytes(ctx: Context, types: readonly string[], limit: number): Promise<Buffer> {
  needType(ctx, types)
  return readRaw(ctx, limit)
}

/** Same as `readBytes`, but doesn't check the type. */
export async function readRaw(ctx: Context, limit: number): Promise<Buffer> {
  needPlain(ctx, limit)
  try {
    return await getRawBody(ctx.req, { limit, length: ctx.get('Content-Length') || null })
  } catch (error) {
    throw unread(error, limit)
  }
}

async function parseJson(ctx: Context, limit: number): Promise<Context['request']> {
  needType(ctx, ['application/json'])
  needPlain(ctx, limit)
  try {
    await parserFor(ctx.method, limit)(ctx, async () => {})
  } catch (error) {
    throw unread(error, limit)
  }
  // The library reports no error if the request was aborted, so check whether it read a body.
  if (ctx.request.rawBody === undefined) throw endedEarly()
  return ctx.request
}

type Parser = ReturnType<typeof bodyParser>

/** Parsers by method and limit. They are cached because creating a parser takes longer than parsing a body. */
const parsers = new Map<string, Parser>()

function parserFor(method: string, limit: number): Parser {
  const key = `${method} ${limit}`
  const known = parsers.get(key)
  if (known !== undefined) return known
  const parser = bodyParser({
    parsedMethods: [method],
    enableTypes: ['json'],
    jsonLimit: limit,
    // Strict mode would turn an empty body into {}. The routes' schemas reject anything that is not an object.
    jsonStrict: false,
  })
  parsers.set(key, parser)
  return parser
}

/**
 * Checks the headers of a body before the body is read. Without these checks, the libraries would decompress compressed
 * bodies, and wait forever for the end of a truncated one. They would also truncate Content-Length to 32 bits.
 */
function needPlain(ctx: Context, limit: number): void {
  const encoding = ctx.get('Content-Encoding')
  if (encoding !== '' && encoding !== 'identity') {
    const given = encoding.slice(0, 100)
    const message = `The content encoding ${given} is not supported here. Send the request body uncompressed.`
    throw new PlatformError('ERR_CONTENT_TYPE', message)
  }
  if ((ctx.request.length ?? 0) > limit) throw tooLarge(limit)
}

/** The JSON parser's errors contain the whole body in a property, so they are not set as `cause`. */
function unread(error: unknown, limit: number): PlatformError {
  if (error instanceof SyntaxError) return error.message.includes('forbidden prototype') ? hasProto() : notJson()
  return (error as { type?: string }).type === 'entity.too.large' ? tooLarge(limit) : endedEarly(error)
}

function hasProto(): PlatformError {
  return new PlatformError(
    'ERR_BAD_REQUEST',
    'The JSON in the request body has a key named "__proto__". Rename or remove it.',
  )
}

function notJson(): PlatformError {
  return new PlatformError('ERR_BAD_REQUEST', 'The request body is not valid JSON. Check its syntax.')
}

function tooLarge(limit: number): PlatformError {
  return new PlatformError(
    'ERR_BODY_TOO_LARGE',
    `The request body is larger than the maximum of ${limit} bytes. Send less data.`,
    { limit },
  )
}

/** The error for a connection that closes before the whole body was received. */
export function endedEarly(cause?: unknown): PlatformError {
  return new PlatformError(
    'ERR_BAD_REQUEST',
    'The connection ended before the whole request body was received. Send the request again.',
    {},
    { cause },
  )
}

/** @throws ERR_CONTENT_TYPE if the body's type is not in `types` */
export function needType(ctx: Context, types: readonly string[]): void {
  const given = ctx.get('Content-Type')
  // A shortcut for the usual headers, because the library takes several times as long. Content-Length shows that there is
  // a body, which the library requires too.
  if (types.includes(given) && ctx.get('Content-Length') !== '') return
  if (ctx.is([...types])) return
  throw new PlatformError(
    'ERR_CONTENT_TYPE',
    `The Content-Type header must be ${types.join(' or ')}, but ${given === '' ? 'is missing' : `is ${given.slice(0, 100)}`}.`,
  )
}
