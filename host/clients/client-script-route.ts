import type { Context } from 'koa'
import { allowMedia } from '../http/content-security.ts'
import { makeClientScript } from '../web/browser-script.ts'

const script = makeClientScript()

/** The address of the browser's script: below the solution's own, since its host name serves nothing else. */
export function clientScriptPath(solution: string): string {
  return `/solution/${solution}/client.js?${script.hash}`
}

/** The same text for every solution, kept by browsers as media are. */
export function sendClientScript(ctx: Context): void {
  allowMedia(ctx, false)
  ctx.type = 'text/javascript; charset=utf-8'
  ctx.status = 200
  ctx.etag = script.hash
  if (ctx.fresh) ctx.status = 304
  else ctx.body = script.text
}
