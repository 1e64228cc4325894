import type { ClientAuthentication } from '../../base/oauth/providers.ts'
import { ALGORITHMS } from './algorithms.ts'
import type { OAuthConfiguration } from './configuration.ts'
import {
  type DiscoveryDocument,
  discoveryAddress,
  issuerOf,
  issuerOfTokens,
  readDiscoveryDocument,
} from './discovery-document.ts'
import { OAuthProblem, quote } from './problems.ts'
import type { Provider } from './provider.ts'
import type { ProviderRequests } from './provider-requests.ts'
import { createRecentlyUsed } from './recently-used.ts'

/** Finds the endpoints and capabilities of a configuration's provider. */
export interface ProviderFinder {
  /**
   * Fetches the discovery document only if the settings do not name all endpoints that a sign-in needs. Concurrent
   * callers share one request. A document that fails a check is not cached, so the next sign-in fetches it again.
   * @throws OAuthProblem `oauth_provider` if the document is unavailable or invalid; `oauth_configuration` if the
   *   settings are incomplete
   */
  find(solution: string, configuration: OAuthConfiguration): Promise<Provider>
}

/** How long a discovery document is cached, in ms. */
const BELIEVED = 10 * 60_000
/** Maximum number of cached documents, for all solutions together. */
const MOST_DOCUMENTS = 200

/** The endpoints in a configuration, each with the setting's name and the key in the discovery document. */
const ENDPOINTS = {
  authorizationEndpoint: { setting: 'authorizationBaseUrl', discovered: 'authorization_endpoint' },
  tokenEndpoint: { setting: 'accessTokenEndpoint', discovered: 'token_endpoint' },
  jwksUri: { setting: 'jwks_uri', discovered: 'jwks_uri' },
  userInfoEndpoint: { setting: 'userInfoEndpoint', discovered: 'userinfo_endpoint' },
} as const satisfies Record<string, { readonly setting: string; readonly discovered: keyof DiscoveryDocument }>

type Endpoint = keyof typeof ENDPOINTS
type Held = { readonly document: Promise<DiscoveryDocument>; readonly since: number }
type WithIssuer = OAuthConfiguration & { readonly issuer: string }

/** @param now returns the current time in epoch milliseconds */
export function createProviderFinder(
  requests: Pick<ProviderRequests, 'refusalOf' | 'getJson'>,
  now: () => number = Date.now,
): ProviderFinder {
  const held = createRecentlyUsed<Held>(MOST_DOCUMENTS)

  function documentOf(id: string, issuer: string): Held {
    const found = held.get(id)
    if (found !== undefined && now() >= found.since && now() - found.since < BELIEVED) return found
    const asked = { document: readDocument(issuer), since: now() }
    held.set(id, asked)
    return asked
  }

  async function readDocument(issuer: string): Promise<DiscoveryDocument> {
    const refusal = requests.refusalOf(issuer)
    if (refusal !== null) throw new OAuthProblem('oauth_configuration', `"issuer" ${refusal}`)
    if (issuer.includes('?')) throw new OAuthProblem('oauth_configuration', '"issuer" must not have a query string')
    return readDiscoveryDocument(await requests.getJson(discoveryAddress(issuer)), new URL(issuer).host)
  }

  async function discover(solution: string, configuration: WithIssuer): Promise<Provider> {
    const id = JSON.stringify([solution, configuration.issuer])
    const asked = documentOf(id, configuration.issuer)
    try {
      return providerOf(configuration, await asked.document, requests.refusalOf)
    } catch (error) {
      if (held.get(id) === asked) held.delete(id)
      throw error
    }
  }

  return {
    async find(solution, configuration) {
      const missing = needed(configuration).filter((endpoint) => configuration[endpoint] === null)
      if (missing.length === 0) return providerOf(configuration, null, requests.refusalOf)
      if (hasIssuer(configuration)) return discover(solution, configuration)
      const settings = missing.map((endpoint) => `"${ENDPOINTS[endpoint].setting}"`).join(', ')
      throw new OAuthProblem('oauth_configuration', `"issuer" is missing; set it, or set ${settings}`)
    },
  }
}

/** Returns the endpoints that a sign-in needs. */
function needed({ responseType, hasIdToken }: OAuthConfiguration): readonly Endpoint[] {
  const knowsUserBy = hasIdToken ? 'jwksUri' : 'userInfoEndpoint'
  return ['authorizationEndpoint', ...(responseType === 'code' ? (['tokenEndpoint'] as const) : []), knowsUserBy]
}

