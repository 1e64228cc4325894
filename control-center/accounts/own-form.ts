import type { Context } from 'koa'
import { requireNavigation, sourceOfPost } from '../../base/http/fetch-metadata.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { originOf } from '../access/page-sessions.ts'

/**
 * Rejects a form that was not sent from one of our own pages. Browsers send an Origin header with every POST. A client
 * that sends none is not a browser, and can use the API instead.
 */
export function requireOwnForm(ctx: Context): void {
  requireNavigation(ctx)
  if (sourceOfPost(ctx, originOf(ctx)) === 'same-origin') return
  throw new PlatformError(
    'ERR_FOREIGN_ORIGIN',
    'The form was not sent from a control center page. Open the form in the control center and send it again.',
  )
}

/** @returns the path and query if `asked` is the URL of a control center page; otherwise "/" */
export function pageToGoTo(asked: string): string {
  const address = URL.parse(asked, 'http://center.invalid')
  // Check the normalised path: "/.//evil.example" becomes "//evil.example", which browsers treat as another host.
  const isOurs = address?.host === 'center.invalid' && !/^\/(?:\/|sign-)/.test(address.pathname)
  return isOurs ? `${address.pathname}${address.search}` : '/'
}
