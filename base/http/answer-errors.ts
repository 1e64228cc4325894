import { STATUS_CODES } from 'node:http'
import type { Context, Middleware } from 'koa'
import type { Logger } from 'pino'
import { PlatformError } from '../../runtime/errors.ts'
import { diskFull, isDiskFull } from '../database/disk-full.ts'
import { type ErrorModel, errorPage } from '../web/pages.ts'
import type { PageFrame } from '../web/render-page.ts'
import { PLATFORM_LOCALES } from '../web/texts.ts'
import { allowPage } from './content-security.ts'
import { rowOf } from './errors.ts'
import { isNavigation } from './fetch-metadata.ts'
import { chooseLocale } from './languages.ts'
import { createNonce, stateOf } from './request.ts'

export type ErrorOptions = {
  /** Whether error pages reload every second if a new version of the solution may fix the error. See `HostOptions`. */
  readonly isLive?: boolean | undefined
  /** Renders the error page. The default page doesn't depend on the user. */
  readonly page?: (ctx: Context, frame: PageFrame, model: ErrorModel) => string
}

/**
 * Turns every error of the app into an HTTP response: a page for people, and problem+json (RFC 9457) for everything
 * else.
 */
export function answerErrors(log: Logger, { isLive = false, page = plainPage }: ErrorOptions = {}): Middleware {
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.status === 404 && ctx.body === undefined)
        throw new PlatformError('ERR_NOT_FOUND', 'Nothing exists at this URL. Check the URL.')
    } catch (error) {
      answer(ctx, error, log, page)
      if (isLive && error instanceof PlatformError && rowOf(error.code).maybeFixedByVersion) ctx.set('Refresh', '1')
    }
  }
}

function knownError(error: unknown): PlatformError {
  if (error instanceof PlatformError) return error
  if (isDiskFull(error)) return diskFull("the platform's data", error)
  return new PlatformError('ERR_INTERNAL', 'internal error', {}, { cause: error })
}

function plainPage(_ctx: Context, frame: PageFrame, model: ErrorModel): string {
  return errorPage(frame, model)
}

function answer(ctx: Context, error: unknown, log: Logger, page: NonNullable<ErrorOptions['page']>): void {
  const { correlationId } = stateOf(ctx)
  const known = knownError(error)
  const { status, isExpected } = rowOf(known.code)
  if (status >= 500 && !isExpected) {
    // Only the stack is logged, which shows where the request failed. Error messages from other software aren't logged,
    // because they may quote the request.
    log.error({ code: known.code, correlationId, stack: stackOf(known.cause ?? known) }, 'a request failed')
  }
  const { retryAfter, allow } = known.details as { retryAfter?: number; allow?: string }
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter))
  if (allow !== undefined) ctx.set('Allow', allow)
  if (wantsPage(ctx)) sendErrorPage(ctx, known, page)
  else sendProblem(ctx, known)
}

/** Returns the frames of a stack without its first lines, which contain the message. */
function stackOf(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  return `${error instanceof Error ? error.constructor.name : typeof error}\n${stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n')}`
}

function wantsPage(ctx: Context): boolean {
  return (
    isNavigation(ctx) &&
    !/^\/(admin\/|solution\/[^/]+\/)?api\/|\/session$/.test(ctx.path) &&
    /text\/html/.test(ctx.get('Accept'))
  )
}

function sendErrorPage(ctx: Context, error: PlatformError, page: NonNullable<ErrorOptions['page']>): void {
  const nonce = createNonce()
  const locale = chooseLocale(ctx.get('Accept-Language'), PLATFORM_LOCALES)
  const { status, page: kind = status < 500 ? 'bad-request' : 'internal' } = rowOf(error.code)
  allowPage(ctx, nonce)
  ctx.status = status
  ctx.type = 'text/html; charset=utf-8'
  ctx.body = page(ctx, { locale, nonce }, { status, kind, reference: stateOf(ctx).correlationId })
}

/** Sends only the code of a script's outcome. Call this if the message must not be shown. */
export function sendCode(ctx: Context, status: number, code: string): void {
  const { correlationId } = stateOf(ctx)
  ctx.status = status
  ctx.type = 'application/problem+json'
  ctx.body = JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status], status, code, correlationId })
}

export function sendProblem(ctx: Context, error: PlatformError): void {
  const { status, isExpected, isShown } = rowOf(error.code)
  const mayShow = status < 500 || isExpected || isShown
  const { retryAfter, allow, ...details } = error.details as Record<string, unknown>
  ctx.status = status
  ctx.type = 'application/problem+json'
  ctx.body = JSON.stringify({
    type: 'about:blank',
    // Don't use `ctx.message`: HTTP/2 has no status message, and Node warns when it is read.
    title: STATUS_CODES[status],
    status,
    code: error.code,
    ...(mayShow ? { detail: error.message, ...details } : {}),
    correlationId: stateOf(ctx).correlationId,
  })
}