function hasIssuer(configuration: OAuthConfiguration): configuration is WithIssuer {
  return configuration.issuer !== null
}

/** @param document null if it was not fetched */
function providerOf(
  configuration: OAuthConfiguration,
  document: DiscoveryDocument | null,
  refusalOf: ProviderRequests['refusalOf'],
): Provider {
  const required = needed(configuration)

  /**
   * Returns an endpoint's URL. The settings override the discovery document.
   * @returns null if the URL is missing or invalid, and not required
   */
  function endpoint(name: Endpoint): string | null {
    const { setting, discovered } = ENDPOINTS[name]
    const set = configuration[name]
    if (set !== null) {
      const refusal = refusalOf(set)
      if (refusal === null) return set
      throw new OAuthProblem('oauth_configuration', `"${setting}" ${refusal}`)
    }
    const address = document?.[discovered]
    const refusal = address === undefined ? 'is missing' : refusalOf(address)
    if (address !== undefined && refusal === null) return address
    if (!required.includes(name)) return null
    throw new OAuthProblem('oauth_provider', `the discovery document is invalid: "${discovered}" ${refusal}`)
  }

  function optional(discovered: 'revocation_endpoint' | 'end_session_endpoint'): string | null {
    const address = document?.[discovered]
    return address !== undefined && refusalOf(address) === null ? address : null
  }

  const issuer = issuerFor(configuration, document)
  const endpoints = {
    authorizationEndpoint: endpoint('authorizationEndpoint') as string,
    tokenEndpoint: endpoint('tokenEndpoint'),
    jwksUri: endpoint('jwksUri'),
    userInfoEndpoint: endpoint('userInfoEndpoint'),
  }
  const { authorizationEndpoint, tokenEndpoint, jwksUri } = endpoints
  const places = [authorizationEndpoint, tokenEndpoint, jwksUri].filter((address) => address !== null)
  return {
    title: titleOf(configuration, authorizationEndpoint),
    issuer,
    issuerHasTenant: issuer !== null && configuration.issuerHasTenant,
    issuerOrigins: issuer === null ? [...new Set(places.map((address) => new URL(address).origin))] : [],
    ...endpoints,
    revocationEndpoint: configuration.revokeTokenEndpoint ?? optional('revocation_endpoint'),
    endSessionEndpoint: optional('end_session_endpoint'),
    idTokenAlgorithms: algorithmsOf(configuration, document),
    clientAuthentication: authenticationOf(configuration, document),
    sendsIssuer: document?.authorization_response_iss_parameter_supported === true,
    hasIdToken: configuration.hasIdToken,
  }
}

function issuerFor(configuration: OAuthConfiguration, document: DiscoveryDocument | null): string | null {
  if (!hasIssuer(configuration)) return null
  return document === null ? issuerOfTokens(configuration) : issuerOf(configuration, document.issuer)
}

function titleOf({ api, issuer }: OAuthConfiguration, authorizationEndpoint: string): string {
  const named = URL.parse(issuer ?? authorizationEndpoint) ?? new URL(authorizationEndpoint)
  return api === 'Custom' ? named.host : api
}

function algorithmsOf({ hasIdToken }: OAuthConfiguration, document: DiscoveryDocument | null): readonly string[] {
  const offered = document?.id_token_signing_alg_values_supported
  const ours = Object.keys(ALGORITHMS)
  const both = offered ? ours.filter((name) => offered.includes(name)) : ours
  if (both.length > 0 || !hasIdToken) return both
  const came = quote(offered?.join(' '))
  throw new OAuthProblem(
    'oauth_provider',
    `the provider signs ID tokens with ${came}, but only these algorithms are supported: ${ours.join(' ')}`,
  )
}

/** If the provider lists no methods, `client_secret_basic` is the default (OIDC Core section 9). */
function authenticationOf(
  { apiSecret, clientAuthentication }: OAuthConfiguration,
  document: DiscoveryDocument | null,
): ClientAuthentication {
  if (apiSecret === null) return 'none'
  if (clientAuthentication !== null) return clientAuthentication
  const offered = document?.token_endpoint_auth_methods_supported
  return !offered || offered.includes('client_secret_basic') ? 'client_secret_basic' : 'client_secret_post'
}
