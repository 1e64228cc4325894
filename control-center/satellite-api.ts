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
 * What Satellites ask, always with their remote environment token, always outbound from where they are (design section 9).
 * The version is part of the path: what a released Satellite relies on stays.
 */
export function satelliteApi(parts: SatelliteApiParts): Router {
  const router = new Router({ prefix: SATELLITE_API, sensitive: true })
  addDescription(router, () => describeSatelliteApi(parts.version))
  // Inside the router, so that what is found as a route cannot be spelled past the check.
  router.use(requireSatellite(parts.environments, parts.environmentTokens, parts.audit))
  addSatelliteRoutes(router, satelliteRoutes(parts), parts.limits)
  return router
}

function satelliteRoutes(parts: AreaParts): SatelliteRoute[] {
  return [...desiredSatelliteRoutes(parts), ...solutionUserSatelliteRoutes(parts)]
}

/** The OpenAPI 3.1 document of what Satellites ask. */
export function describeSatelliteApi(version: string): object {
  // They are described, none of them can be called: so they need no parts but the limits.
  return openApi(satelliteRoutes({ limits: createLimits() } as AreaParts), {
    title: 'Solhost control center, for Satellites',
    version,
    prefix: SATELLITE_API,
    securitySchemes: { environment: { type: 'http', scheme: 'bearer', description: 'a remote environment token' } },
    need: () => '',
    // What the statement of `GET desired` holds.
    schemas: [DesiredState],
  })
}
