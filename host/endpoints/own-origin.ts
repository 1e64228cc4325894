import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'

/**
 * Requests with a session must come from a page of the solution's own origin. The exception is a GET request for a URL
 * that the user opened, such as a download.
 * @param origin the solution's origin
 * @throws ERR_FOREIGN_ORIGIN
 */
export function needOwnOrigin(ctx: Context, origin: string): void {
  if (isFromOwnOrigin(ctx, origin)) return
  throw new PlatformError(
    'ERR_FOREIGN_ORIGIN',
    'Requests with a session are accepted only from the solution’s own pages. Other programs need an API token.',
  )
}

function isFromOwnOrigin(ctx: Context, origin: string): boolean {
  const site = ctx.get('Sec-Fetch-Site')
  const from = ctx.get('Origin')
  if (site === 'same-origin') return from === '' || from === origin
  const isReading = ctx.method === 'GET' || ctx.method === 'HEAD'
  if (site === '') return from === origin || (from === '' && isReading)
  return ctx.method === 'GET' && ctx.get('Sec-Fetch-Mode') === 'navigate' && ctx.get('Sec-Fetch-Dest') === 'document'
}
