import Router, { type RouterMiddleware } from '@koa/router'
import { openApi } from './openapi.ts'
import { addSolutionRoutes, type SolutionApiParts } from './solutions-api.ts'

export type AdminApiParts = SolutionApiParts & {
  /** Decides who may use it; one for both ports, so that failures on either count. */
  readonly requireAdmin: RouterMiddleware
  readonly version: string
}

/** The API under `/admin/api` (design section 7). */
export function adminApi(parts: AdminApiParts): Router {
  const router = new Router({ prefix: '/admin/api', sensitive: true })
  // Inside the router, so that what is found as a route cannot be spelled past the check.
  router.use(parts.requireAdmin)
  const document = openApi(parts.version)
  router.get('/openapi.json', (ctx) => {
    ctx.body = document
  })
  addSolutionRoutes(router, parts)
  return router
}
