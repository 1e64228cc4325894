import type { Middleware } from 'koa'
import { hostnameOf, isLoopback } from '../base/config/host-names.ts'
import { requireOneHost, unknownHost } from '../base/http/host-header.ts'
import { stateOf } from '../base/http/request.ts'
import type { Sites } from '../base/http/sites.ts'
import { PlatformError } from '../runtime/errors.ts'
import type { Catalog } from './solutions/catalog.ts'

/**
 * Accepts a request only if its host name serves its path. A solution's host name serves only that solution. With
 * `SOLUTION_ORIGIN`, the platform's host names redirect to the solution's host name.
 */
export function siteGate(sites: Sites, catalog: Catalog): Middleware {
  return async (ctx, next) => {
    const { client } = stateOf(ctx)
    requireOneHost(ctx)
    const site = sites.find(client)
    stateOf(ctx).site = site
    if (site === null) throw unknownHost(client.host)
    const asked = /^\/solution\/([^/]+)(\/|$)/.exec(ctx.path)?.[1]
    if (site.kind === 'platform') {
      if (sites.shared || asked === undefined) return next()
      const origin = sites.originOf((await catalog.need(asked)).name, client)
      if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
        throw new PlatformError(
          'ERR_HOST_UNKNOWN',
          `The solution "${asked}" is served at ${origin}. Send the request there.`,
        )
      }
      ctx.status = 308
      ctx.set('Location', `${origin}${ctx.path}${ctx.search}`)
      return
    }
    if ((await catalog.active(site.solution)) === null) throw unknownHost(client.host)
    if (asked === site.solution) return next()
    if (ctx.path !== '/')
      throw new PlatformError(
        'ERR_NOT_FOUND',
        `This host name serves only the solution "${site.solution}". Use a URL that starts with /solution/${site.solution}/.`,
      )
    ctx.status = 302
    ctx.set('Location', `/solution/${site.solution}/index.html`)
  }
}

/**
 * The admin port responds only to loopback names, its own address and `ALLOWED_HOSTS`. Behind a proxy, both the
 * forwarded host and the proxy's `Host` header are checked, because a page that uses DNS rebinding can set any
 * forwarded host.
 */
export function adminGate(adminHost: string, allowedHosts: readonly string[]): Middleware {
  const isKnown = (host: string) => {
    const hostname = hostnameOf(host)
    return hostname !== null && (isLoopback(hostname) || hostname === adminHost || allowedHosts.includes(hostname))
  }
  return (ctx, next) => {
    const unknown = [stateOf(ctx).client.host, ctx.req.headers.host ?? ''].find((host) => !isKnown(host))
    if (unknown !== undefined) throw unknownHost(unknown)
    return next()
  }
}
