import type { Context } from 'koa'
import { DONE } from '../../base/api/route.ts'
import { solutionTarget } from '../../base/api/targets.ts'
import { stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import { providerForms } from '../../base/oauth/provider-settings.ts'
import { PartialOAuthForm, SECRET_PLACEHOLDER } from '../../runtime/bundle/manifest-schema.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { Warnings } from '../grants/api.ts'
import type { Secrets } from '../secrets/secrets.ts'
import type { Catalog } from '../solutions/catalog.ts'
import { findSolution } from '../solutions/find-solution.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { redirectUriOf } from './authorize.ts'
import { mergeSettings, placeOf } from './chosen-configuration.ts'
import type { OAuthSettingsStore, WrittenOAuthSettings } from './oauth-settings.ts'
import type { ProviderRequests } from './provider-requests.ts'
import type { SettingsTest } from './settings-test.ts'
import { warnOfOAuthSettings } from './settings-warnings.ts'

export type OAuthApiParts = {
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly secrets: Secrets
  readonly oauthSettings: OAuthSettingsStore
  readonly providerRequests: Pick<ProviderRequests, 'refusalOf'>
  readonly testOAuthSettings: SettingsTest
  readonly sites: Sites
}

/**
 * Settings may only contain the name of a secret. The secret itself would be stored in plain text, and the solution's
 * author could send it to any host.
 */
const OAuthSettingsForm = PartialOAuthForm.refine(
  ({ apiSecret }) => apiSecret === undefined || SECRET_PLACEHOLDER.test(apiSecret),
  {
    path: ['apiSecret'],
    error: 'must be "%%NAME%%", where NAME is the name of a secret that was set with PUT secrets/NAME',
  },
).meta({ id: 'OAuthSettingsForm' })

const OAuthSettings = z
  .object({ settings: OAuthSettingsForm.nullable() })
  .extend(Warnings.shape)
  .meta({ id: 'OAuthSettings' })

const OAuthTest = z
  .object({
    steps: z.array(
      z.object({
        step: z.enum(['settings', 'discovery', 'endpoints', 'keys', 'secret', 'clock']),
        result: z.enum(['ok', 'failed', 'skipped']),
        message: z.string().describe('the result as text, without secrets'),
      }),
    ),
    redirectAddress: z.string().describe('the redirect URI to register with the provider'),
  })
  .meta({ id: 'OAuthTest' })

const OAuthProvider = z
  .object({
    api: z.string(),
    title: z.string(),
    issuer: z.string().nullable(),
    settings: z.array(
      z.object({
        name: z.string(),
        title: z.string(),
        description: z.string(),
        required: z
          .enum(['yes', 'no', 'issuer'])
          .describe('whether the setting is required; `issuer`: required only if the setting `issuer` is not set'),
        default: z.string().nullable(),
        values: z.array(z.string()).nullable(),
      }),
    ),
  })
  .meta({ id: 'OAuthProvider' })

const RedirectAddress = z.object({ redirectAddress: z.string() }).meta({ id: 'RedirectAddress' })

type OfSolution = { readonly params: { readonly name: string } }

/** Routes for the operator's OAuth settings for a solution, which override those in its manifest. */
export function oauthRoutes(parts: OAuthApiParts): AdminRoute[] {
  const { store, catalog, secrets, oauthSettings, providerRequests, testOAuthSettings, sites } = parts
  const find = ({ params }: OfSolution) => findSolution(store, params.name)
  const names = ({ params: { name } }: OfSolution) => ({ solution: name, target: solutionTarget(name) })

  /**
   * Returns the redirect URI. It contains the solution's public URL, regardless of the port that received the request.
   */
  function redirectAddress(ctx: Context, name: string): string {
    const { client, site } = stateOf(ctx)
    const serverUrl = site === null ? sites.originForAdmin(name, client) : sites.originOf(name, client)
    return redirectUriOf({ serverUrl, solution: { name } })
  }

  /**
   * Returns the settings with warnings about errors that would prevent sign-ins. It sends no requests to the provider.
   */
  async function shown(name: string, settings: WrittenOAuthSettings | null) {
    const manifest = (await catalog.active(name))?.manifest ?? null
    const { refusalOf } = providerRequests
    const secretNames = (await secrets.list(name)).map((secret) => secret.name)
    const merged = mergeSettings(manifest?.oauth ?? null, settings ?? (await oauthSettings.inForce(name)))
    return { settings, warnings: warnOfOAuthSettings({ manifest, settings, merged, secretNames, refusalOf }) }
  }

  return [
    route(
      'GET /solutions/:name/oauth',
      {
        summary: 'Get the operator’s OAuth settings, with warnings about problems that would prevent sign-ins',
        right: 'solutions:{name}:read',
        before: find,
        answers: { 200: OAuthSettings },
      },
      async ({ params: { name } }) => shown(name, await oauthSettings.get(name)),
    ),
    route(
      'PUT /solutions/:name/oauth',
      {
        summary: 'Set OAuth settings; each overrides the setting with the same name in the manifest',
        // Tokens need the scope `admin`, because these settings determine where all of the solution's users sign in.
        // They also override the settings in the uploaded manifest.
        right: null,
        act: 'solution-oauth',
        names,
        before: find,
        body: OAuthSettingsForm,
        answers: { 200: OAuthSettings },
      },
      async ({ params: { name }, body }) => {
        await oauthSettings.put(name, body)
        return shown(name, body)
      },
    ),
    route(
      'DELETE /solutions/:name/oauth',
      {
        summary: 'Delete the OAuth settings; those in the manifest apply again',
        right: null,
        act: 'solution-oauth',
        names,
        before: find,
        answers: DONE,
      },
      async ({ params: { name } }) => {
        if (await oauthSettings.remove(name)) return
        throw new PlatformError('ERR_NOT_FOUND', `The operator has not set any OAuth settings for "${name}".`)
      },
    ),
    route(
      'GET /solutions/:name/oauth/redirect-address',
      {
        summary: 'Get the redirect URI to register with the provider',
        right: 'solutions:{name}:read',
        before: find,
        answers: { 200: RedirectAddress },
      },
      ({ params: { name }, ctx }) => ({ redirectAddress: redirectAddress(ctx, name) }),
    ),
    route(
      'POST /solutions/:name/oauth/test',
      {
        summary:
          'Test OAuth settings as far as possible without a sign-in. As with PUT, settings in the request body override those in the manifest. Without a request body, the current settings are tested',
        right: 'solutions:{name}:write',
        before: find,
        body: OAuthSettingsForm.nullable(),
        isBodyOptional: true,
        answers: { 200: OAuthTest },
      },
      async ({ params: { name }, body, ctx }) => {
        const settings = body ?? (await oauthSettings.inForce(name))
        const ofManifest = (await catalog.active(name))?.manifest.oauth ?? null
        const merged = mergeSettings(ofManifest, settings)
        const steps = await testOAuthSettings(name, merged, placeOf(ofManifest, settings))
        return { steps, redirectAddress: redirectAddress(ctx, name) }
      },
    ),
    route(
      'GET /oauth-providers',
      {
        summary: 'List the providers and the settings that each accepts',
        right: 'any',
        answers: { 200: z.object({ items: z.array(OAuthProvider) }) },
      },
      () => ({ items: providerForms() }),
    ),
  ]
}
