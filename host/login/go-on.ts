import type { Context } from 'koa'
import { sendToAddress } from '../http/send-to-address.ts'
import type { Arrival } from './arrival.ts'

/**
 * The last step of every sign-in: redirects to where a script sends the browser, or else to the requested page.
 * @param locale of the page that links to another origin
 */
export function goOn(
  { ctx, serverUrl }: Arrival,
  { showUrl, page, locale }: { readonly showUrl: string | null; readonly page: string; readonly locale: string },
): void {
  if (showUrl === null) goTo(ctx, page)
  else sendToAddress(ctx, showUrl, serverUrl, locale)
}

/** @param page path and query */
export function goTo(ctx: Context, page: string): void {
  ctx.status = 303
  ctx.set('Location', page)
}
