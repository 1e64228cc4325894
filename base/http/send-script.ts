import type { Context } from 'koa'
import type { BrowserScript } from '../web/browser-script.ts'
import { allowMedia } from './content-security.ts'

/** Sends a script for our own pages. Like their styles, it is public, and browsers cache it like media. */
export function sendScript(ctx: Context, { text, hash }: BrowserScript): void {
  allowMedia(ctx, false)
  ctx.type = 'text/javascript; charset=utf-8'
  ctx.status = 200
  ctx.etag = hash
  if (ctx.fresh) ctx.status = 304
  else ctx.body = text
}
