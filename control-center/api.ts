import Router from '@koa/router'
import type { Access } from './access/access.ts'
import { type AccessApiParts, addAccessRoutes } from './access/api.ts'
import { addEnvironmentRoutes, type EnvironmentApiParts } from './environments/api.ts'
import { centerOpenApi } from './openapi.ts'
import { addOrganisationRoutes, type OrganisationApiParts } from './organisations/api.ts'

export type CenterApiParts = OrganisationApiParts &
  AccessApiParts &
  EnvironmentApiParts & { readonly access: Access; readonly version: string }

/** The API under `/api`: for the pages' own script, and for tools with an access token. */
export function centerApi(parts: CenterApiParts): Router {
  const router = new Router({ prefix: '/api', sensitive: true })
  const document = centerOpenApi(parts.version)
  router.get('/openapi.json', (ctx) => {
    ctx.body = document
  })
  // Inside the router, so that what is found as a route cannot be spelled past the check.
  router.use(parts.access.requireAsker)
  addOrganisationRoutes(router, parts)
  addAccessRoutes(router, parts)
  addEnvironmentRoutes(router, parts)
  return router
}
