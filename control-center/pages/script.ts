import type Router from '@koa/router'
import { allowMedia } from '../../host/http/content-security.ts'
import { makeScript } from '../../host/web/browser-script.ts'

const script = makeScript(new URL('../web/scripts/main.ts', import.meta.url))

export const centerScriptPath = `/center.js?${script.hash}`

/** The script of all pages, public as the pages' looks are. */
export function addScriptRoute(router: Router): void {
  router.get('/center.js', (ctx) => {
    allowMedia(ctx, false)
    ctx.type = 'text/javascript; charset=utf-8'
    ctx.status = 200
    ctx.etag = script.hash
    if (ctx.fresh) ctx.status = 304
    else ctx.body = script.text
  })
}
