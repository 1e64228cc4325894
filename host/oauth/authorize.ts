import { networkOf } from '../../base/http/network.ts'
import { PROVIDERS } from '../../base/oauth/providers.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Arrival } from '../login/arrival.ts'
import { requestedPage } from '../login/requested-page.ts'
import { wasSignedOut } from '../login/signed-out-browser.ts'
import type { ClientSecrets } from './client-secret.ts'
import type { OAuthConfiguration } from './configuration.ts'
import type { Provider } from './provider.ts'
import type { ProviderFinder } from './provider-finder.ts'
import { setTransactionCookie } from './transaction-cookies.ts'
import type { TransactionContent, Transactions } from './transactions.ts'

export type AuthorizeParts = {
  readonly finder: ProviderFinder
  readonly clientSecrets: ClientSecrets
  readonly transactions: Transactions
  readonly limits: Limits
}

/**
 * Query parameter in the link "use another account" on the page for refused sign-ins. The user can then choose another
 * account at the provider.
 */
const OTHER_ACCOUNT = 'other-account'

/**
 * Redirects the browser to the provider. Stores a transaction, which is needed when the browser returns.
 * @throws OAuthProblem
 */
export async function authorize(
  arrival: Arrival,
  configuration: OAuthConfiguration,
  parts: AuthorizeParts,
): Promise<void> {
  const { ctx, solution, scope, address, url } = arrival
  const { finder, clientSecrets, transactions, limits } = parts
  const provider = await finder.find(solution.name, configuration)
  // Report a missing secret before the user signs in at the provider, not after.
  if (provider.tokenEndpoint !== null && configuration.responseType === 'code') {
    await clientSecrets.secretFor(solution.name, configuration, provider.tokenEndpoint)
  }
  const { randomNonce, randomPKCECodeVerifier } = await import('openid-client')
  const verifier =
    configuration.pkce === null || configuration.responseType !== 'code' ? null : randomPKCECodeVerifier()
  const content: TransactionContent = {
    configuration,
    provider,
    redirectUri: redirectUriOf(arrival),
    nonce: randomNonce(),
    verifier,
  }
  const returnTo = requestedPage(ctx)
  const { id, cookie } = await transactions.start({
    solution: solution.name,
    network: networkOf(address),
    returnTo,
    content,
  })
  setTransactionCookie(ctx, scope, { id, cookie }, limits)
  ctx.status = 302
  const mustAsk = url.has(OTHER_ACCOUNT) || wasSignedOut(ctx, scope)
  ctx.set('Location', await authorizationUrl(id, content, mustAsk))
}

/** The redirect URI to register with the provider. */
export function redirectUriOf({
  serverUrl,
  solution,
}: {
  readonly serverUrl: string
  readonly solution: { readonly name: string }
}): string {
  return `${serverUrl}/solution/${solution.name}/app_oauth/index.html`
}

/** Adds a parameter to the page's URL that lets the user choose another account at the provider. */
export function otherAccountPage(page: string): string {
  return `${page}${page.includes('?') ? '&' : '?'}${OTHER_ACCOUNT}`
}

/**
 * Returns the URL of the authorization request (RFC 6749 section 4.1.1, OIDC Core section 3.1.2.1). Parameters that the
 * platform sets override those in the settings.
 */
async function authorizationUrl(
  state: string,
  { configuration, provider, redirectUri, nonce, verifier }: TransactionContent,
  mustAsk: boolean,
): Promise<string> {
  const url = new URL(provider.authorizationEndpoint)
  const set = (name: string, value: string) => url.searchParams.set(name, value)
  for (const [name, value] of Object.entries(configuration.parameters)) set(name, value)
  if (mustAsk) set('prompt', promptOf(configuration))
  set('client_id', configuration.clientId)
  set('response_type', configuration.responseType)
  set('redirect_uri', redirectUri)
  if (configuration.scope !== '') set('scope', configuration.scope)
  set('state', state)
  if (isNonceExpected(configuration, provider)) set('nonce', nonce)
  if (needsResponseMode(configuration)) set('response_mode', configuration.responseMode)
  if (verifier !== null) {
    const { calculatePKCECodeChallenge } = await import('openid-client')
    set('code_challenge', configuration.pkce === 'S256' ? await calculatePKCECodeChallenge(verifier) : verifier)
    set('code_challenge_method', configuration.pkce ?? 'S256')
  }
  return url.href
}

export function isNonceExpected({ api }: OAuthConfiguration, { hasIdToken }: Provider): boolean {
  return hasIdToken && PROVIDERS[api].sendsNonce
}

/**
 * A response type's default mode needs no parameter (OAuth 2.0 Multiple Response Type Encoding Practices, section 5).
 */
function needsResponseMode({ responseType, responseMode }: OAuthConfiguration): boolean {
  return responseMode !== (responseType === 'code' ? 'query' : 'fragment')
}

/**
 * Returns a `prompt` value that keeps the provider from signing the user in silently. Every OpenID provider supports
 * `login`. The providers listed here can let the user select an account. Values from the settings, such as `consent`,
 * are added (OIDC Core section 3.1.2.1), except `none`. Microsoft accepts only a single value.
 */
function promptOf({ api, parameters }: OAuthConfiguration): string {
  const asks = ['Google', 'Microsoft', 'GitHub'].includes(api) ? 'select_account' : 'login'
  if (api === 'Microsoft') return asks
  const others = (parameters.prompt ?? '').split(' ').filter((one) => one !== '' && one !== 'none')
  return [...new Set([asks, ...others])].join(' ')
}
