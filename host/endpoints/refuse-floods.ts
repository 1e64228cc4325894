import type { Context, Middleware } from 'koa'
import { sendProblem } from '../../base/http/answer-errors.ts'
import { allowEndpoint } from '../../base/http/content-security.ts'
import { stateOf } from '../../base/http/request.ts'
import type { NetworkLimit } from './network-limit.ts'

const ENDPOINT = /^\/solution\/[^/]+\/api\//
/** Without these headers, a request can only be for an endpoint without authentication, or be refused. */
const CREDENTIALS = ['authorization', 'cookie', 'stripe-signature', 'x-hub-signature-256', 'webhook-signature'] as const

/**
 * Refuses requests to endpoints before all other work if they have no credentials and their network has sent too many
 * already. A flood then costs the host so little that sign-ins stay fast.
 */
export function refuseFloods(network: Pick<NetworkLimit, 'refusal'>): Middleware {
  return (ctx, next) => {
    const refusal =
      ENDPOINT.test(ctx.path) && !hasCredentials(ctx) ? network.refusal(stateOf(ctx).client.address) : null
    if (refusal === null) return next()
    allowEndpoint(ctx)
    ctx.set('Retry-After', String(refusal.details.retryAfter))
    return sendProblem(ctx, refusal)
  }
}

function hasCredentials({ req: { headers } }: Context): boolean {
  return CREDENTIALS.some((name) => headers[name] !== undefined)
}
