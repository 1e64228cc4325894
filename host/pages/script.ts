import type Router from '@koa/router'
import { sendScript } from '../../base/http/send-script.ts'
import { makeAdminScript } from '../web/scripts.ts'

const script = makeAdminScript()

export const adminScriptPath = `/admin/admin.js?${script.hash}`

export function addScriptRoute(router: Router): void {
  router.get('/admin.js', (ctx) => sendScript(ctx, script))
}
