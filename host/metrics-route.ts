import { createServer, type Server } from 'node:http'
import { isIP } from 'node:net'
import type { Context, Middleware } from 'koa'
import { hostnameOf, isLoopback } from '../base/config/host-names.ts'
import { SECURITY_HEADERS } from '../base/http/content-security.ts'
import { needScope } from './access/actor.ts'
import { PROMETHEUS_TYPE, type Telemetry } from './telemetry/telemetry.ts'

/**
 * `/metrics` on the admin port, for the admin account and for API tokens of scope `health:read`: who it is was checked by
 * `requireAdmin` before.
 */
export function metricsRoute(telemetry: Pick<Telemetry, 'scrape'>, requireAdmin: Middleware): Middleware {
  async function answer(ctx: Context): Promise<void> {
    needScope(ctx, 'health', 'read')
    ctx.body = await telemetry.scrape()
    ctx.set('Content-Type', PROMETHEUS_TYPE)
  }
  return (ctx, next) => {
    if (ctx.path !== '/metrics' || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    return requireAdmin(ctx, () => answer(ctx))
  }
}

/**
 * `/metrics` without a sign-in, on a port of its own that has nothing else. Chosen here: what scrapes inside a cluster
 * needs no way to the admin pages and keeps no token; who may reach the port is for the network to say. Pages in a browser
 * may not, whatever they call this host.
 * @param names further host names that it answers to: `METRICS_HOST` and `ALLOWED_HOSTS`
 */
export function metricsServer({ scrape }: Pick<Telemetry, 'scrape'>, names: readonly string[]): Server {
  return createServer({ requestTimeout: 10_000, headersTimeout: 5000, maxHeaderSize: 8192 }, (request, response) => {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value)
    const answer = (status: number, text: string, type = 'text/plain; charset=utf-8') => {
      response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) })
      response.end(request.method === 'HEAD' ? undefined : text)
    }
    const isPage = request.headers.origin !== undefined || request.headers['sec-fetch-site'] !== undefined
    if (request.url?.split('?', 1)[0] !== '/metrics') return answer(404, 'There is only /metrics here.\n')
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, 'Ask by GET.\n')
    if (isPage) return answer(403, 'Metrics are for tools, not for pages of a browser.\n')
    if (!isOwnName(request.headers.host ?? '', names)) return answer(421, NOT_A_NAME)
    scrape().then(
      (text) => answer(200, text, PROMETHEUS_TYPE),
      () => answer(500, 'The metrics could not be collected.\n'),
    )
  })
}

const NOT_A_NAME = 'Ask by an address or a name of this network, or set ALLOWED_HOSTS to this name.\n'
/** No public name server has them: names of one label, and the ends that are reserved for networks of one's own. */
const PRIVATE_NAME = /^[^.]+$|\.(?:internal|local|svc)$/

/**
 * A page that got here by DNS rebinding sends, over http, neither `Origin` nor Fetch Metadata; but it names its own host, and
 * that is one of the public name system.
 */
function isOwnName(host: string, names: readonly string[]): boolean {
  const name = hostnameOf(host.toLowerCase())
  if (name === null) return false
  const isAddress = isIP(name.replace(/^\[|\]$/g, '')) !== 0
  return isAddress || isLoopback(name) || PRIVATE_NAME.test(name) || names.includes(name)
}
