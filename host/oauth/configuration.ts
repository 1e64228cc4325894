import {
  type ClientAuthentication,
  type OwnSetting,
  type OwnSettings,
  type Places,
  PROVIDERS,
  type ProviderName,
  type ProviderRow,
  type ResponseMode,
  type ResponseType,
} from '../../base/oauth/providers.ts'
import { isAllowedAddress } from '../../runtime/address.ts'
import { OAUTH_SETTING_NAMES, OAuthForm } from '../../runtime/bundle/manifest-schema.ts'
import { isJsonObject } from '../../runtime/json.ts'
import type { z } from '../../runtime/zod.ts'
import { OAuthProblem, quote } from './problems.ts'
import type { ProviderRequests } from './provider-requests.ts'

export type { ProviderName } from '../../base/oauth/providers.ts'

/**
 * The validated settings for a sign-in, with defaults from the table of providers. They are stored with the sign-in, so
 * that refreshing tokens and signing out don't need the query parameters again.
 */
export type OAuthConfiguration = {
  readonly api: ProviderName
  readonly clientId: string
  /**
   * The secret as written in the settings: `%%NAME%%` for a secret that the operator set, or the secret itself; null
   * for a client without a secret.
   */
  readonly apiSecret: string | null
  /** Apple's developer team and key. If set, `apiSecret` is a private key that signs the client secret. */
  readonly signedSecret: { readonly teamId: string; readonly keyId: string } | null
  /**
   * The exact value that `iss` must have. It is also used for discovery, unless the settings name all required
   * endpoints.
   */
  readonly issuer: string | null
  /**
   * Whether `issuer` is Microsoft's `common` or `organizations`. The discovery documents of these have the issuer
   * `…/{tenantid}/v2.0`.
   */
  readonly issuerHasTenant: boolean
  readonly authorizationEndpoint: string | null
  readonly tokenEndpoint: string | null
  /** By default, tokens are refreshed at `tokenEndpoint`, and revoked at the URL in the discovery document. */
  readonly refreshTokenEndpoint?: string
  readonly revokeTokenEndpoint?: string
  readonly jwksUri: string | null
  readonly userInfoEndpoint: string | null
  /** The values of `acr` with which the provider reports a second factor. */
  readonly secondFactorAcr?: readonly string[]
  readonly hasIdToken: boolean
  /** If null, the method is chosen from the discovery document, with `client_secret_basic` as the default. */
  readonly clientAuthentication: ClientAuthentication | null
  /** The requested scopes, separated by spaces. */
  readonly scope: string
  /** Null if the provider does not support PKCE. */
  readonly pkce: 'S256' | 'plain' | null
  readonly responseType: ResponseType
  readonly responseMode: ResponseMode
  readonly loginFailedUrl: string | null
  /** Additional parameters of the authorization request, as written. The object has no prototype. */
  readonly parameters: Readonly<Record<string, string>>
}

type Settings = z.infer<typeof OAuthForm>

/**
 * Objects with more settings than this are rejected without checking each one, because a script could return thousands.
 */
const MOST_SETTINGS = 60

const ADDRESSES = [
  'issuer',
  'authorizationBaseUrl',
  'accessTokenEndpoint',
  'refreshTokenEndpoint',
  'revokeTokenEndpoint',
  'jwks_uri',
  'userInfoEndpoint',
] as const satisfies readonly (keyof Settings)[]

/**
 * Checks the settings for a sign-in, and adds defaults from the table of providers. Null is treated as absent.
 * @param where the source of the settings, for error messages, such as `getOAuthConfig`
 * @throws OAuthProblem `oauth_configuration`. Its message contains `where` and the setting's name, but no value that
 *   could be secret
 */
