import type Koa from 'koa'
import type { Middleware } from 'koa'
import type { Logger } from 'pino'
import type { Draining } from '../base/http/draining.ts'
import { checkMethod } from '../base/http/method-check.ts'
import { appOf, openingSteps } from '../base/http/opening-steps.ts'
import type { Sites } from '../base/http/sites.ts'
import { redirectToHttps } from '../base/tls/redirect.ts'
import { type CenterApiParts, centerApi } from './api.ts'
import type { CenterSettings } from './config/settings.ts'
import { hostGate } from './host-gate.ts'
import { centerErrorPage } from './pages/error-page.ts'
import { type CenterPageParts, centerPages } from './pages.ts'
import { type SatelliteApiParts, satelliteApi } from './satellite-api.ts'
import { otlpReceiver, type ReceiverParts } from './telemetry/receive.ts'

/** Dependencies of the middleware; created in `control-center/main.ts`. */
export type CenterParts = CenterApiParts &
  CenterPageParts &
  SatelliteApiParts &
  ReceiverParts & {
    readonly settings: CenterSettings
    readonly log: Logger
    readonly sites: Sites
    readonly draining: Pick<Draining, 'isReady' | 'isRefusing'>
  }

/** The whole middleware chain, in order. */
export function createCenterApp(parts: CenterParts): Koa {
  return appOf([
    ...opening(parts),
    hostGate(parts.sites),
    checkMethod,
    satelliteApi(parts).routes() as Middleware,
    otlpReceiver(parts).routes() as Middleware,
    parts.access.identify,
    centerApi(parts).routes() as Middleware,
    centerPages(parts).routes() as Middleware,
  ])
}

/**
 * Redirects requests on the plain HTTP port to HTTPS.
 * @param port returns the HTTPS port
 */
export function createCenterRedirectApp(parts: CenterParts, port: () => number): Koa {
  return appOf([...opening(parts), redirectToHttps(parts.sites, port)])
}

function opening(parts: CenterParts): Middleware[] {
  return openingSteps({ ...parts, errors: { page: centerErrorPage } })
}
