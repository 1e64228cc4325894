import Router from '@koa/router'
import { addDesiredSatelliteRoutes, type DesiredSatelliteParts } from '../desired/satellite-api.ts'
import { addSolutionUserSatelliteRoutes, type SolutionUserSatelliteParts } from '../solution-users/satellite-api.ts'
import { satelliteOpenApi } from './openapi.ts'
import { requireSatellite, type SatelliteAccessParts } from './satellite-access.ts'

export type SatelliteApiParts = SatelliteAccessParts &
  DesiredSatelliteParts &
  SolutionUserSatelliteParts & { readonly version: string }

/**
 * What Satellites ask, always with their remote environment token, always outbound from where they are (design section 9).
 * The version is part of the path: what a released Satellite relies on stays.
 */
export function satelliteApi(parts: SatelliteApiParts): Router {
  const router = new Router({ prefix: '/satellite/v1', sensitive: true })
  const document = satelliteOpenApi(parts.version)
  router.get('/openapi.json', (ctx) => {
    ctx.body = document
  })
  // Inside the router, so that what is found as a route cannot be spelled past the check.
  router.use(requireSatellite(parts.environments, parts.environmentTokens, parts.activity))
  addDesiredSatelliteRoutes(router, parts)
  addSolutionUserSatelliteRoutes(router, parts)
  return router
}
