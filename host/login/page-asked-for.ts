import type { Context } from 'koa'

/** What the platform's own pages add to an address. */
const OURS = /^(signed-out|password-changed|other-account)(=|$)/

/** The page with its query as it was, but for what the platform's own pages add to it. */
export function pageAskedFor(ctx: Context): string {
  const kept = ctx.querystring.split('&').filter((part) => !OURS.test(part) && part !== '')
  return kept.length === 0 ? ctx.path : `${ctx.path}?${kept.join('&')}`
}
