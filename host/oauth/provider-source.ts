import type { AccountSource } from '../login/account-sources.ts'
import type { AuthenticatorQuestion } from '../login/ask-authenticator.ts'
import { queryParams } from '../login/query-params.ts'
import { noEffects } from '../solutions/host-call.ts'
import { lastLoginOf } from './last-login.ts'
import type { ProviderLogins } from './provider-logins.ts'
import type { Refresh } from './refresh.ts'

/**
 * Users who signed in at a provider. Whether they may come in again is asked there first, by the refresh token, then of the
 * solution's authenticator with the claims as they are now.
 */
export function createProviderSource(
  refresh: Refresh,
  logins: Pick<ProviderLogins, 'isAlive'>,
  askAuthenticator: AuthenticatorQuestion,
): AccountSource {
  return {
    name: 'provider',
    async recheck(asking, { providerLogin, lastLoginAt, uid, username, permissions }) {
      const claims = providerLogin === null ? null : await refresh(providerLogin)
      if (claims === null) return { kind: 'refused', effects: noEffects(), values: {} }
      const lastLogin = lastLoginOf(claims, lastLoginAt, { uid, username, permissions })
      return askAuthenticator(asking, { ...queryParams(asking.url), username, last_login: lastLogin })
    },
    stillHolds: async (_asking, _accepted, providerLogin) =>
      providerLogin !== null && (await logins.isAlive(providerLogin)),
  }
}
