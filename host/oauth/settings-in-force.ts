import { secretNameOf } from '../../base/oauth/secret-name.ts'
import { mergeSettings, placeOf } from './chosen-configuration.ts'
import type { WrittenOAuthSettings } from './oauth-settings.ts'
import type { ProviderRequests } from './provider-requests.ts'
import { tryConfiguration } from './settings-warnings.ts'

/** An effective OAuth setting of a solution, and its source. `default` means the table of providers. */
export type SettingInForce = {
  readonly name: string
  /** Null if the manifest contains the secret itself: the secret must not be shown. */
  readonly value: string | null
  readonly source: 'operator' | 'control-center' | 'manifest' | 'default'
}

/**
 * The effective settings for sign-ins: first the operator's and the author's settings, as written, then the platform's
 * defaults. The defaults are omitted if the settings are invalid.
 *
 * @param source the source of `ofOperator`
 */
export function settingsInForce(
  ofManifest: WrittenOAuthSettings | null,
  ofOperator: WrittenOAuthSettings | null,
  refusalOf: ProviderRequests['refusalOf'],
  source: 'operator' | 'control-center' = 'operator',
): readonly SettingInForce[] {
  const merged = mergeSettings(ofManifest, ofOperator)
  if (merged === null) return []
  const written = Object.entries(merged)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]): SettingInForce => {
      const isOperators = ofOperator !== null && Object.hasOwn(ofOperator, name)
      return { name, value: shownValue(name, String(value)), source: isOperators ? source : 'manifest' }
    })
  const names = new Set(written.map(({ name }) => name))
  const added = Object.entries(defaultsOf(merged, placeOf(ofManifest, ofOperator), refusalOf)).flatMap(
    ([name, value]): SettingInForce[] =>
      value === null || names.has(name) ? [] : [{ name, value, source: 'default' }],
  )
  return [...written, ...added]
}

function shownValue(name: string, value: string): string | null {
  return name === 'apiSecret' && secretNameOf(value) === null ? null : value
}

function defaultsOf(
  merged: WrittenOAuthSettings,
  where: string,
  refusalOf: ProviderRequests['refusalOf'],
): Readonly<Record<string, string | null>> {
  const used = tryConfiguration(merged, where, refusalOf)
  // `warnOfOAuthSettings` shows the error as a warning.
  if (typeof used === 'string') return {}
  return {
    issuer: used.issuer,
    authorizationBaseUrl: used.authorizationEndpoint,
    accessTokenEndpoint: used.tokenEndpoint,
    userInfoEndpoint: used.userInfoEndpoint,
    defaultScope: used.scope,
    code_challenge_method: used.pkce,
    token_endpoint_auth_method: used.clientAuthentication,
    response_type: used.responseType,
    response_mode: used.responseMode,
  }
}
