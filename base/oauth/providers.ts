/** How a client authenticates at the token endpoint (RFC 6749 section 2.3, OIDC Core section 9). */
export type ClientAuthentication = 'client_secret_basic' | 'client_secret_post' | 'none'

export type ProviderName = 'Google' | 'Microsoft' | 'Apple' | 'Okta' | 'LinkedIn' | 'GitHub' | 'Custom'

/** Settings that only some providers have. */
export type OwnSetting = 'tenant' | 'domain' | 'teamId' | 'keyId'
export type OwnSettings = Readonly<Partial<Record<OwnSetting, string>>>

/** A provider's URLs. If one is missing, the provider's discovery document is used. */
export type Places = {
  readonly issuer: string | null
  readonly issuerHasTenant?: boolean
  readonly authorizationEndpoint?: string
  readonly tokenEndpoint?: string
  readonly userInfoEndpoint?: string
}

export type ResponseType = 'code' | 'id_token'
export type ResponseMode = 'query' | 'form_post' | 'fragment'

/** A provider's defaults, which a solution's settings override. */
export type ProviderRow = {
  /** The provider's display name. If null, its host name is shown. */
  readonly title: string | null
  /** The settings that `places` accepts. */
  readonly settings: readonly OwnSetting[]
  /** Returns null if a required setting is missing. `needs` lists those settings. */
  readonly places: (settings: OwnSettings) => Places | null
  /** Names the required settings, for an error message that begins with `{provider} needs`. */
  readonly needs: string
  readonly scope: string
  readonly pkce: 'S256' | null
  /**
   * Whether the provider's ID tokens contain the request's `nonce`. If not, only `state` binds a response to a request.
   */
  readonly sendsNonce: boolean
  readonly responseTypes: readonly ResponseType[]
  readonly responseModes: readonly ResponseMode[]
  /** Whether all server-side clients of the provider have a secret. */
  readonly needsSecret: boolean
  /**
   * How clients authenticate at the token endpoint. If null, the method is chosen from the provider's discovery
   * document.
   */
  readonly clientAuthentication: ClientAuthentication | null
  /** Whether the provider sends ID tokens. If not, the user's identity is read from `userInfoEndpoint`. */
  readonly hasIdToken: boolean
}

const OPENID: Pick<
  ProviderRow,
  'settings' | 'needs' | 'scope' | 'pkce' | 'sendsNonce' | 'responseTypes' | 'responseModes' | 'hasIdToken'
> = {
  settings: [],
  needs: '',
  scope: 'openid email profile',
  pkce: 'S256',
  sendsNonce: true,
  responseTypes: ['code', 'id_token'],
  responseModes: ['query', 'form_post', 'fragment'],
  hasIdToken: true,
}

export const PROVIDERS: Readonly<Record<ProviderName, ProviderRow>> = {
  /** @see https://accounts.google.com/.well-known/openid-configuration */
  Google: {
    ...OPENID,
    title: 'Google',
    places: () => ({ issuer: 'https://accounts.google.com' }),
    needsSecret: true,
    clientAuthentication: null,
  },
  /** @see https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc */
  Microsoft: {
    ...OPENID,
    title: 'Microsoft',
    settings: ['tenant'],
    places: ({ tenant = 'common' }) => microsoftPlaces(tenant.toLowerCase()),
    needsSecret: false,
    clientAuthentication: null,
  },
  /**
   * Apple sends the name and email only with form_post. The name is sent only at the first sign-in, in the form field
   * `user`.
   * @see
   * https://developer.apple.com/documentation/signinwithapplerestapi/request-an-authorization-to-the-sign-in-with-apple-server.
   */
  Apple: {
    ...OPENID,
    title: 'Apple',
    settings: ['teamId', 'keyId'],
    places: () => ({ issuer: 'https://appleid.apple.com' }),
    scope: 'openid email name',
    responseTypes: ['code'],
    needsSecret: true,
    clientAuthentication: 'client_secret_post',
  },
  /**
   * The organisation's authorization server. `issuer` can name a custom one, such as `https://{domain}/oauth2/default`.
   */
  Okta: {
    ...OPENID,
    title: 'Okta',
    settings: ['domain'],
    places: ({ domain }) => (domain === undefined ? null : { issuer: `https://${domain}` }),
    needs: '"domain", or "issuer" for a custom authorization server',
    needsSecret: false,
    clientAuthentication: null,
  },
  /**
   * LinkedIn rejects `code_verifier` unless it has enabled PKCE for the application. It puts no `nonce` into ID tokens.
   * It accepts the client secret only in the form body, but its discovery document does not mention this.
   * @see https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2
   */
  LinkedIn: {
    ...OPENID,
    title: 'LinkedIn',
    places: () => ({ issuer: 'https://www.linkedin.com/oauth' }),
    pkce: null,
    sendsNonce: false,
    responseTypes: ['code'],
    responseModes: ['query'],
    needsSecret: true,
    clientAuthentication: 'client_secret_post',
  },
  /**
   * GitHub supports OAuth 2.0 only. Since 2026, its responses have `iss` (RFC 9207): `https://github.com/login/oauth`.
   * @see https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
   */
  GitHub: {
    ...OPENID,
    title: 'GitHub',
    settings: ['domain'],
    places: ({ domain = 'github.com' }) => githubPlaces(domain.toLowerCase()),
    scope: 'read:user user:email',
    sendsNonce: false,
    responseTypes: ['code'],
    responseModes: ['query'],
    needsSecret: true,
    clientAuthentication: 'client_secret_post',
    hasIdToken: false,
  },
  Custom: {
    ...OPENID,
    title: null,
    places: () => ({ issuer: null }),
    needsSecret: false,
    clientAuthentication: null,
  },
}

/**
 * The tenant for all personal accounts. `consumers` is an alias for it, but the discovery document's issuer contains
 * this GUID.
 */
const PERSONAL_ACCOUNTS = '9188040d-6c67-4c5b-b112-36a304b66dad'

function microsoftPlaces(tenant: string): Places {
  const named = tenant === 'consumers' ? PERSONAL_ACCOUNTS : tenant
  return {
    issuer: `https://login.microsoftonline.com/${named}/v2.0`,
    issuerHasTenant: named === 'common' || named === 'organizations',
  }
}

/**
 * GitHub Enterprise Server has its API under a path. On github.com and Enterprise Cloud (`*.ghe.com`), the API has its
 * own host name.
 */
function githubPlaces(domain: string): Places {
  const hasApiHost = domain === 'github.com' || domain.endsWith('.ghe.com')
  const api = hasApiHost ? `https://api.${domain}` : `https://${domain}/api/v3`
  const issuer = `https://${domain}/login/oauth`
  return {
    issuer,
    authorizationEndpoint: `${issuer}/authorize`,
    tokenEndpoint: `${issuer}/access_token`,
    userInfoEndpoint: `${api}/user`,
  }
}
