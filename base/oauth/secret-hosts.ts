import type { ProviderName } from './providers.ts'

/**
 * The hosts that a client secret is sent to, so that operators don't have to look them up (docs/oauth.md, "Providers").
 *
 * Each entry is a fixed host, or the setting that names the host (`domain` is a host name, the other settings are
 * URLs). The first entry that applies is used. `issuer` is a guess, because its discovery document may name another
 * host.
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
