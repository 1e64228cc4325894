import type { Context, Middleware } from 'koa'
import { stateOf } from '../../base/http/request.ts'
import { methodLabel } from './labels.ts'
import type { Telemetry } from './telemetry.ts'

export type RequestTelemetryParts = {
  readonly telemetry: Telemetry
  readonly port: 'pages' | 'admin'
  /** Whether the request comes from one of the TRUSTED_PROXIES. Only those may set the trace context. */
  readonly isFromProxy: (request: Context['req']) => boolean
}

/**
 * Paths that are not measured. Probes and scrapers request them every few seconds, so they would distort the figures
 * for users' requests.
 */
const NOT_MEASURED = ['/health/live', '/health/ready', '/metrics']

/** Times each request and starts its trace. A sign-in gets a child span. */
export function measureRequests({
  telemetry: { metrics, spans },
  port,
  isFromProxy,
}: RequestTelemetryParts): Middleware {
  return (ctx, next) => {
    if (!metrics.isOn() || NOT_MEASURED.includes(ctx.path)) return next()
    const method = methodLabel(ctx.method)
    const { correlationId } = stateOf(ctx)
    const attributes = { 'http.request.method': method, 'solhost.correlation_id': correlationId, 'solhost.port': port }
    const traceparent = isFromProxy(ctx.req) ? ctx.get('traceparent') : null
    return spans.request({ method, traceparent, attributes }, async (describeSpan) => {
      const begun = performance.now()
      try {
        await (isSignIn(ctx) ? spans.run('login', {}, next) : next())
      } finally {
        const { status } = ctx
        metrics.record('requests', performance.now() - begun, { port, method, status: `${Math.floor(status / 100)}xx` })
        const route = routeOf(ctx)
        const facts = route === null ? {} : { 'http.route': route }
        describeSpan(
          route === null ? method : `${method} ${route}`,
          { ...facts, 'http.response.status_code': status },
          status >= 500,
        )
      }
    })
  }
}

/** True if the login form was posted or a provider redirected back. */
function isSignIn({ method, path }: Context): boolean {
  return (method === 'POST' && path.endsWith('/index.html')) || path.endsWith('/app_oauth/index.html')
}

/** Returns the pattern of the route, never the actual URL; null if no route matched. */
function routeOf(ctx: Context): string | null {
  const { _matchedRoute: route } = ctx as { _matchedRoute?: unknown }
  return typeof route === 'string' && route.length <= 200 ? route : null
}
