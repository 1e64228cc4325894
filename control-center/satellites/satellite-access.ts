import type { Context, Middleware } from 'koa'
import { createNews } from '../../host/http/news.ts'
import { stateOf } from '../../host/http/request.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Activity } from '../access/activity.ts'
import type { EnvironmentTokens } from '../environments/environment-tokens.ts'
import type { Environment, Environments } from '../environments/environments.ts'

/** Lets through what a Satellite asks with its remote environment token: it is of one environment, and nothing else. */
export function requireSatellite(
  environments: Environments,
  tokens: EnvironmentTokens,
  activity: Activity,
): Middleware {
  const isNews = createNews()
  return async (ctx, next) => {
    const given = /^Bearer (\S{1,4096})$/i.exec(ctx.get('Authorization'))?.[1]
    const token = given === undefined ? null : await tokens.find(given)
    const environment = token === null ? null : await environments.byId(token.environment)
    if (environment === null) {
      const { client, correlationId } = stateOf(ctx)
      if (given !== undefined && isNews(client.address)) {
        const act = { organisation: '', actor: 'satellite:unknown', action: 'satellite-sign-in', subject: '' }
        await activity.record({ ...act, outcome: 'refused', address: client.address, correlationId })
      }
      ctx.set('WWW-Authenticate', 'Bearer realm="satellite"')
      throw new PlatformError(
        'ERR_UNAUTHENTICATED',
        given === undefined
          ? 'Send the remote environment token (Bearer) in the header Authorization.'
          : 'The remote environment token is unknown or was revoked: set REMOTE_ENVIRONMENT_TOKEN to one of the Credentials page.',
      )
    }
    ;(ctx.state as State).environment = environment
    return next()
  }
}

type State = { environment?: Environment }

/** The environment whose token came with the request. @throws TypeError before `requireSatellite` */
export function environmentOf(ctx: Context): Environment {
  const { environment } = ctx.state as State
  if (environment === undefined) throw new TypeError('the request went through no requireSatellite')
  return environment
}
