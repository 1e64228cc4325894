import * as client from 'openid-client'
import { isJsonObject, parsedJson } from '../../runtime/json.ts'
import { PROVIDER_DOWN } from './authorization-response.ts'
import type { OAuthConfiguration } from './configuration.ts'
import { OAuthProblem, type OAuthProblemCode, quote } from './problems.ts'
import type { Provider } from './provider.ts'
import type { ProviderRequests } from './provider-requests.ts'

/** The token endpoint's response. The ID token is not verified yet. */
export type Tokens = {
  readonly accessToken: string
  readonly idToken: string | null
  readonly refreshToken: string | null
}

/** A client's registration at a provider, with its secret. */
export type Registration = {
  readonly provider: Provider
  readonly configuration: OAuthConfiguration
  readonly secret: string | null
}

export type CodeExchange = {
  readonly code: string
  readonly redirectUri: string
  readonly verifier: string | null
}

/** Requests that contain a client's secret or a user's token. All throw `OAuthProblem`. */
export interface TokenRequests {
  exchangeCode(registration: Registration, exchange: CodeExchange): Promise<Tokens>
  /** @returns null if the provider reports that the refresh token is no longer valid */
  refresh(registration: Registration, refreshToken: string): Promise<Tokens | null>
  revoke(registration: Registration, token: string): Promise<void>
  /** The OpenID Connect UserInfo response. Its `sub` must be `subject`. */
  readUserInfo(registration: Registration, accessToken: string, subject: string): Promise<Record<string, unknown>>
  /** Requests JSON with the access token, for providers that have their own API. */
  readProfile(registration: Registration, accessToken: string, address: string): Promise<unknown>
}

/**
 * Maximum length of a refresh token, in characters. One is stored for each sign-in. Providers use up to about 2,000
 * characters.
 */
const LONGEST_REFRESH_TOKEN = 16 * 1024

export function createTokenRequests(requests: ProviderRequests): TokenRequests {
  /**
   * Removes the ID token from the token endpoint's responses before openid-client parses them. `checkIdToken` does all
   * checks in every flow, whereas openid-client by default skips the signature and other checks.
   */
  function clientFor({ provider, configuration, secret }: Registration) {
    let idToken: string | null = null
    const server: client.ServerMetadata = {
      issuer: provider.issuer ?? provider.authorizationEndpoint,
      authorization_endpoint: provider.authorizationEndpoint,
      ...(provider.tokenEndpoint === null ? {} : { token_endpoint: provider.tokenEndpoint }),
      ...(provider.userInfoEndpoint === null ? {} : { userinfo_endpoint: provider.userInfoEndpoint }),
      ...(provider.revocationEndpoint === null ? {} : { revocation_endpoint: provider.revocationEndpoint }),
    }
    const config = new client.Configuration(server, configuration.clientId, {}, authentication(provider, secret))
    // `ProviderRequests` determines which URLs may be requested without TLS.
    client.allowInsecureRequests(config)
    config.timeout = 0
    config[client.customFetch] = async (address, options) => {
      const response = await requests.fetch(address, options)
      if (!isSameAddress(address, provider.tokenEndpoint) || response.status !== 200) return response
      const taken = await withoutIdToken(response)
      idToken = taken.idToken
      return taken.response
    }
    return { config, idTokenOf: () => idToken }
  }

  /** @param unusable the code of the problem if the response is well-formed but can't be used */
  async function tokensOf(
    registration: Registration,
    ask: (config: client.Configuration) => Promise<client.TokenEndpointResponse>,
    unusable: OAuthProblemCode,
  ): Promise<Tokens> {
    const { config, idTokenOf } = clientFor(registration)
    const answer = await ask(config)
    const fault = faultOf(answer)
    if (fault !== null) throw new OAuthProblem(unusable, fault)
    const { access_token: accessToken, refresh_token: refreshToken = null } = answer
    return { accessToken, refreshToken, idToken: idTokenOf() }
  }

  return {
    exchangeCode(registration, { code, redirectUri, verifier }) {
      const returned = new URL(redirectUri)
      returned.searchParams.set('code', code)
      return withProblems(registration, () =>
        tokensOf(
          registration,
          (config) =>
            client.authorizationCodeGrant(config, returned, verifier === null ? {} : { pkceCodeVerifier: verifier }),
          'oauth_provider',
        ),
      )
    },
    async refresh(registration, refreshToken) {
      try {
        // A retry would fail too, so report `oauth_token`: it ends the login, and the user can sign in again.
        return await tokensOf(registration, (config) => client.refreshTokenGrant(config, refreshToken), 'oauth_token')
      } catch (error) {
        if (error instanceof client.ResponseBodyError && REFRESH_REFUSED.includes(error.error)) return null
        throw problemOf(registration, error)
      }
    },
    revoke: (registration, token) =>
      withProblems(registration, () => client.tokenRevocation(clientFor(registration).config, token)),
    readUserInfo: (registration, accessToken, subject) =>
      withProblems(registration, () => client.fetchUserInfo(clientFor(registration).config, accessToken, subject)),
    readProfile: (registration, accessToken, address) =>
      withProblems(registration, async () => {
        const { config } = clientFor(registration)
        const response = await client.fetchProtectedResource(config, accessToken, new URL(address), 'GET')
        if (response.status !== 200) {
          throw new OAuthProblem('oauth_provider', `${new URL(address).host} returned HTTP ${response.status}, not 200`)
        }
        return response.json() as Promise<unknown>
      }),
  }
}

