import type { Logger } from 'pino'
import type { Remembered } from '../../base/accounts/remembered.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import type { ProviderSignOut } from '../login/sign-out.ts'
import type { AfterLogoutState } from './after-logout.ts'
import type { ClientSecrets } from './client-secret.ts'
import type { ProviderLogin, ProviderLoginContent, ProviderLogins } from './provider-logins.ts'
import type { TokenRequests } from './token-requests.ts'

export type ProviderLogoutParts = {
  readonly logins: ProviderLogins
  readonly sessions: Sessions
  readonly remembered: Remembered
  readonly clientSecrets: ClientSecrets
  readonly tokenRequests: TokenRequests
  readonly afterLogout: AfterLogoutState
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Maximum length of the hint, in characters: many servers and proxies limit URLs to 8 KiB. A longer hint is left out.
 * Then `client_id` identifies the client, and the provider asks the user which account to sign out.
 */
const LONGEST_HINT = 5 * 1024
/** Maximum length of a page's path and query in `state`, in characters; longer ones are left out. */
const LONGEST_PAGE = 1024

/** Signs users out of a provider login, both here and at the provider. */
export interface ProviderLogout {
  /**
   * Ends all sessions and remembered logins of a provider login, and revokes its refresh token in the background (RFC
   * 7009). Returns the URL that the browser must be redirected to. This is the provider's logout URL if the provider
   * can end its own session (OIDC RP-Initiated Logout 1.0). The provider then redirects to the signed-out page.
   * Otherwise, it is `target` or the signed-out page.
   * @param signedOutPage the URL of the solution's signed-out page, which is registered at the provider
   */
  signOut(id: string, signedOutPage: string, target: string | null): Promise<ProviderSignOut>
  /** Resolves when all background work has ended. */
  settled(): Promise<void>
}

export function createProviderLogout(parts: ProviderLogoutParts): ProviderLogout {
  const { logins, sessions, remembered, clientSecrets, tokenRequests, afterLogout, log } = parts
  const begun = new Set<Promise<void>>()

  async function revoke({ solution, content }: ProviderLogin): Promise<void> {
    const { configuration, provider, refreshToken } = content
    const { revocationEndpoint } = provider
    if (refreshToken === null || revocationEndpoint === null) return
    const secret = await clientSecrets.secretFor(solution, configuration, revocationEndpoint)
    await tokenRequests.revoke({ provider, configuration, secret }, refreshToken)
  }

  /** Runs in the background, so that an unreachable provider doesn't delay the sign-out here. */
  function revokeLater(login: ProviderLogin): void {
    const revoked = revoke(login)
      .catch((error: Error) =>
        log.warn({ solution: login.solution, reason: error.message }, 'a token could not be revoked'),
      )
      .finally(() => begun.delete(revoked))
    begun.add(revoked)
  }

  return {
    async signOut(id, signedOutPage, target) {
      const login = await logins.find(id)
      await logins.end(id)
      await Promise.all([sessions.endOfProviderLogin(id), remembered.endOfProviderLogin(id)])
      if (login === null) return { address: target ?? signedOutPage, endsThere: false }
      revokeLater(login)
      const { solution, content } = login
      const { endSessionEndpoint, title } = content.provider
      const page = target === null ? pageToSignInAgain(content) : null
      if (endSessionEndpoint === null) {
        const state = () => afterLogout.write(solution, { target: null, provider: title, page })
        return { address: target ?? `${signedOutPage}&state=${state()}`, endsThere: false }
      }
      const url = new URL(endSessionEndpoint)
      const { idToken } = content
      if (idToken !== null && idToken.length <= LONGEST_HINT) url.searchParams.set('id_token_hint', idToken)
      url.searchParams.set('client_id', content.configuration.clientId)
      url.searchParams.set('post_logout_redirect_uri', signedOutPage)
      if (target !== null || page !== null) {
        url.searchParams.set('state', afterLogout.write(solution, { target, provider: null, page }))
      }
      return { address: url.href, endsThere: true }
    },
    async settled() {
      await Promise.all(begun)
    },
  }
}

/**
 * The page where the user can sign in again. Its query may determine which provider is used (`getOAuthConfig`). Null if
 * the page has no query (the start page can be used instead) or is too long.
 */
function pageToSignInAgain({ page }: ProviderLoginContent): string | null {
  return page.includes('?') && page.length <= LONGEST_PAGE ? page : null
}
