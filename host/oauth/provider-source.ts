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
 * Users who signed in at a provider. Whether they may come in again is asked there first, by the refresh token, then of the
 * solution's authenticator with the claims as they are now.
 */
export function createProviderSource(
  refresh: Refresh,
  logins: Pick<ProviderLogins, 'find' | 'isAlive' | 'end'>,
  askAuthenticator: AuthenticatorQuestion,
  solutionLog: Pick<SolutionLog, 'write'>,
  chooser: Pick<ConfigurationChooser, 'choose'>,
): AccountSource {
  /**
   * Whether the settings still name the registration by which the user signed in. Who moves to another one means everybody;
   * and where the old one is gone nobody could be asked about, so that a remembered user would never get to the new one.
   *
   * Chosen here: in the mode OAUTH only. What `getOAuthConfig` returns depends on an address that this visit need not have.
   */
  async function isStillChosen(asking: Asking, { id, content }: ProviderLogin): Promise<boolean> {
    if (asking.solution.manifest.authenticator !== 'OAUTH') return true
    if (registrationOf(content.configuration) === registrationOf(await chooser.choose(asking))) return true
    await logins.end(id)
    return false
  }

  /**
   * An answer that does not pass the checks ends the login: the next one would be no better, and a page that says so each
   * time would keep the user from signing in anew.
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
 * In the mode OAUTH_AUTHENTICATOR the query parameters chose the provider that vouched for the user: a tenant in the address
 * of today must not stand beside claims of another one's provider, so the script gets those of the sign-in.
 */
function asThen(asking: Asking, { content }: ProviderLogin): Asking {
  if (asking.solution.manifest.authenticator !== 'OAUTH_AUTHENTICATOR') return asking
  return { ...asking, url: new Map(new URL(content.page, asking.serverUrl).searchParams) }
}

/** What makes it another registration, or another provider. */
function registrationOf(configuration: OAuthConfiguration): string {
  const { api, clientId, apiSecret, issuer, authorizationEndpoint, tokenEndpoint, jwksUri } = configuration
  return JSON.stringify([api, clientId, apiSecret, issuer, authorizationEndpoint, tokenEndpoint, jwksUri])
}