export function checkConfiguration(
  settings: unknown,
  where: string,
  refusalOf: ProviderRequests['refusalOf'],
): OAuthConfiguration {
  const refuse = (what: string): never => {
    throw new OAuthProblem('oauth_configuration', `${where}: ${what}`)
  }
  const read = readSettings(settings, refuse)
  const row = PROVIDERS[read.api]
  const own = ownSettings(read, row, refuse)
  for (const name of ADDRESSES) {
    const refusal = read[name] === undefined ? null : refusalOf(read[name])
    if (refusal !== null) refuse(`"${name}" ${refusal}`)
  }
  const places = placesOf(read, row, own, refuse)
  for (const address of Object.values(places)) {
    const refusal = typeof address === 'string' ? refusalOf(address) : null
    if (refusal !== null) refuse(`the ${read.api} URL built from "${row.settings.join('" and "')}" ${refusal}`)
  }
  const responseType = responseTypeOf(read, row, refuse)
  const scope = scopeOf(read, row, refuse)
  const pkce = pkceOf(read, row, responseType, refuse)
  return {
    api: read.api,
    clientId: read.clientId,
    apiSecret: read.apiSecret ?? null,
    signedSecret: signedSecretOf(read, refuse),
    issuer: places.issuer,
    issuerHasTenant: places.issuerHasTenant ?? false,
    authorizationEndpoint: places.authorizationEndpoint ?? null,
    tokenEndpoint: places.tokenEndpoint ?? null,
    ...(read.refreshTokenEndpoint === undefined ? {} : { refreshTokenEndpoint: read.refreshTokenEndpoint }),
    ...(read.revokeTokenEndpoint === undefined ? {} : { revokeTokenEndpoint: read.revokeTokenEndpoint }),
    jwksUri: read.jwks_uri ?? null,
    userInfoEndpoint: places.userInfoEndpoint ?? null,
    ...(read.secondFactorAcr === undefined ? {} : { secondFactorAcr: read.secondFactorAcr.split(' ') }),
    hasIdToken: row.hasIdToken,
    clientAuthentication: clientAuthenticationOf(read, row, responseType, pkce, refuse),
    scope,
    pkce,
    responseType,
    responseMode: responseModeOf(read, row, responseType, scope, refuse),
    loginFailedUrl: loginFailedUrlOf(read.login_failed_url) ?? failedUrl(read, refuse),
    parameters: parametersOf(read),
  }
}

/** Returns `login_failed_url` if browsers may be sent there after a failed sign-in, otherwise null. */
export function loginFailedUrlOf(written: unknown): string | null {
  if (typeof written !== 'string' || !isAllowedAddress(written)) return null
  return /^(?:https?:\/\/|\/)/i.test(written) ? written : null
}

type Refuse = (what: string) => never

function readSettings(settings: unknown, refuse: Refuse): Settings {
  if (!isJsonObject(settings)) {
    return refuse(`the settings must be an object, not ${quote(settings)}`)
  }
  const written = Object.entries(settings).filter(([, value]) => value !== null && value !== undefined)
  if (written.length > MOST_SETTINGS)
    return refuse(`there are ${written.length} settings, but at most ${MOST_SETTINGS} are allowed`)
  const checked = OAuthForm.safeParse(Object.assign(Object.create(null), Object.fromEntries(written)))
  if (checked.success) return checked.data
  const [issue] = checked.error.issues
  const name = String(issue?.path[0] ?? '')
  if (issue === undefined || name === '') return refuse(`the settings ${issue?.message ?? 'are invalid'}`)
  if (!written.some(([key]) => key === name)) return refuse(`"${name}" is missing; it ${issue.message}`)
  return refuse(`${quote(name)} ${issue.message}`)
}

/** Rejects settings for other providers. They would have no effect, which the author can't have intended. */
function ownSettings(settings: Settings, { settings: known }: ProviderRow, refuse: Refuse): OwnSettings {
  const names: readonly OwnSetting[] = ['tenant', 'domain', 'teamId', 'keyId']
  const written = names.filter((name) => settings[name] !== undefined)
  const foreign = written.find((name) => !known.includes(name))
  if (foreign !== undefined) {
    const of = (Object.keys(PROVIDERS) as ProviderName[]).filter((api) => PROVIDERS[api].settings.includes(foreign))
    refuse(`"${foreign}" is a setting for ${of.join(' and ')}, not for ${settings.api}; remove it`)
  }
  return Object.fromEntries(written.map((name) => [name, settings[name]]))
}

/** Returns the provider's URLs. Settings override those in the table of providers. */
function placesOf(settings: Settings, row: ProviderRow, own: OwnSettings, refuse: Refuse): Places {
  const { issuer, authorizationBaseUrl, accessTokenEndpoint, userInfoEndpoint } = settings
  if (issuer !== undefined && own.tenant !== undefined) refuse('"issuer" already contains the tenant: remove "tenant"')
  const known = row.places(own)
  if (known === null && issuer === undefined) refuse(`${settings.api} requires ${row.needs}`)
  const places = {
    ...known,
    ...(issuer === undefined ? {} : { issuer, issuerHasTenant: false }),
    ...(authorizationBaseUrl === undefined ? {} : { authorizationEndpoint: authorizationBaseUrl }),
    ...(accessTokenEndpoint === undefined ? {} : { tokenEndpoint: accessTokenEndpoint }),
    ...(userInfoEndpoint === undefined ? {} : { userInfoEndpoint }),
  }
  if (places.issuer === undefined || places.issuer === null) needSingleEndpoints(settings, refuse)
  return { ...places, issuer: places.issuer ?? null }
}

