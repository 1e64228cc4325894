import type Router from '@koa/router'
import { allowMedia } from '../../http/content-security.ts'
import { makeAdminScript } from '../../web/browser-script.ts'

const script = makeAdminScript()

export const adminScriptPath = `/admin/admin.js?${script.hash}`

/** The script of all pages, public as the pages' looks are. */
export function addScriptRoute(router: Router): void {
  router.get('/admin.js', (ctx) => {
    allowMedia(ctx, false)
    ctx.type = 'text/javascript; charset=utf-8'
    ctx.status = 200
    ctx.etag = script.hash
    if (ctx.fresh) ctx.status = 304
    else ctx.body = script.text
  })
}
