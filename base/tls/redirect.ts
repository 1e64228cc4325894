import type { Middleware } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import { hostnameOf } from '../config/host-names.ts'
import { requireOneHost, unknownHost } from '../http/host-header.ts'
import { stateOf } from '../http/request.ts'
import type { Sites } from '../http/sites.ts'

/**
 * All that the port without TLS does (`HTTP_REDIRECT_PORT`): leads whoever reads to the same address by https. The host name
 * must be one that the site gate knows, so that nobody is led anywhere else. What was sent is not processed: a form, and
 * a request with credentials, which a tool would else go on sending unencrypted without anybody noticing.
 *
 * @param port where the host serves TLS, for names without `PUBLIC_URL` and `SOLUTION_ORIGIN`
 */
export function redirectToHttps(sites: Sites, port: () => number): Middleware {
  return (ctx) => {
    const { client } = stateOf(ctx)
    requireOneHost(ctx)
    const name = hostnameOf(client.host)
    const host = port() === 443 ? `${name}` : `${name}:${port()}`
    const site = name === null ? null : sites.find({ ...client, protocol: 'https', host })
    if (site === null) throw unknownHost(client.host)
    const isReading = ctx.method === 'GET' || ctx.method === 'HEAD'
    if (!isReading || ctx.get('Authorization') !== '') {
      throw new PlatformError(
        'ERR_NOT_ENCRYPTED',
        `This port is not encrypted and leads browsers on to ${site.origin}; what was sent is not processed.`,
      )
    }
    ctx.status = 308
    // From the origin on, so that a path of two slashes names no other host.
    ctx.set('Location', `${site.origin}${ctx.path.startsWith('/') ? ctx.path : '/'}${ctx.search}`)
  }
}
