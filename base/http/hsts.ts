import type { Middleware } from 'koa'
import { hostnameOf, isLoopback } from '../config/host-names.ts'
import type { SolutionOrigin } from '../config/properties.ts'
import type { ServiceSettings } from '../config/service-settings.ts'
import type { ClientSide } from './client.ts'
import { stateOf } from './request.ts'

export type HstsSettings = Pick<ServiceSettings, 'certificate' | 'publicUrl' | 'hstsMaxAge'> & {
  readonly solutionOrigin?: SolutionOrigin | null
}

/**
 * Sends Strict-Transport-Security (RFC 6797) over https if https is permanent: the host serves TLS, or its public URL
 * is https and a trusted proxy reports that the browser used it. Chosen here: without `includeSubDomains`, because
 * subdomains of the platform's name may belong to others. Each host name of a solution sends the header separately.
 * Responses under loopback names omit it, because browsers apply it to every port of a name. All other services on the
 * machine that don't use TLS, including the admin port, would become unreachable.
 */
export function sendHsts(settings: HstsSettings): Middleware {
  const { certificate, publicUrl, solutionOrigin, hstsMaxAge } = settings
  const stays = certificate !== null || publicUrl?.protocol === 'https:' || solutionOrigin?.protocol === 'https:'
  const value = `max-age=${Math.floor(hstsMaxAge / 1000)}`
  return (ctx, next) => {
    if (stays && isPublicHttps(stateOf(ctx).client)) ctx.set('Strict-Transport-Security', value)
    return next()
  }
}

function isPublicHttps({ protocol, host }: ClientSide): boolean {
  const name = hostnameOf(host)
  return protocol === 'https' && name !== null && !isLoopback(name)
}
