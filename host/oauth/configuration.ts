import type { ClientAuthentication } from './provider.ts'

export type ProviderName = 'Google' | 'Microsoft' | 'Apple' | 'Okta' | 'LinkedIn' | 'GitHub' | 'Custom'

/**
 * The settings of one sign-in (guide 2.3, design section 8), checked, with what the table of providers knows filled in.
 * Plain data: a transaction keeps it, so that refresh and logout do not need the query parameters again.
 */
export type OAuthConfiguration = {
  readonly api: ProviderName
  readonly clientId: string
  /** As written: `%%NAME%%`, a secret that the operator set, or the secret itself; null for a client without one. */
  readonly apiSecret: string | null
  /** Apple's developer team and key: with them `apiSecret` is a private key that signs the client's secret. */
  readonly signedSecret: { readonly teamId: string; readonly keyId: string } | null
  /** The exact `iss`, and where the provider is discovered unless the endpoints say all that is needed. */
  readonly issuer: string | null
  readonly issuerHasTenant: boolean
  readonly authorizationEndpoint: string | null
  readonly tokenEndpoint: string | null
  readonly jwksUri: string | null
  readonly userInfoEndpoint: string | null
  readonly hasIdToken: boolean
  /** null: what the discovery document offers, `client_secret_basic` unless it says otherwise. */
  readonly clientAuthentication: ClientAuthentication | null
  /** Separated by spaces. */
  readonly scope: string
  /** null: the provider takes no PKCE. */
  readonly pkce: 'S256' | 'plain' | null
  readonly responseType: 'code' | 'id_token'
  readonly responseMode: 'query' | 'form_post' | 'fragment'
  readonly loginFailedUrl: string | null
  /** Further parameters for the authorization request, as written. Without prototype. */
  readonly parameters: Readonly<Record<string, string>>
}
