import type { Context } from 'koa'

/** Redirects to a page of this service after a form submission. */
export function goTo(ctx: Context, path: string): void {
  ctx.status = 303
  ctx.set('Location', path)
}
