import type { Middleware } from 'koa'
import { requireOneHost, unknownHost } from '../base/http/host-header.ts'
import { stateOf } from '../base/http/request.ts'
import type { Sites } from '../base/http/sites.ts'

/**
 * Accepts only requests for the host in `PUBLIC_URL`, for loopback, for one of the machine's own addresses, or for a
 * host in `ALLOWED_HOSTS`. This blocks DNS rebinding.
 */
export function hostGate(sites: Sites): Middleware {
  return (ctx, next) => {
    requireOneHost(ctx)
    const { client } = stateOf(ctx)
    const site = sites.find(client)
    if (site === null) throw unknownHost(client.host)
    stateOf(ctx).site = site
    return next()
  }
}
