import { noEffects } from '../../base/bundles/host-call.ts'
import type { AccountSource } from '../login/account-sources.ts'
import type { Asking } from '../login/arrival.ts'
import { askAgain, earlierOf } from '../login/ask-again.ts'
import type { AuthenticatorQuestion } from '../login/ask-authenticator.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'
import type { ConfigurationChooser } from './chosen-configuration.ts'
import type { OAuthConfiguration } from './configuration.ts'
import { lastLoginOf } from './last-login.ts'
import { OAuthProblem } from './problems.ts'
import type { Claims } from './provider.ts'
import type { ProviderLogin, ProviderLogins } from './provider-logins.ts'
import type { Refresh } from './refresh.ts'

/**
 * The source for users who signed in at a provider. To sign them in again, the host first requests their current claims
 * with the refresh token. It then calls the solution's authenticator with these claims.
 */
export function createProviderSource(
  refresh: Refresh,
  logins: Pick<ProviderLogins, 'find' | 'isAlive' | 'end'>,
  askAuthenticator: AuthenticatorQuestion,
  solutionLog: Pick<SolutionLog, 'write'>,
  chooser: Pick<ConfigurationChooser, 'choose'>,
): AccountSource {
  /**
   * Whether the settings still contain the registration that the user signed in with. If not, the login ends, because a
   * new registration is meant for all users. If the old one was deleted, refreshing with it fails, and remembered users
   * would never switch to the new one. Chosen here: only mode OAUTH is checked. `getOAuthConfig` depends on the URL of
   * the page, which may be different on this visit.
   */
  async function isStillChosen(asking: Asking, { id, content }: ProviderLogin): Promise<boolean> {
    if (asking.solution.manifest.authenticator !== 'OAUTH') return true
    if (registrationOf(content.configuration) === registrationOf(await chooser.choose(asking))) return true
    await logins.end(id)
    return false
  }

  /**
   * If the provider's response fails the checks, end the login: a retry would fail too, and an error on each visit
   * would keep the user from signing in again.
   */
  async function claimsNow({ solution, correlationId }: Asking, providerLogin: string): Promise<Claims | null> {
    try {
      return await refresh(providerLogin)
    } catch (error) {
      if (!(error instanceof OAuthProblem) || error.code !== 'oauth_token') throw error
      const { code, message } = error
      solutionLog.write(solution.name, { level: 'error', code, message, correlationId })
      await logins.end(providerLogin)
      return null
    }
  }

  return {
    name: 'provider',
    async recheck(asking, series) {
      const { providerLogin, lastLoginAt } = series
      const login = providerLogin === null ? null : await logins.find(providerLogin)
      const isChosen = login !== null && (await isStillChosen(asking, login))
      const claims = isChosen ? await claimsNow(asking, login.id) : null
      if (login === null || claims === null) return { kind: 'refused', effects: noEffects(), values: {} }
      const lastLogin = lastLoginOf(claims, lastLoginAt, earlierOf(asking, series))
      return askAgain(askAuthenticator, asThen(asking, login), series, lastLogin)
    },
    stillHolds: async (_asking, _accepted, providerLogin) =>
      providerLogin !== null && (await logins.isAlive(providerLogin)),
  }
}

/**
 * In mode OAUTH_AUTHENTICATOR, the query parameters determine the provider. The script therefore gets the parameters of
 * the original sign-in. Otherwise, a tenant in the current URL could be combined with claims from another tenant's
 * provider.
 */
function asThen(asking: Asking, { content }: ProviderLogin): Asking {
  if (asking.solution.manifest.authenticator !== 'OAUTH_AUTHENTICATOR') return asking
  return { ...asking, url: new Map(new URL(content.page, asking.serverUrl).searchParams) }
}

/** The settings that identify the registration and the provider. */
function registrationOf(configuration: OAuthConfiguration): string {
  const { api, clientId, apiSecret, issuer, authorizationEndpoint, tokenEndpoint, jwksUri } = configuration
  return JSON.stringify([api, clientId, apiSecret, issuer, authorizationEndpoint, tokenEndpoint, jwksUri])
}
