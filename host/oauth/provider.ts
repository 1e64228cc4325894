/** How the token endpoint learns which client asks (RFC 6749 section 2.3, OIDC Core section 9). */
export type ClientAuthentication = 'client_secret_basic' | 'client_secret_post' | 'none'

/**
 * A provider as one sign-in needs it: from the table of providers, its discovery document and the settings. Every address
 * was checked: https, or listed in `OAUTH_ALLOWED_HOSTS`.
 */
export type Provider = {
  /** What it is called in texts: `Google`, or the host name of a Custom one. */
  readonly title: string
  /**
   * The `iss` of its tokens, exactly. null where the settings name only single endpoints: then `iss` must be of the origin
   * of one of them (`issuerOrigins`).
   */
  readonly issuer: string | null
  readonly issuerOrigins: readonly string[]
  /**
   * Whether `issuer` holds `{tenantid}`, which stands for the token's `tid` (Microsoft's tenants `common`,
   * `organizations` and `consumers`).
   */
  readonly issuerHasTenant: boolean
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string | null
  readonly jwksUri: string | null
  readonly userInfoEndpoint: string | null
  readonly revocationEndpoint: string | null
  readonly endSessionEndpoint: string | null
  /** Algorithms that its ID tokens may be signed with; never a symmetric one, never `none`. */
  readonly idTokenAlgorithms: readonly string[]
  readonly clientAuthentication: ClientAuthentication
  /** Whether its answers always carry `iss` (RFC 9207). */
  readonly sendsIssuer: boolean
  /** false: OAuth 2.0 only; who signed in is asked at `userInfoEndpoint` (GitHub). */
  readonly hasIdToken: boolean
}

/** What is known of a user by checks that passed. Without prototype; `iss` and `sub` are always there. */
export type Claims = Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string }
