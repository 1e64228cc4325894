import Router from '@koa/router'
import { addDescription, openApi } from '../base/api/open-api.ts'
import { DesiredState, SATELLITE_API } from '../base/protocol/protocol.ts'
import { createLimits } from '../runtime/limits.ts'
import { type DesiredSatelliteParts, desiredSatelliteRoutes } from './desired/satellite-api.ts'
import { addSatelliteRoutes, type SatelliteRoute } from './satellites/route.ts'
import { requireSatellite, type SatelliteAccessParts } from './satellites/satellite-access.ts'
import { type SolutionUserSatelliteParts, solutionUserSatelliteRoutes } from './solution-users/satellite-api.ts'

type AreaParts = SatelliteAccessParts & DesiredSatelliteParts & SolutionUserSatelliteParts
export type SatelliteApiParts = AreaParts & { readonly version: string }

/**
 * The API for Satellites. Requests are authenticated by the remote environment token, and the Satellite always
 * initiates the connection. The path contains the API version, so that a later version does not break released
 * Satellites.
 */
export function satelliteApi(parts: SatelliteApiParts): Router {
  const router = new Router({ prefix: SATELLITE_API, sensitive: true })
  addDescription(router, () => describeSatelliteApi(parts.version))
  // The check runs inside the router, so it applies to every path that matches a route, even an unusual spelling of it.
  router.use(requireSatellite(parts.environments, parts.environmentTokens, parts.audit))
  addSatelliteRoutes(router, satelliteRoutes(parts), parts.limits)
  return router
}

function satelliteRoutes(parts: AreaParts): SatelliteRoute[] {
  return [...desiredSatelliteRoutes(parts), ...solutionUserSatelliteRoutes(parts)]
}

/** The OpenAPI 3.1 document of the Satellite API. */
export function describeSatelliteApi(version: string): object {
  // These routes are used only for the description and never called, so they need only the limits.
  return openApi(satelliteRoutes({ limits: createLimits() } as AreaParts), {
    title: 'Solhost control center, for Satellites',
    version,
    prefix: SATELLITE_API,
    securitySchemes: { environment: { type: 'http', scheme: 'bearer', description: 'a remote environment token' } },
    need: () => '',
    // The content of the signed statement in the response to `GET desired`.
    schemas: [DesiredState],
  })
}
