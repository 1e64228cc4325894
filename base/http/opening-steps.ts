import Koa, { type Context, type Middleware } from 'koa'
import type { Logger } from 'pino'
import type { ServiceSettings } from '../config/service-settings.ts'
import { answerErrors, type ErrorOptions } from './answer-errors.ts'
import { type ClientSide, createClientReader } from './client.ts'
import { setSecurityHeaders } from './content-security.ts'
import { createCorrelationId } from './correlation.ts'
import { type Draining, endKeptConnections, refuseWhileStopping } from './draining.ts'
import { health } from './health.ts'
import { type HstsSettings, sendHsts } from './hsts.ts'
import { needReadableTarget } from './readable-target.ts'
import { stateOf } from './request.ts'

export type OpeningParts = {
  readonly settings: HstsSettings & Pick<ServiceSettings, 'trustedProxies'>
  readonly log: Logger
  readonly draining: Pick<Draining, 'isReady' | 'isRefusing'>
  readonly errors: ErrorOptions
  /** Rejects requests within a few microseconds, for example during a flood. It sends the responses itself. */
  readonly early?: Middleware
  /** Measures each request that has a valid target, together with its response. */
  readonly measure?: Middleware
}

/** Returns the first middleware for every request, on all ports of both services. */
export function openingSteps({ settings, log, draining, errors, early, measure }: OpeningParts): Middleware[] {
  return [
    identify(createClientReader(settings.trustedProxies)),
    setHeaders,
    needReadableTarget,
    ...(early === undefined ? [] : [early]),
    ...(measure === undefined ? [] : [measure]),
    sendHsts(settings),
    answerErrors(log, errors),
    endKeptConnections(draining),
    health(draining.isReady),
    refuseWhileStopping(draining),
  ]
}

export function appOf(steps: readonly Middleware[]): Koa {
  const app = new Koa()
  // Don't print errors: `answerErrors` has already responded to all errors except broken connections.
  app.silent = true
  for (const step of steps) app.use(step)
  return app
}

export function identify(readClient: (request: Context['req']) => ClientSide): Middleware {
  return (ctx, next) => {
    ctx.state = { correlationId: createCorrelationId(), client: readClient(ctx.req), site: null }
    return next()
  }
}

export const setHeaders: Middleware = (ctx, next) => {
  setSecurityHeaders(ctx)
  ctx.res.setHeader('X-Correlation-Id', stateOf(ctx).correlationId)
  return next()
}
