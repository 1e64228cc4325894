import type { Middleware } from 'koa'
import { requireReading } from './method-check.ts'

/**
 * Health probes, which respond under any host name. The live probe succeeds while the process responds, the ready probe
 * while it accepts new work.
 */
export function health(isReady: () => boolean): Middleware {
  return (ctx, next) => {
    if (ctx.path !== '/health/live' && ctx.path !== '/health/ready') return next()
    requireReading(ctx)
    const ok = ctx.path === '/health/live' || isReady()
    ctx.status = ok ? 200 : 503
    if (!ok) ctx.set('Retry-After', '5')
    ctx.body = { status: ok ? 'ok' : 'stopping' }
  }
}
