import type { Context, Next } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'

type Matched = { readonly matched?: readonly { readonly methods: readonly string[] }[] }

/** Responds with 405 and the supported methods if the path exists but doesn't support this method. */
export async function checkMethod(ctx: Context, next: Next): Promise<void> {
  await next()
  if (ctx.status !== 404 || ctx.body !== undefined) return
  const methods = ((ctx as Matched).matched ?? []).flatMap((layer) => layer.methods)
  if (methods.length === 0 || methods.includes(ctx.method)) return
  throw methodNotAllowed(ctx.method, [...new Set(methods)].join(', '))
}

/** Rejects requests to read-only paths unless they are GET or HEAD. @throws ERR_METHOD_NOT_ALLOWED */
export function requireReading(ctx: Context): void {
  if (ctx.method === 'GET' || ctx.method === 'HEAD') return
  throw methodNotAllowed(ctx.method, 'HEAD, GET')
}

/**
 * @param method names the method in the message
 * @param allow the value of the `Allow` header
 */
export function methodNotAllowed(method: string, allow: string): PlatformError {
  const message = `${method} is not allowed at this URL. Use ${allow.replaceAll(', ', ' or ')}.`
  return new PlatformError('ERR_METHOD_NOT_ALLOWED', message, { allow })
}
