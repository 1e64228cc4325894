import type { Context } from 'koa'
import { allowPage } from '../../base/http/content-security.ts'
import { createNonce, sendHtml } from '../../base/http/request.ts'
import { goesOnPage } from '../web/pages.ts'

/**
 * Redirects the browser to a URL that a script set (`application.showURL`). After a form POST, browsers enforce
 * `form-action` and block a direct redirect to another origin. Therefore, a page that redirects is sent instead.
 * @param origin the solution's origin
 */
export function sendToAddress(ctx: Context, address: string, origin: string, locale: string): void {
  const url = URL.parse(address, origin)
  if (url === null) throw new TypeError('sendToAddress was called with an invalid URL')
  if (ctx.method !== 'POST' || url.origin === origin) {
    ctx.status = 303
    ctx.set('Location', url.href)
    return
  }
  const nonce = createNonce()
  allowPage(ctx, nonce)
  sendHtml(ctx, 200, goesOnPage({ locale, nonce }, { href: url.href, shown: url.host === '' ? url.href : url.host }))
}
