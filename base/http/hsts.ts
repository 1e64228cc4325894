import type { Middleware } from 'koa'
import { hostnameOf, isLoopback } from '../config/host-names.ts'
import type { SolutionOrigin } from '../config/properties.ts'
import type { ServiceSettings } from '../config/service-settings.ts'
import { stateOf } from './request.ts'

export type HstsSettings = Pick<ServiceSettings, 'certificate' | 'publicUrl' | 'hstsMaxAge'> & {
  readonly solutionOrigin?: SolutionOrigin | null
}

/**
 * Strict-Transport-Security (RFC 6797) on answers over https, where https is meant to stay: the host serves TLS, or its
 * public address is https and a trusted proxy says that the browser came so.
 *
 * Chosen here: without `includeSubDomains`, since names below the platform's may be others'; each host name of a solution
 * says it for itself. Not for loopback names: browsers keep it for a name with all its ports, and so the plain ones of
 * everything else on that machine, the admin port among them, could be reached no longer.
 */
export function sendHsts(settings: HstsSettings): Middleware {
  const { certificate, publicUrl, solutionOrigin, hstsMaxAge } = settings
  const stays = certificate !== null || publicUrl?.protocol === 'https:' || solutionOrigin?.protocol === 'https:'
  const value = `max-age=${Math.floor(hstsMaxAge / 1000)}`
  return (ctx, next) => {
    const { protocol, host } = stateOf(ctx).client
    const name = hostnameOf(host)
    if (stays && protocol === 'https' && name !== null && !isLoopback(name)) ctx.set('Strict-Transport-Security', value)
    return next()
  }
}
