import Koa, { type Context, type Middleware } from 'koa'
import type { ClientSide } from './client.ts'
import { setSecurityHeaders } from './content-security.ts'
import { createCorrelationId } from './correlation.ts'
import { stateOf } from './request.ts'

/* What every app of the platform begins with: those of the host, and the control center's. */

export function appOf(steps: readonly Middleware[]): Koa {
  const app = new Koa()
  // Errors are answered by the step `answerErrors`; what fails after it is a broken connection.
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
  ctx.set('X-Correlation-Id', stateOf(ctx).correlationId)
  return next()
}
