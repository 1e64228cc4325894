import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { TestHost } from './host.ts'
import { addFlowsOfProvider, addSolutionOfProvider } from './oauth.ts'
import { startOAuthHost } from './oauth-host.ts'
import { type OidcProvider, startOidcProvider } from './oidc-provider.ts'
import { runFolder } from './run-folder.ts'

/** OAuth settings for a solution whose users stay signed in, which requires a refresh token. */
export const OFFLINE = { defaultScope: 'openid email profile offline_access', prompt: 'consent' }

export type SharedOAuthHost = {
  readonly host: Omit<TestHost, 'stop'>
  /** The provider that the test files share. They must not stop it. If they change accounts, they must restore them. */
  readonly provider: OidcProvider
  /** A second provider, at a different address. */
  readonly other: OidcProvider
}

let shared: Promise<SharedOAuthHost> | undefined

/**
 * Returns this worker's host for sign-ins with a provider (see `sharedHost`). The pages of its solution `flows` have a
 * query parameter `flow`, which selects one of `FLOWS`. Users of its solution `offline` stay signed in. Each use of a
 * remembered login sends a request to the provider.
 */
export function sharedOAuthHost(): Promise<SharedOAuthHost> {
  shared ??= start()
  return shared
}

async function start(): Promise<SharedOAuthHost> {
  const [provider, other] = [await startOidcProvider(), await startOidcProvider()]
  const home = mkdtempSync(join(runFolder(), 'home-'))
  const host = await startOAuthHost([provider, other], { REMEMBER_GRACE: '1ms', OAUTH_TIME: '30s' }, { home })
  await addFlowsOfProvider(host, provider, 'flows')
  await addSolutionOfProvider(host, provider, { name: 'offline', oauth: OFFLINE })
  return { host, provider, other }
}
