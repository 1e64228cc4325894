import type { Context } from 'koa'
import { sendCode } from '../../base/http/answer-errors.ts'
import type { EndpointAnswer } from '../../plugins/http/answer.ts'
import type { Failed } from '../../runtime/outcome.ts'
import { retryAfter } from '../http/retry-after.ts'

/** @param isPublic whether the script may allow caches to store the response */
export function sendAnswer(ctx: Context, { status, headers, body }: EndpointAnswer, isPublic: boolean): void {
  for (const [name, value] of headers) {
    if (name !== 'cache-control' || isPublic) ctx.set(name, value)
  }
  if (body === null) {
    ctx.body = null
    ctx.status = status
    ctx.remove('Content-Type')
    return
  }
  ctx.set('Content-Type', typeOf(headers.get('content-type')))
  ctx.body = Buffer.from(body)
  ctx.status = status
}

/** Sends problem details without the script's error message, which may contain data that callers must not see. */
export function sendFailure(ctx: Context, failure: Failed): void {
  const { code } = failure
  const status = code === 'script_timeout' ? 504 : code === 'sandbox_busy' ? 503 : 500
  if (code === 'sandbox_busy') ctx.set('Retry-After', String(retryAfter(failure)))
  sendCode(ctx, status, code)
}

function typeOf(type = 'application/json'): string {
  return /^text\//i.test(type) && !/; ?charset=/i.test(type) ? `${type}; charset=utf-8` : type
}
