import type { Middleware } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import { hostnameOf } from '../config/host-names.ts'
import { requireOneHost, unknownHost } from '../http/host-header.ts'
import { stateOf } from '../http/request.ts'
import type { Sites } from '../http/sites.ts'

/**
 * Handles all requests on the port without TLS (`HTTP_REDIRECT_PORT`): redirects GET and HEAD to the same URL over
 * https. The host name must be known, so that users can't be redirected to another site. Form posts and requests with
 * credentials are rejected. Otherwise, a tool could keep sending them unencrypted without anyone noticing.
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
        `This port is not encrypted and only redirects browsers to ${site.origin}. The request was not processed: send it to that URL.`,
      )
    }
    ctx.status = 308
    // Start with the origin. Otherwise, a path that starts with two slashes could specify another host.
    ctx.set('Location', `${site.origin}${ctx.path.startsWith('/') ? ctx.path : '/'}${ctx.search}`)
  }
}
