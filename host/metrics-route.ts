import { createServer, type Server } from 'node:http'
import { isIP } from 'node:net'
import type { Context, Middleware } from 'koa'
import type { Logger } from 'pino'
import { hostnameOf, isLoopback } from '../base/config/host-names.ts'
import { SECURITY_HEADERS } from '../base/http/content-security.ts'
import { createNews } from '../base/work/news.ts'
import { actorOf, needScope } from './access/actor.ts'
import { PROMETHEUS_TYPE, type Telemetry } from './telemetry/telemetry.ts'

/**
 * Serves `/metrics` on the admin port to the admin account and to API tokens with the scope `health:read`.
 * `requireAdmin` authenticates the request first.
 */
export function metricsRoute(telemetry: Pick<Telemetry, 'scrape'>, requireAdmin: Middleware): Middleware {
  async function answer(ctx: Context): Promise<void> {
    needScope(actorOf(ctx), 'health', 'read', false)
    ctx.body = await telemetry.scrape()
    ctx.set('Content-Type', PROMETHEUS_TYPE)
  }
  return (ctx, next) => {
    if (ctx.path !== '/metrics' || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    return requireAdmin(ctx, () => answer(ctx))
  }
}

/**
 * Serves `/metrics` without authentication, on a separate port that serves nothing else. Chosen here: a scraper inside
 * a cluster then needs neither a token nor access to the admin pages. Network rules must restrict access to the port.
 * Requests from web pages are always rejected.
 * @param names additional host names to accept: `METRICS_HOST` and `ALLOWED_HOSTS`
 */
export function metricsServer({ scrape }: Pick<Telemetry, 'scrape'>, names: readonly string[], log: Logger): Server {
  const isNews = createNews()
  return createServer({ requestTimeout: 10_000, headersTimeout: 5000, maxHeaderSize: 8192 }, (request, response) => {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value)
    const answer = (status: number, text: string, type = 'text/plain; charset=utf-8') => {
      response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) })
      response.end(request.method === 'HEAD' ? undefined : text)
    }
    const isPage = request.headers.origin !== undefined || request.headers['sec-fetch-site'] !== undefined
    if (request.url?.split('?', 1)[0] !== '/metrics') return answer(404, 'This port serves only /metrics.\n')
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(405, 'Only GET and HEAD requests are allowed.\n')
    if (isPage) return answer(403, 'Browser pages cannot read metrics. Use a monitoring tool, such as Prometheus.\n')
    if (!isOwnName(request.headers.host ?? '', names)) return answer(421, NOT_A_NAME)
    scrape().then(
      (text) => answer(200, text, PROMETHEUS_TYPE),
      (error: Error) => {
        if (isNews(error.message)) log.error({ err: error }, 'the metrics could not be collected')
        answer(500, 'The metrics could not be collected. The host’s log contains the reason.\n')
      },
    )
  })
}

const NOT_A_NAME =
  'This host name is not allowed. Use an IP address or a private host name, or add this name to ALLOWED_HOSTS.\n'
/** Names that public DNS doesn't resolve: single labels, and suffixes for private networks. */
const PRIVATE_NAME = /^[^.]+$|\.(?:internal|local|svc)$/

/**
 * Whether no public web page can have this host name. Over http, a page that uses DNS rebinding sends neither `Origin`
 * nor Fetch Metadata. But its `Host` header contains the page's own host name, which is in public DNS.
 */
function isOwnName(host: string, names: readonly string[]): boolean {
  const name = hostnameOf(host.toLowerCase())
  if (name === null) return false
  const isAddress = isIP(name.replace(/^\[|\]$/g, '')) !== 0
  return isAddress || isLoopback(name) || PRIVATE_NAME.test(name) || names.includes(name)
}
