import { startTestHost, type TestHost } from './host.ts'
import type { OidcProvider } from './oidc-provider.ts'

/** Starts a host that may send requests to these providers. Stores the OAuth client secret for all of its solutions. */
export async function startOAuthHost(
  providers: readonly Pick<OidcProvider, 'hostPort'>[],
  properties: Record<string, string> = {},
  options: { readonly home?: string } = {},
): Promise<TestHost> {
  const hosts = providers.map(({ hostPort }) => hostPort).join(',')
  return startTestHost({ OAUTH_ALLOWED_HOSTS: hosts, ...properties }, options)
}
