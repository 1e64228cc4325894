import type { ProviderName } from './providers.ts'

/**
 * Where the secret of an application is sent, so that an operator need not look it up (docs/oauth.md, "Providers").
 *
 * In order: a host that is always the same, or the setting that says it (`domain` is one, the others are addresses). The
 * first setting that is written counts. With an issuer alone it is a guess: its discovery document may name another host.
 */
export const SECRET_HOSTS: Readonly<Record<ProviderName, readonly SecretHost[]>> = {
  Google: [{ host: 'oauth2.googleapis.com' }],
  Microsoft: [{ host: 'login.microsoftonline.com' }],
  Apple: [{ host: 'appleid.apple.com' }],
  Okta: [{ setting: 'domain' }, { setting: 'issuer' }],
  LinkedIn: [{ host: 'www.linkedin.com' }],
  GitHub: [{ setting: 'domain' }, { host: 'github.com' }],
  Custom: [{ setting: 'accessTokenEndpoint' }, { setting: 'issuer' }],
}

export type SecretHost = { readonly host: string } | { readonly setting: 'domain' | 'issuer' | 'accessTokenEndpoint' }
