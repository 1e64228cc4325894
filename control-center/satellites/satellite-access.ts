import type { Context, Middleware } from 'koa'
import { stateOf } from '../../base/http/request.ts'
import { createNews } from '../../base/work/news.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Audit } from '../access/audit.ts'
import type { EnvironmentTokens } from '../environments/environment-tokens.ts'
import type { Environment, Environments } from '../environments/environments.ts'

export type SatelliteAccessParts = {
  readonly environments: Environments
  readonly environmentTokens: EnvironmentTokens
  readonly audit: Audit
}

/** Authenticates Satellites by their remote environment token, which grants access to a single environment. */
export function requireSatellite(environments: Environments, tokens: EnvironmentTokens, audit: Audit): Middleware {
  const isNews = createNews()
  return async (ctx, next) => {
    const environment = await findEnvironment(ctx, environments, tokens)
    if (environment === null) {
      const { client, correlationId } = stateOf(ctx)
      if (givenToken(ctx) !== undefined && isNews(client.address)) {
        const act = { actor: 'satellite:unknown', action: 'satellite-sign-in' }
        await audit.record({ ...act, outcome: 'refused', address: client.address, correlationId })
      }
      throw refusal(ctx)
    }
    ;(ctx.state as State).environment = environment
    return next()
  }
}

/**
 * Checks the token again. Call this if there was a long wait after `requireSatellite`.
 * @throws ERR_UNAUTHENTICATED if the token was revoked in the meantime
 */
export async function requireStillAllowed(ctx: Context, parts: SatelliteAccessParts): Promise<void> {
  const environment = await findEnvironment(ctx, parts.environments, parts.environmentTokens)
  if (environment?.id !== environmentOf(ctx).id) throw refusal(ctx)
}

async function findEnvironment(
  ctx: Context,
  environments: Environments,
  tokens: EnvironmentTokens,
): Promise<Environment | null> {
  const given = givenToken(ctx)
  const token = given === undefined ? null : await tokens.find(given)
  return token === null ? null : environments.byId(token.environment)
}

function givenToken(ctx: Context): string | undefined {
  return /^Bearer (\S{1,4096})$/i.exec(ctx.get('Authorization'))?.[1]
}

function refusal(ctx: Context): PlatformError {
  ctx.set('WWW-Authenticate', 'Bearer realm="satellite"')
  return new PlatformError(
    'ERR_UNAUTHENTICATED',
    givenToken(ctx) === undefined
      ? 'The request has no token. Send a remote environment token (Bearer) in the Authorization header.'
      : 'The remote environment token is unknown or was revoked. Create one on the Credentials page, and set REMOTE_ENVIRONMENT_TOKEN to it.',
  )
}

type State = { environment?: Environment }

/**
 * The environment of the request's token.
 * @throws TypeError if called before `requireSatellite`
 */
export function environmentOf(ctx: Context): Environment {
  const { environment } = ctx.state as State
  if (environment === undefined) throw new TypeError('requireSatellite was not called for this request')
  return environment
}
