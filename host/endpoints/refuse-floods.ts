import type { Context, Middleware } from 'koa'
import { sendProblem } from '../../base/http/answer-errors.ts'
import { allowEndpoint } from '../../base/http/content-security.ts'
import { stateOf } from '../../base/http/request.ts'
import type { NetworkLimit } from './network-limit.ts'

const ENDPOINT = /^\/solution\/[^/]+\/api\//
/** A request without any of these headers has no credentials, so only endpoints without authentication accept it. */
const CREDENTIALS = ['authorization', 'cookie', 'stripe-signature', 'x-hub-signature-256', 'webhook-signature'] as const

/**
 * Rejects requests without credentials if their network has already sent too many requests to endpoints. This check
 * runs before all other work, so that sign-ins stay fast during a flood.
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
