import type Router from '@koa/router'
import { sendScript } from '../../base/http/send-script.ts'
import { makeScript } from '../../base/web/browser-script.ts'

const script = makeScript(new URL('../web/scripts/main.ts', import.meta.url))

export const centerScriptPath = `/center.js?${script.hash}`

/** Serves the script that all pages share. */
export function addScriptRoute(router: Router): void {
  router.get('/center.js', (ctx) => sendScript(ctx, script))
}
