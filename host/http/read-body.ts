import type { Context } from 'koa'
import getRawBody from 'raw-body'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'

/**
 * The fields of a posted form, in their order; of a repeated name the last value wins.
 * @throws ERR_CONTENT_TYPE, ERR_BODY_TOO_LARGE, ERR_TOO_MANY_FIELDS
 */
export async function readForm(ctx: Context, limits: Limits): Promise<Map<string, string>> {
  return new Map(await readFormPairs(ctx, limits))
}

/** The same with every value of a repeated name. */
export async function readFormPairs(ctx: Context, limits: Limits): Promise<[name: string, value: string][]> {
  const body = await readBytes(ctx, ['application/x-www-form-urlencoded'], limits.FORM_BODY)
  const fields = new URLSearchParams(body.toString('utf8'))
  if (fields.size > limits.FORM_FIELDS) {
    throw new PlatformError(
      'ERR_TOO_MANY_FIELDS',
      `The form has ${fields.size} fields; ${limits.FORM_FIELDS} are allowed.`,
    )
  }
  return [...fields]
}

/** The parameters of the address, in their order; of a repeated name the last value wins. */
export function readQuery(ctx: Context): Map<string, string> {
  return new Map(new URLSearchParams(ctx.querystring))
}

/** @throws ERR_CONTENT_TYPE, ERR_BODY_TOO_LARGE, ERR_BAD_REQUEST for what is no JSON */
export async function readJson(ctx: Context, limits: Limits): Promise<unknown> {
  const body = await readBytes(ctx, ['application/json'], limits.JSON_BODY)
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw new PlatformError('ERR_BAD_REQUEST', 'The body is not valid JSON.')
  }
}

/** The same; null where the request has no body. */
export async function readOptionalJson(ctx: Context, limits: Limits): Promise<unknown> {
  const hasBody = ctx.get('Transfer-Encoding') !== '' || (ctx.request.length ?? 0) > 0
  return hasBody ? readJson(ctx, limits) : null
}

/** @throws ERR_CONTENT_TYPE when the type is none of `types`, ERR_BODY_TOO_LARGE above `limit` bytes */
export async function readBytes(ctx: Context, types: readonly string[], limit: number): Promise<Buffer> {
  if (ctx.is([...types]) === false || ctx.is([...types]) === null) {
    const given = ctx.get('Content-Type') || 'none'
    throw new PlatformError(
      'ERR_CONTENT_TYPE',
      `The content type must be ${types.join(' or ')}, but is ${given.slice(0, 100)}.`,
    )
  }
  try {
    return await getRawBody(ctx.req, { limit, length: ctx.get('Content-Length') || null })
  } catch (error) {
    const { type } = error as { type?: string }
    if (type === 'entity.too.large') {
      throw new PlatformError('ERR_BODY_TOO_LARGE', `The body is larger than ${limit} bytes.`, { limit })
    }
    throw new PlatformError('ERR_BAD_REQUEST', 'The body ended before it was complete.', {}, { cause: error })
  }
}
