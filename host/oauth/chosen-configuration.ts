import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { Asking } from '../login/arrival.ts'
import { queryParams } from '../login/query-params.ts'
import { secretFields } from '../solutions/redact.ts'
import type { EntryRunner } from '../solutions/run-entry.ts'
import type { AnonymousLines } from './anonymous-lines.ts'
import { checkConfiguration, loginFailedUrlOf, type OAuthConfiguration } from './configuration.ts'
import type { OAuthSettingsStore, WrittenOAuthSettings } from './oauth-settings.ts'
import { OAuthProblem, problemOfFailure } from './problems.ts'
import type { ProviderRequests } from './provider-requests.ts'

/** Says which settings count for a sign-in. */
export interface ConfigurationChooser {
  /**
   * OAUTH: those of the manifest, with the operator's over them. OAUTH_AUTHENTICATOR: what `getOAuthConfig` returns for the
   * query parameters of the address.
   * @throws OAuthProblem `oauth_configuration`, `oauth_script` or `oauth_busy`
   */
  choose(asking: Asking): Promise<OAuthConfiguration>
  /** Where the browser goes when a sign-in failed before it had a configuration, by `login_failed_url`; else null. */
  fallbackOf(solution: ActiveSolution): Promise<string | null>
}

export type ConfigurationChooserParts = {
  /** Those that count over the manifest's. */
  readonly settings: Pick<OAuthSettingsStore, 'get'>
  readonly runEntry: EntryRunner
  readonly refusalOf: ProviderRequests['refusalOf']
  readonly writeLine: AnonymousLines
}

export function createConfigurationChooser({
  settings,
  runEntry,
  refusalOf,
  writeLine,
}: ConfigurationChooserParts): ConfigurationChooser {
  async function fromSettings(solution: ActiveSolution): Promise<OAuthConfiguration> {
    const ofOperator = await settings.get(solution.name)
    const merged = mergeSettings(solution.manifest.oauth, ofOperator)
    if (merged !== null) return checkConfiguration(merged, placeOf(solution.manifest.oauth, ofOperator), refusalOf)
    const message = 'there are no OAuth settings: neither "oauth" in solution.json nor settings of the operator'
    throw new OAuthProblem('oauth_configuration', message)
  }

  /**
   * Chosen here: what the script returns is the whole configuration. Neither the manifest nor the operator's settings complete
   * it, since a half of one provider's and a half of another's would sign in nobody, or somebody else.
   */
  async function fromScript(asking: Asking): Promise<OAuthConfiguration> {
    const { solution, locale, url, correlationId, serverUrl, address } = asking
    const isInAuthenticator = solution.entries.authenticator?.includes('getOAuthConfig') === true
    const { failure, values, hasValues } = await runEntry(solution, {
      unit: isInAuthenticator ? 'authenticator' : 'configuration',
      entry: 'getOAuthConfig',
      args: [queryParams(url)],
      secrets: secretFields(url),
      call: { kind: 'configuration', correlationId, user: null, account: null, address, locale, serverUrl },
    })
    if (failure !== null) throw problemOfFailure(failure, 'getOAuthConfig')
    if (hasValues) {
      // Scripts that were written for other hosts create one. Ours is bound to the browser and can be used once.
      const { state, ...settings } = values
      if (state !== undefined && state !== null) {
        const message = 'getOAuthConfig: "state" is ignored; the platform sets it itself'
        writeLine(solution.name, address, { level: 'warn', message, correlationId })
      }
      return checkConfiguration(settings, 'getOAuthConfig', refusalOf)
    }
    const message = 'getOAuthConfig returned null: no configuration matches the query parameters'
    throw new OAuthProblem('oauth_configuration', message)
  }

  return {
    async choose(asking) {
      const { authenticator: mode } = asking.solution.manifest
      if (mode === 'OAUTH') return fromSettings(asking.solution)
      if (mode === 'OAUTH_AUTHENTICATOR') return fromScript(asking)
      throw new TypeError(`${mode} has no OAuth settings`)
    },
    async fallbackOf({ name, manifest }) {
      const ofOperator = manifest.authenticator === 'OAUTH' ? await settings.get(name) : null
      return loginFailedUrlOf(mergeSettings(manifest.oauth, ofOperator)?.login_failed_url)
    },
  }
}

/** Where a provider is: these belong together. */
const PLACES = [
  'issuer',
  'tenant',
  'domain',
  'authorizationBaseUrl',
  'accessTokenEndpoint',
  'refreshTokenEndpoint',
  'revokeTokenEndpoint',
  'jwks_uri',
  'userInfoEndpoint',
] as const satisfies readonly (keyof WrittenOAuthSettings)[]

/**
 * The manifest's settings with the operator's over them, key by key. Where the operator chose another provider, what the
 * author wrote for his does not count, but for the page after a failed login. Where the operator says where the provider is,
 * no address of the author counts: users, codes and tokens go to the operator's alone.
 * @returns null where neither has any
 */
export function mergeSettings(
  ofManifest: WrittenOAuthSettings | null,
  ofOperator: WrittenOAuthSettings | null,
): WrittenOAuthSettings | null {
  if (ofOperator === null || ofManifest === null) return ofOperator ?? ofManifest
  const isOther = ofOperator.api !== undefined && ofOperator.api !== ofManifest.api
  const { login_failed_url } = ofManifest
  const kept = isOther ? (login_failed_url === undefined ? {} : { login_failed_url }) : ofManifest
  const merged: WrittenOAuthSettings = Object.assign(Object.create(null), kept)
  if (PLACES.some((name) => ofOperator[name] !== undefined)) for (const name of PLACES) delete merged[name]
  return Object.assign(merged, ofOperator)
}

/** Whose settings are at fault, as far as that can be told of a whole. */
export function placeOf(ofManifest: object | null, ofOperator: object | null): string {
  if (ofOperator === null) return '"oauth" in solution.json'
  return ofManifest === null
    ? 'the operator’s OAuth settings'
    : '"oauth" in solution.json with the operator’s settings over it'
}
