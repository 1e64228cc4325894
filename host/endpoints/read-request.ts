import type { IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import { readQuery, readRaw } from '../../base/http/read-body.ts'
import { stateOf } from '../../base/http/request.ts'
import { inTime } from '../../base/program/in-time.ts'
import { decodeUtf8, parseStrictJson } from '../../runtime/bundle/strict-json.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { NetworkLimit } from './network-limit.ts'

type BodyKind = 'json' | 'form' | 'text'

/** A request body's bytes, and how to interpret them; null if the request has no body. */
export type RawBody = { readonly kind: BodyKind; readonly bytes: Buffer } | null

/** How long a body may take to arrive, in ms. */
const BODY_TIME = 10_000
/** Maximum number of values in a JSON body. In the sandbox, a value uses far more memory than its text. */
const MOST_VALUES = 100_000

/** @throws ERR_CONTENT_TYPE, ERR_BODY_TOO_LARGE, ERR_BODY_SLOW, ERR_THROTTLED */
export async function readRawBody(ctx: Context, limits: Limits, network: NetworkLimit): Promise<RawBody> {
  if (!hasBody(ctx)) return null
  const kind = kindOf(ctx)
  const { address } = stateOf(ctx).client
  const bytes = await network.reading(address, () => readInTime(ctx, readRaw(ctx, limits.REQUEST_BODY)))
  return bytes.length === 0 ? null : { kind, bytes }
}

/** @throws ERR_BAD_REQUEST, ERR_BODY_TOO_LARGE, ERR_TOO_MANY_FIELDS */
export function parseBody(raw: RawBody, limits: Limits): Json {
  if (raw === null) return null
  const text = decodeUtf8(raw.bytes)
  if (text === null)
    throw new PlatformError('ERR_BAD_REQUEST', 'The request body is not valid UTF-8. Encode it as UTF-8.')
  if (raw.kind === 'text') return text
  return raw.kind === 'form' ? formOf(text, limits) : jsonOf(text)
}

export function queryOf(ctx: Context): Json {
  return recordOf(readQuery(ctx))
}

/**
 * Headers that scripts don't receive. Some are meant only for the platform and proxies. Others contain credentials,
 * with which a script could act as the caller.
 */
const HIDDEN = /^(?::|(?:authorization|cookie|forwarded)$|proxy-|x-forwarded-)/

export function headersOf({ headers }: IncomingMessage): Json {
  const shown = Object.entries(headers).flatMap(([name, value]) => {
    if (HIDDEN.test(name) || value === undefined) return []
    return [[name, typeof value === 'string' ? value : value.join(', ')] as const]
  })
  return recordOf(shown)
}

/**
 * Whether the request has a body. An HTTP/2 request can have a body without the headers Transfer-Encoding and
 * Content-Length.
 */
function hasBody({ req }: Context): boolean {
  const { 'transfer-encoding': encoding, 'content-length': length } = req.headers
  if (encoding !== undefined || (length !== undefined && length !== '0')) return true
  const { stream } = req as { stream?: { readonly endAfterHeaders?: boolean } }
  return req.httpVersionMajor >= 2 && length === undefined && stream?.endAfterHeaders === false
}

/** @throws ERR_CONTENT_TYPE */
function kindOf(ctx: Context): BodyKind {
  const given = ctx.get('Content-Type')
  const [essence = '', ...parameters] = given.toLowerCase().split(';')
  const type = essence.trim()
  const charset = parameters.map((one) => /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/.exec(one)?.[1]).find(Boolean)
  if (charset === undefined || charset === 'utf-8') {
    if (/^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json$/.test(type)) return 'json'
    if (type === 'application/x-www-form-urlencoded') return 'form'
    if (/^text\/[a-z0-9!#$&^_.+-]+$/.test(type)) return 'text'
  }
  throw new PlatformError(
    'ERR_CONTENT_TYPE',
    'The content type must be application/json, application/x-www-form-urlencoded or text/*, in UTF-8.',
  )
}

/** Ends the request if its body arrives too slowly. */
function readInTime<T>(ctx: Context, reading: Promise<T>): Promise<T> {
  return inTime(BODY_TIME, reading, () => {
    // Close the connection once the response has been sent, because the rest of the body isn't read.
    ctx.res.once('finish', () => ctx.req.destroy())
    return new PlatformError('ERR_BODY_SLOW', `The request body did not arrive within ${BODY_TIME} ms.`)
  })
}

/** @throws ERR_BAD_REQUEST, ERR_BODY_TOO_LARGE */
function jsonOf(text: string): Json {
  const parsed = parseStrictJson(text, undefined, MOST_VALUES)
  if (!('error' in parsed)) return parsed.value as Json
  const { line, column, message, isTooMany } = parsed.error
  if (isTooMany) {
    throw new PlatformError(
      'ERR_BODY_TOO_LARGE',
      `The request body has too many values. At most ${MOST_VALUES} are allowed.`,
    )
  }
  throw new PlatformError(
    'ERR_BAD_REQUEST',
    `The request body is not valid JSON: line ${line}, column ${column}: ${message}`,
  )
}

function formOf(text: string, { FORM_FIELDS }: Limits): Json {
  const fields = new URLSearchParams(text)
  if (fields.size > FORM_FIELDS) {
    throw new PlatformError(
      'ERR_TOO_MANY_FIELDS',
      `The form has ${fields.size} fields; at most ${FORM_FIELDS} are allowed.`,
    )
  }
  return recordOf(fields)
}

/** Returns the values by name. If a name is repeated, its last value is used. */
function recordOf(pairs: Iterable<readonly [string, string]>): Json {
  const record: Record<string, string> = Object.create(null)
  for (const [name, value] of pairs) record[name] = value
  return record
}