/** openid-client passes URLs as normalised by the URL parser, for example without the default port. */
function isSameAddress(address: string, other: string | null): boolean {
  return other !== null && new URL(address).href === new URL(other).href
}

/** @returns why the tokens can't be used, or null */
function faultOf({ token_type: type, access_token: token, refresh_token: refresh = '' }: client.TokenEndpointResponse) {
  // openid-client also accepts DPoP (RFC 9449), but providers reject DPoP tokens that are sent as bearer tokens.
  if (type.toLowerCase() !== 'bearer') return `the tokens have the type ${quote(type)}, not Bearer`
  if (NOT_IN_HEADERS.test(token)) return 'the access token has characters that are not allowed in a header'
  return refresh.length > LONGEST_REFRESH_TOKEN
    ? `the refresh token has ${refresh.length} characters, but at most ${LONGEST_REFRESH_TOKEN} are allowed`
    : null
}

/** Characters that are not allowed in a header (RFC 9110 section 5.5). */
const NOT_IN_HEADERS = /[^\t\x20-\x7e\x80-\xff]/

function authentication({ clientAuthentication }: Provider, secret: string | null): client.ClientAuth {
  if (secret === null || clientAuthentication === 'none') return client.None()
  return clientAuthentication === 'client_secret_post' ? client.ClientSecretPost(secret) : basic(secret)
}

/**
 * Basic authentication, with the client id and secret form-encoded (RFC 6749 section 2.3.1). openid-client also escapes
 * "-", "_" and ".". Providers that don't decode the secret (Glewlwyd) would then reject it.
 */
function basic(secret: string): client.ClientAuth {
  const encoded = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
  return (_server, { client_id }, _body, headers) => {
    const pair = Buffer.from(`${encoded(client_id)}:${encoded(secret)}`).toString('base64')
    headers.set('authorization', `Basic ${pair}`)
  }
}

/** Pass on a response that is not a JSON object unchanged, so that openid-client reports the error. */
async function withoutIdToken(response: Response): Promise<{ response: Response; idToken: string | null }> {
  const text = await response.text()
  const { status, headers } = response
  const json = parsedJson(text)
  const parsed = isJsonObject(json) ? json : null
  // GitHub sends errors with status 200, contrary to RFC 6749 section 5.2.
  if (typeof parsed?.error === 'string')
    return { response: new Response(text, { status: 400, headers }), idToken: null }
  if (parsed === null || !Object.hasOwn(parsed, 'id_token')) {
    return { response: new Response(text, { status, headers }), idToken: null }
  }
  const { id_token: idToken, ...rest } = parsed
  if (typeof idToken !== 'string') {
    throw new OAuthProblem(
      'oauth_provider',
      `the "id_token" from the token endpoint must be a string (received: ${quote(idToken)})`,
    )
  }
  return { response: new Response(JSON.stringify(rest), { status, headers }), idToken }
}

async function withProblems<T>(registration: Registration, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw problemOf(registration, error)
  }
}

/** Error codes from RFC 6749 section 5.2, and GitHub's own codes. */
const REFRESH_REFUSED = ['invalid_grant', 'bad_refresh_token']

/** Errors in the client's registration, which the operator fixes in the settings (RFC 6749 section 5.2). */
const REGISTRATION_ERRORS = [
  'invalid_client',
  'incorrect_client_credentials',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]

function problemOf({ provider: { title } }: Registration, error: unknown): OAuthProblem {
  const own = ownProblem(error)
  if (own !== null) return own
  if (error instanceof client.ResponseBodyError) {
    const { status, error: code, error_description: text } = error
    const said = `${title} returned the error ${quote(code)}${text === undefined ? '' : `: ${quote(text)}`}`
    if (status >= 500 || PROVIDER_DOWN.includes(code))
      return new OAuthProblem('oauth_provider', said, { detail: 'down' })
    if (REGISTRATION_ERRORS.includes(code)) return new OAuthProblem('oauth_configuration', said, { detail: 'refused' })
    return new OAuthProblem('oauth_token', said)
  }
  if (error instanceof client.WWWAuthenticateChallengeError) {
    return new OAuthProblem(
      'oauth_configuration',
      `${title} returned HTTP ${error.status}: it rejected the client or the token`,
      { detail: 'refused' },
    )
  }
  if (error instanceof client.ClientError) {
    const isSubject = error.code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'
    if (isSubject)
      return new OAuthProblem('oauth_token', `the user info and the ID token from ${title} are for different users`)
    return new OAuthProblem('oauth_provider', `the OAuth response from ${title} is invalid: ${reasonOf(error)}`)
  }
  throw error
}

/** openid-client throws its own error, with the error of `fetch` as its `cause`. */
function ownProblem(error: unknown): OAuthProblem | null {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) {
    if (one instanceof OAuthProblem) return one
  }
  return null
}

const THEIR_ERRORS = ['OperationProcessingError', 'UnsupportedOperationError']

/** Quote only messages of openid-client and oauth4webapi: a parser's message would quote the response. */
function reasonOf(error: Error): string {
  const { cause } = error
  const status = cause instanceof Response ? ` (status ${cause.status})` : ''
  const isTheirs = cause instanceof Error && THEIR_ERRORS.includes(cause.name) && cause.message !== error.message
  const inner = isTheirs ? `: ${cause.message.slice(0, 200)}` : ''
  return `${error.message.slice(0, 200)}${status}${inner}`
}
