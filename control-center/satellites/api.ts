import Router from '@koa/router'
import { addCloudLoginRoutes } from '../solution-users/satellite-api.ts'
import { addDesiredRoutes } from './desired-routes.ts'
import { satelliteOpenApi } from './openapi.ts'
import type { SatelliteParts } from './parts.ts'
import { requireSatellite } from './satellite-access.ts'

/**
 * What Satellites ask, always with their remote environment token, always outbound from where they are (design section 9).
 * The version is part of the path: what a released Satellite relies on stays.
 */
export function satelliteApi(parts: SatelliteParts): Router {
  const router = new Router({ prefix: '/satellite/v1', sensitive: true })
  const document = satelliteOpenApi(parts.version)
  router.get('/openapi.json', (ctx) => {
    ctx.body = document
  })
  // Inside the router, so that what is found as a route cannot be spelled past the check.
  router.use(requireSatellite(parts.environments, parts.environmentTokens, parts.activity))
  addDesiredRoutes(router, parts)
  addCloudLoginRoutes(router, parts)
  return router
}
