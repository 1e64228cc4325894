import type { ProviderName } from './providers.ts'

/** A solution's URLs that are registered with a provider. */
export type RegisteredAddress = 'redirect' | 'signedOut' | 'backchannel'

export type ProviderGuide = {
  /** The provider's page for registering applications; null if each installation of the provider has its own page. */
  readonly console: { readonly name: string; readonly href: string } | null
  /**
   * One entry per step: the URL to enter in that step, or null if there is none. The steps' texts have the keys
   * `admin.oauth.guide.{api}.{n}`, numbered from 1.
   */
  readonly steps: readonly (RegisteredAddress | null)[]
}

/** How to register an application at each provider, as shown by the wizard. */
export const PROVIDER_GUIDES: Readonly<Record<ProviderName, ProviderGuide>> = {
  /** @see https://support.google.com/cloud/answer/15549257 */
  Google: {
    console: { name: 'Google Auth Platform', href: 'https://console.cloud.google.com/auth/clients' },
    steps: [null, null, 'redirect', null],
  },
  /**
   * The second URL is for `post_logout_redirect_uri`, which must be one of the redirect URIs.
   * @see https://learn.microsoft.com/entra/identity-platform/quickstart-register-app
   */
  Microsoft: {
    console: { name: 'Microsoft Entra admin center', href: 'https://entra.microsoft.com/' },
    steps: [null, null, 'redirect', 'signedOut', null],
  },
  /** @see https://developer.apple.com/documentation/signinwithapple/configuring-your-environment-for-sign-in-with-apple */
  Apple: {
    console: { name: 'Apple Developer', href: 'https://developer.apple.com/account/resources/identifiers/list' },
    steps: [null, null, 'redirect', null, null],
  },
  /** @see https://help.okta.com/oie/en-us/content/topics/apps/apps_app_integration_wizard_oidc.htm */
  Okta: {
    console: { name: 'Okta', href: 'https://login.okta.com/' },
    steps: [null, 'redirect', 'signedOut', null, null],
  },
  /** @see https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2 */
  LinkedIn: {
    console: { name: 'LinkedIn Developers', href: 'https://www.linkedin.com/developers/apps' },
    steps: [null, null, 'redirect', null],
  },
  /** @see https://docs.github.com/apps/oauth-apps/building-oauth-apps/creating-an-oauth-app */
  GitHub: {
    console: { name: 'GitHub', href: 'https://github.com/settings/developers' },
    steps: [null, 'redirect', null],
  },
  Custom: {
    console: null,
    steps: [null, 'redirect', 'signedOut', 'backchannel', null],
  },
}
