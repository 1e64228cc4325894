import type Router from '@koa/router'
import { addRoutes, type Route, routesOf } from '../../base/api/route.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Environment } from '../environments/environments.ts'
import { environmentOf } from './satellite-access.ts'

/**
 * A route for Satellites. It acts on behalf of the environment that the request's token belongs to, and needs no other
 * authorisation.
 */
export type SatelliteRoute = Route<Environment, null, never, object>

export const satelliteRoute = routesOf<Environment, null, never, object>()

export function addSatelliteRoutes(router: Router, routes: readonly SatelliteRoute[], limits: Limits): void {
  addRoutes(router, routes, {
    limits,
    async run({ ctx }, { read, work }) {
      const environment = environmentOf(ctx)
      await read(environment)
      return work(environment)
    },
  })
}