function needSingleEndpoints(settings: Settings, refuse: Refuse): void {
  const needed = ['authorizationBaseUrl', 'jwks_uri', 'accessTokenEndpoint'] as const
  const missing = needed
    .filter((name) => name !== 'accessTokenEndpoint' || settings.response_type !== 'id_token')
    .filter((name) => settings[name] === undefined)
  if (missing.length > 0) refuse(`"issuer" is missing; set it, or set "${missing.join('", "')}"`)
}

function responseTypeOf(
  { api, response_type: type = 'code' }: Settings,
  row: ProviderRow,
  refuse: Refuse,
): ResponseType {
  return row.responseTypes.includes(type) ? type : refuse(`for ${api}, "response_type" must be "code"`)
}

/**
 * Returns the response mode. An ID token can't be in the query, because it would be stored in logs and browser
 * histories (OAuth 2.0 Multiple Response Type Encoding Practices, section 3). Apple sends the name and email only with
 * form_post.
 */
function responseModeOf(
  { api, response_mode: written }: Settings,
  { responseModes }: ProviderRow,
  type: ResponseType,
  scope: string,
  refuse: Refuse,
): ResponseMode {
  const needsForm = api === 'Apple' && /(?:^| )(?:name|email)(?: |$)/.test(scope)
  const usual = type === 'id_token' ? 'fragment' : 'query'
  const mode = written ?? (needsForm ? 'form_post' : usual)
  if (!responseModes.includes(mode)) refuse(`"response_mode" must be ${responseModes.join(' or ')} for ${api}`)
  if (type === 'id_token' && mode === 'query') {
    refuse('"response_mode" must be fragment or form_post if "response_type" is id_token')
  }
  if (needsForm && mode !== 'form_post')
    refuse('"response_mode" must be form_post if the scope contains name or email (Apple)')
  return mode
}

/** Returns the scope. Adds `openid`, because providers send no ID token without it (OpenID Connect Core 3.1.2.1). */
function scopeOf({ defaultScope }: Settings, row: ProviderRow, refuse: Refuse): string {
  const names = (defaultScope ?? row.scope).split(' ').filter((name) => name !== '')
  if (names.some((name) => !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(name))) {
    refuse('"defaultScope" must contain only printable ASCII characters except " and \\')
  }
  if (row.hasIdToken && !names.includes('openid')) names.unshift('openid')
  return [...new Set(names)].join(' ')
}

function pkceOf(
  { code_challenge_method: written }: Settings,
  row: ProviderRow,
  type: ResponseType,
  refuse: Refuse,
): OAuthConfiguration['pkce'] {
  if (type === 'code') return written ?? row.pkce
  if (written !== undefined) refuse('"code_challenge_method" cannot be used with the response_type id_token')
  return null
}

function signedSecretOf({ teamId, keyId, apiSecret }: Settings, refuse: Refuse): OAuthConfiguration['signedSecret'] {
  if (teamId === undefined && keyId === undefined) return null
  if (teamId === undefined || keyId === undefined || apiSecret === undefined) {
    return refuse('"teamId" and "keyId" must be set together, with the private key in "apiSecret"')
  }
  return { teamId, keyId }
}

/**
 * Returns the client authentication method. A client without a secret must use PKCE to prove that it requested the code
 * (RFC 9700, section 2.1.1).
 */
function clientAuthenticationOf(
  { api, apiSecret, token_endpoint_auth_method: written }: Settings,
  row: ProviderRow,
  type: ResponseType,
  pkce: OAuthConfiguration['pkce'],
  refuse: Refuse,
): ClientAuthentication | null {
  if (apiSecret !== undefined) {
    if (written === 'none') refuse('"token_endpoint_auth_method" must not be none if "apiSecret" is set')
    return written ?? row.clientAuthentication
  }
  if (written !== undefined && written !== 'none')
    refuse(`"token_endpoint_auth_method" ${written} requires "apiSecret"`)
  if (type === 'id_token') return 'none'
  if (row.needsSecret) refuse(`"apiSecret" is missing; ${api} requires it`)
  if (pkce !== 'S256') refuse('"apiSecret" is missing; it is optional only with the PKCE method S256')
  return 'none'
}

function failedUrl({ login_failed_url: written }: Settings, refuse: Refuse): null {
  return written === undefined
    ? null
    : refuse('"login_failed_url" must be an http or https URL without a username, or a path that starts with "/"')
}

function parametersOf(settings: Settings): Record<string, string> {
  const parameters = Object.create(null) as Record<string, string>
  for (const [name, value] of Object.entries(settings)) {
    if (!OAUTH_SETTING_NAMES.has(name)) parameters[name] = String(value)
  }
  return parameters
}
