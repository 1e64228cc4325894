import { setTimeout as delay } from 'node:timers/promises'
import type { Limits } from '../../runtime/limits.ts'
import type { ClaimsReader } from './claims.ts'
import type { ClientSecrets } from './client-secret.ts'
import type { Claims } from './provider.ts'
import type { ProviderLogin, ProviderLogins } from './provider-logins.ts'
import type { TokenRequests } from './token-requests.ts'

/**
 * Requests the current claims of a signed-in or remembered user from the provider.
 * @returns null if the login was ended, by the provider or otherwise
 * @throws OAuthProblem if the refresh failed; the login stays unchanged
 */
export type Refresh = (loginId: string) => Promise<Claims | null>

export type RefreshParts = {
  readonly logins: ProviderLogins
  readonly clientSecrets: ClientSecrets
  readonly tokenRequests: TokenRequests
  readonly claims: ClaimsReader
  readonly limits: Pick<Limits, 'REMEMBER_GRACE'>
}

/** Interval in ms between polls for the result, while another tab or host refreshes the login. */
const LOOK_EVERY = 100

/** @param now returns the current time in epoch milliseconds */
export function createRefresh(parts: RefreshParts, now: () => number = Date.now): Refresh {
  const { logins, clientSecrets, tokenRequests, claims, limits } = parts

  const isFresh = ({ refreshedAt }: ProviderLogin) => refreshedAt + limits.REMEMBER_GRACE > now()

  /**
   * Providers that rotate refresh tokens treat a second use as theft, so only one of several tabs may send the token.
   */
  async function claim(id: string): Promise<ProviderLogin | null> {
    for (;;) {
      const login = await logins.find(id)
      if (login === null || isFresh(login)) return login
      // This loop ends because a caller's claim to the refresh expires if it is not released.
      if (await logins.claimRefresh(id)) {
        // Another caller may have refreshed between `find` and `claimRefresh`.
        const claimed = await logins.find(id)
        if (claimed !== null && isFresh(claimed)) await logins.finishRefresh(claimed, null)
        return claimed
      }
      await delay(LOOK_EVERY)
    }
  }

  async function ask({ solution, content }: ProviderLogin): Promise<ProviderLogin['content'] | null> {
    const { configuration, refreshToken, nonce } = content
    const tokenEndpoint = configuration.refreshTokenEndpoint ?? content.provider.tokenEndpoint
    const provider = { ...content.provider, tokenEndpoint }
    if (refreshToken === null || provider.tokenEndpoint === null) return null
    const secret = await clientSecrets.secretFor(solution, configuration, provider.tokenEndpoint)
    const registration = { provider, configuration, secret }
    const startedAt = now()
    const tokens = await tokenRequests.refresh(registration, refreshToken)
    if (tokens === null) return null
    const expected = { nonce, startedAt, before: content.claims }
    const verified = await claims.ofTokens(solution, registration, tokens, expected)
    return {
      ...content,
      claims: verified.claims,
      idToken: tokens.idToken ?? content.idToken,
      // If the provider sends no new refresh token, the old one stays valid (RFC 6749 section 6).
      refreshToken: tokens.refreshToken ?? refreshToken,
    }
  }

  async function refresh(id: string): Promise<Claims | null> {
    const login = await claim(id)
    if (login === null || isFresh(login)) return login?.content.claims ?? null
    let content: ProviderLogin['content'] | null = null
    try {
      content = await ask(login)
    } finally {
      await logins.finishRefresh(login, content)
    }
    if (content === null) await logins.end(id)
    return content?.claims ?? null
  }

  /**
   * Concurrent requests share the result, including a failure. Otherwise, they would query the provider sequentially.
   */
  const underWay = new Map<string, Promise<Claims | null>>()
  return (id) => {
    const known = underWay.get(id)
    if (known !== undefined) return known
    const asked = refresh(id).finally(() => underWay.delete(id))
    underWay.set(id, asked)
    return asked
  }
}
