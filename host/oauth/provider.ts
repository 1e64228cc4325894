import type { ClientAuthentication } from '../../base/oauth/providers.ts'

/**
 * A provider, as it is used for a sign-in. It is derived from the table of providers, the provider's discovery document
 * and the settings. All URLs are checked: they use https, or are listed in `OAUTH_ALLOWED_HOSTS`.
 */
export type Provider = {
  /** The provider's display name: `Google`, or the host name of a Custom provider. */
  readonly title: string
  /**
   * The exact `iss` of the provider's tokens. Null if the settings only specify endpoints: then `iss` must have the
   * origin of one of them (`issuerOrigins`).
   */
  readonly issuer: string | null
  readonly issuerOrigins: readonly string[]
  /**
   * Whether `issuer` contains `{tenantid}`, which is replaced with the token's `tid` (Microsoft's tenants `common` and
   * `organizations`).
   */
  readonly issuerHasTenant: boolean
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string | null
  readonly jwksUri: string | null
  readonly userInfoEndpoint: string | null
  readonly revocationEndpoint: string | null
  readonly endSessionEndpoint: string | null
  /** The algorithms allowed for the signatures of the provider's ID tokens: never a symmetric one, and never `none`. */
  readonly idTokenAlgorithms: readonly string[]
  readonly clientAuthentication: ClientAuthentication
  /** Whether the provider's authorization responses always contain `iss` (RFC 9207). */
  readonly sendsIssuer: boolean
  /** False for plain OAuth 2.0, where `userInfoEndpoint` returns the user (GitHub). */
  readonly hasIdToken: boolean
}

/** Verified claims about a user. The object has no prototype; `iss` and `sub` are always present. */
export type Claims = Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string }
