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

/** Chooses the settings for a sign-in. */
export interface ConfigurationChooser {
  /**
   * In mode OAUTH, returns the manifest's settings, overridden by the operator's. In mode OAUTH_AUTHENTICATOR, returns
   * the result of `getOAuthConfig` for the URL's query parameters.
   * @throws OAuthProblem `oauth_configuration`, `oauth_script` or `oauth_busy`
   */
  choose(asking: Asking): Promise<OAuthConfiguration>
  /**
   * Returns the `login_failed_url` for a sign-in that failed before its configuration was known; null if none is set.
   */
  fallbackOf(solution: ActiveSolution): Promise<string | null>
}

export type ConfigurationChooserParts = {
  /** The stored settings, which override the manifest's. */
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
    const message = 'there are no OAuth settings: add "oauth" to solution.json, or ask the operator to set them'
    throw new OAuthProblem('oauth_configuration', message)
  }

  /**
   * Chosen here: the script returns the whole configuration. It is not merged with the manifest's or the operator's
   * settings. Otherwise, two providers' settings could be mixed, and the sign-in could fail or accept the wrong user.
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
      // Scripts written for other platforms create their own `state`. Ignore it, because this platform's value is bound
      // to the browser and can be used only once.
      const { state, ...settings } = values
      if (state !== undefined && state !== null) {
        const message = 'getOAuthConfig: "state" is ignored; the platform sets it automatically'
        writeLine(solution.name, address, { level: 'warn', message, correlationId })
      }
      return checkConfiguration(settings, 'getOAuthConfig', refusalOf)
    }
    const message = 'getOAuthConfig returned null: no configuration matches the query parameters'
    throw new OAuthProblem('oauth_configuration', message, { detail: 'address' })
  }

  return {
    async choose(asking) {
      const { authenticator: mode } = asking.solution.manifest
      if (mode === 'OAUTH') return fromSettings(asking.solution)
      if (mode === 'OAUTH_AUTHENTICATOR') return fromScript(asking)
      throw new TypeError(`solutions with the authenticator ${mode} do not use OAuth settings`)
    },
    async fallbackOf({ name, manifest }) {
      const ofOperator = manifest.authenticator === 'OAUTH' ? await settings.get(name) : null
      return loginFailedUrlOf(mergeSettings(manifest.oauth, ofOperator)?.login_failed_url)
    },
  }
}

/** The settings for a provider's URLs. If the operator sets any of them, all of the manifest's URLs are ignored. */
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
 * Returns the manifest's settings, each overridden by the operator's. If the operator chose another provider, the
 * manifest's settings are ignored, except `login_failed_url`. If the operator set one of the provider's URLs, all of
 * the manifest's URLs are ignored. Users, codes and tokens are then sent only to the operator's URLs.
 * @returns null if neither has settings
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

/** Returns the name of the source of merged settings, for error messages. */
export function placeOf(ofManifest: object | null, ofOperator: object | null): string {
  if (ofOperator === null) return '"oauth" in solution.json'
  return ofManifest === null
    ? 'the operator’s OAuth settings'
    : '"oauth" in solution.json, overridden by the operator’s settings'
}
