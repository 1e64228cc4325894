import { isSameSecret } from '../../base/accounts/same-secret.ts'
import { OAuthProblem, quote } from './problems.ts'
import type { Provider } from './provider.ts'
import type { Transaction } from './transactions.ts'

/** How the provider sent its response. */
export type ReturnMode = 'query' | 'form_post' | 'fragment'

/** A valid response contains a code or an ID token. */
export type AuthorizationResponse =
  | { readonly code: string; readonly idToken: null }
  | { readonly code: null; readonly idToken: string }

/** Parameters that must not be repeated (RFC 6749 section 3.1). */
const ONCE = ['code', 'id_token', 'access_token', 'iss', 'error', 'error_description', 'error_uri', 'response']
/** Maximum characters of a code. Providers send up to about 2,000. */
const LONGEST_CODE = 8192

/**
 * Returns the transaction id in a response.
 * @returns null if there is no id or more than one, so the response is unusable
 */
export function stateOfResponse(parameters: URLSearchParams): string | null {
  const [state = null, ...others] = parameters.getAll('state')
  return others.length === 0 ? state : null
}

/**
 * Checks the response against the request (RFC 6749 section 4.1.2, RFC 9207, OIDC Core sections 3.1.2.5 and 3.2.2.5).
 * @throws OAuthProblem if the response is an error, is from another provider, or does not match the request
 */
export function checkAuthorizationResponse(
  parameters: URLSearchParams,
  mode: ReturnMode,
  { content: { configuration, provider } }: Transaction,
): AuthorizationResponse {
  const twice = ONCE.find((name) => parameters.getAll(name).length > 1)
  if (twice !== undefined) throw new OAuthProblem('oauth_token', `the response has the parameter "${twice}" twice`)
  checkIssuer(parameters, provider)
  const error = parameters.get('error')
  if (error !== null) throw problemOfError(error, parameters.get('error_description'), provider)
  if (mode !== configuration.responseMode) {
    throw new OAuthProblem(
      'oauth_token',
      `the provider sent the response as ${mode}, but the host requested ${configuration.responseMode}`,
    )
  }
  const code = parameters.get('code')
  const idToken = parameters.get('id_token')
  if (configuration.responseType === 'id_token') {
    if (idToken === null || idToken === '') throw new OAuthProblem('oauth_token', 'the response has no id_token')
    if (code !== null) throw new OAuthProblem('oauth_token', 'the response has a code, which was not requested')
    return { code: null, idToken }
  }
  if (idToken !== null) throw new OAuthProblem('oauth_token', 'the response has an id_token, which was not requested')
  if (code === null || code === '') throw new OAuthProblem('oauth_token', 'the response has no code')
  if (code.length > LONGEST_CODE)
    throw new OAuthProblem(
      'oauth_token',
      `the code has ${code.length} characters, but at most ${LONGEST_CODE} are allowed`,
    )
  return { code, idToken: null }
}

/**
 * Ensures that the response is from this provider, not from another one (RFC 9207). Responses with an ID token may omit
 * the issuer, because the token contains it (section 2.4).
 */
function checkIssuer(
  parameters: URLSearchParams,
  { issuer: expected, issuerOrigins, issuerHasTenant, sendsIssuer }: Provider,
): void {
  const issuer = parameters.get('iss')
  if (issuer === null) {
    if (!sendsIssuer || parameters.has('id_token')) return
    throw new OAuthProblem(
      'oauth_token',
      'the response has no "iss", although this provider’s metadata says that it always sends one',
    )
  }
  const isExpected =
    expected === null
      ? issuerOrigins.includes(URL.parse(issuer)?.origin ?? '')
      : issuerHasTenant
        ? isOfTenant(issuer, expected)
        : isSameSecret(issuer, expected)
  if (isExpected) return
  throw new OAuthProblem('oauth_token', `the response is from the issuer ${quote(issuer)}, not from ${quote(expected)}`)
}

/** Accepts any tenant, because the tenant is verified with the ID token. */
function isOfTenant(issuer: string, template: string): boolean {
  const [before = '', after = ''] = template.split('{tenantid}')
  const tenant = issuer.slice(before.length, issuer.length - after.length)
  return issuer === `${before}${tenant}${after}` && /^[0-9a-f-]{36}$/.test(tenant)
}

/**
 * Error codes for a sign-in that the user or the provider refused (RFC 6749 section 4.1.2.1, OIDC Core section
 * 3.1.2.6). LinkedIn and Apple have their own codes.
 */
const DENIED = [
  'access_denied',
  'consent_required',
  'interaction_required',
  'login_required',
  'account_selection_required',
  'user_cancelled_login',
  'user_cancelled_authorize',
]
/** Error codes for a failure within the provider, in any of its responses (RFC 6749 section 4.1.2.1). */
export const PROVIDER_DOWN = ['temporarily_unavailable', 'server_error']

function problemOfError(error: string, description: string | null, { title }: Provider): OAuthProblem {
  const said = `${title} returned the error ${quote(error)}${description === null ? '' : `: ${quote(description)}`}`
  if (DENIED.includes(error)) return new OAuthProblem('oauth_denied', said)
  if (PROVIDER_DOWN.includes(error)) return new OAuthProblem('oauth_provider', said, { detail: 'down' })
  return new OAuthProblem('oauth_configuration', said, { detail: 'refused' })
}
