import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { solutionTarget } from '../../base/api/targets.ts'
import { readJson, readOptionalJson } from '../../base/http/read-body.ts'
import { stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../audit/audit.ts'
import { redirectUriOf } from '../oauth/authorize.ts'
import { mergeSettings, placeOf } from '../oauth/chosen-configuration.ts'
import type { OAuthSettingsStore, WrittenOAuthSettings } from '../oauth/oauth-settings.ts'
import type { ProviderRequests } from '../oauth/provider-requests.ts'
import { providerForms } from '../oauth/provider-settings.ts'
import type { SettingsTest } from '../oauth/settings-test.ts'
import { warnOfOAuthSettings } from '../oauth/settings-warnings.ts'
import type { Secrets } from '../secrets/secrets.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { OAuthSettingsForm } from './access-openapi.ts'
import { needScope } from './actor.ts'
import { audited } from './audited.ts'
import { findSolution } from './find-solution.ts'

export type OAuthApiParts = {
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly secrets: Secrets
  readonly oauthSettings: OAuthSettingsStore
  readonly providerRequests: Pick<ProviderRequests, 'refusalOf'>
  readonly testOAuthSettings: SettingsTest
  readonly sites: Sites
  readonly audit: Audit
  readonly limits: Limits
}

/** The operator's OAuth settings of a solution: they win over those in its manifest (design section 8). */
export function addOAuthRoutes(router: Router, parts: OAuthApiParts): void {
  const { store, catalog, secrets, oauthSettings, providerRequests, testOAuthSettings, sites, audit, limits } = parts
  const nameOf = (ctx: Context) => (ctx.params as { name: string }).name
  const named = (ctx: Context) => ({ solution: nameOf(ctx), target: solutionTarget(nameOf(ctx)) })

  router.get('/solutions/:name/oauth', async (ctx) => {
    needScope(ctx, `solutions:${nameOf(ctx)}`, 'read')
    const { name } = await findSolution(store, nameOf(ctx))
    ctx.body = await shown(name, await oauthSettings.get(name))
  })

  router.put('/solutions/:name/oauth', async (ctx) => {
    ctx.body = await audited(ctx, audit, 'solution-oauth', named(ctx), async () => {
      // No token: they say where all users of the solution sign in, over the head of whoever may upload it.
      needScope(ctx, null, 'write')
      const { name } = await findSolution(store, nameOf(ctx))
      const settings = readWith(OAuthSettingsForm, await readJson(ctx, limits))
      await oauthSettings.put(name, settings)
      return shown(name, settings)
    })
  })

  router.delete('/solutions/:name/oauth', async (ctx) => {
    await audited(ctx, audit, 'solution-oauth', named(ctx), async () => {
      needScope(ctx, null, 'write')
      const { name } = await findSolution(store, nameOf(ctx))
      if (await oauthSettings.remove(name)) return
      throw new PlatformError('ERR_NOT_FOUND', `The operator has set no OAuth settings for "${name}".`)
    })
    ctx.status = 204
  })

  router.get('/solutions/:name/oauth/redirect-address', async (ctx) => {
    needScope(ctx, `solutions:${nameOf(ctx)}`, 'read')
    const { name } = await findSolution(store, nameOf(ctx))
    ctx.body = { redirectAddress: redirectAddress(ctx, name) }
  })

  router.post('/solutions/:name/oauth/test', async (ctx) => {
    needScope(ctx, `solutions:${nameOf(ctx)}`, 'write')
    const { name } = await findSolution(store, nameOf(ctx))
    const sent = await readOptionalJson(ctx, limits)
    const settings = sent === null ? await oauthSettings.inForce(name) : readWith(OAuthSettingsForm, sent)
    const ofManifest = (await catalog.active(name))?.manifest.oauth ?? null
    const merged = mergeSettings(ofManifest, settings)
    const steps = await testOAuthSettings(name, merged, placeOf(ofManifest, settings))
    ctx.body = { steps, redirectAddress: redirectAddress(ctx, name) }
  })

  router.get('/oauth-providers', (ctx) => {
    ctx.body = { items: providerForms() }
  })

  /** As users of the solution see its address, whichever port is asked. */
  function redirectAddress(ctx: Context, name: string): string {
    const { client, site } = stateOf(ctx)
    const serverUrl = site === null ? sites.originForAdmin(name, client) : sites.originOf(name, client)
    return redirectUriOf({ serverUrl, solution: { name } })
  }

  /** With what would keep people from signing in, as far as that can be told without asking the provider. */
  async function shown(name: string, settings: WrittenOAuthSettings | null) {
    const manifest = (await catalog.active(name))?.manifest ?? null
    const { refusalOf } = providerRequests
    const secretNames = (await secrets.list(name)).map((secret) => secret.name)
    const merged = mergeSettings(manifest?.oauth ?? null, settings ?? (await oauthSettings.inForce(name)))
    return { settings, warnings: warnOfOAuthSettings({ manifest, settings, merged, secretNames, refusalOf }) }
  }
}
