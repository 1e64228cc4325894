import type { Context } from 'koa'
import type { BrowserScript } from '../web/browser-script.ts'
import { allowMedia } from './content-security.ts'

/** A script of our own pages: public as their looks are, and kept by browsers as media are. */
export function sendScript(ctx: Context, { text, hash }: BrowserScript): void {
  allowMedia(ctx, false)
  ctx.type = 'text/javascript; charset=utf-8'
  ctx.status = 200
  ctx.etag = hash
  if (ctx.fresh) ctx.status = 304
  else ctx.body = text
}
