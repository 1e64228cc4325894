import type { Context } from 'koa'

/** Parameters that the platform's own pages add. */
const OURS = /^(signed-out|password-changed|other-account)(=|$)/

/** Returns the path and query of the requested page, without the parameters that the platform's own pages add. */
export function requestedPage(ctx: Context): string {
  const kept = ctx.querystring.split('&').filter((part) => !OURS.test(part) && part !== '')
  return kept.length === 0 ? ctx.path : `${ctx.path}?${kept.join('&')}`
}
