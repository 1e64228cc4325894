import type { Context } from 'koa'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import { oauthForm } from '../../base/oauth/page-fields.ts'
import { PROVIDER_GUIDES } from '../../base/oauth/provider-guides.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Secrets } from '../secrets/secrets.ts'
import type { Catalog } from '../solutions/catalog.ts'
import { type SolutionHeadParts, solutionOf } from '../solutions/page-head.ts'
import { redirectUriOf } from './authorize.ts'
import { mergeSettings } from './chosen-configuration.ts'
import type { OAuthSettingsStore } from './oauth-settings.ts'
import type { ProviderRequests } from './provider-requests.ts'
import { settingsInForce } from './settings-in-force.ts'
import { warnOfOAuthSettings } from './settings-warnings.ts'

export type OAuthPageParts = SolutionHeadParts & {
  readonly catalog: Catalog
  readonly secrets: Secrets
  readonly oauthSettings: OAuthSettingsStore
  readonly providerRequests: Pick<ProviderRequests, 'refusalOf'>
  readonly sites: Sites
}

/** The page for OAuth settings. It is a wizard that shows the operator's current settings. */
export function addOAuthPages(pages: PageRouter, parts: OAuthPageParts): void {
  const { catalog, secrets, oauthSettings, providerRequests, sites } = parts

  pages.get('/solutions/:name/oauth', async (ctx, text) => {
    const solution = await solutionOf(ctx, parts)
    const active = await catalog.active(solution.name)
    return {
      template: 'oauth',
      heading: `${text('admin.tab.oauth')} · ${solution.title}`,
      part: 'solutions',
      model: { solution, ...(active === null ? { mode: null } : await lookAt(ctx, active)) },
    }
  })

  async function lookAt(ctx: Context, { name, manifest }: ActiveSolution) {
    const settings = await oauthSettings.get(name)
    const listed = await secrets.list(name)
    const { refusalOf } = providerRequests
    const secretNames = listed.map((secret) => secret.name)
    const counting = await oauthSettings.inForce(name)
    const merged = mergeSettings(manifest.oauth, counting)
    return {
      mode: manifest.authenticator,
      hasOwn: settings !== null,
      addresses: addressesOf(sites.originForAdmin(name, stateOf(ctx).client), name),
      warnings: warnOfOAuthSettings({ manifest, settings, merged, secretNames, refusalOf }),
      inForce: settingsInForce(manifest.oauth, counting, refusalOf, settings === null ? 'control-center' : 'operator'),
      form: oauthForm(name, manifest.oauth, settings),
      guides: PROVIDER_GUIDES,
      secrets: listed,
    }
  }
}

/** The URLs to register with the provider (docs/oauth.md, "Register with the provider"). */
function addressesOf(serverUrl: string, name: string) {
  return {
    redirect: redirectUriOf({ serverUrl, solution: { name } }),
    signedOut: `${serverUrl}/solution/${name}/index.html?signed-out`,
    backchannel: `${serverUrl}/solution/${name}/backchannel-logout`,
  }
}
