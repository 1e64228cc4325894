import { secretNameOf } from '../../base/oauth/secret-name.ts'
import type { Manifest } from '../../runtime/bundle/manifest.ts'
import { placeOf } from './chosen-configuration.ts'
import { checkConfiguration, type OAuthConfiguration } from './configuration.ts'
import type { WrittenOAuthSettings } from './oauth-settings.ts'
import { OAuthProblem } from './problems.ts'
import type { ProviderRequests } from './provider-requests.ts'

export type OAuthWarning = {
  readonly code: 'not_used' | 'incomplete' | 'secret_missing'
  readonly message: string
}

export type SettingsToJudge = {
  /** The active version's manifest; null if no version is active. */
  readonly manifest: Pick<Manifest, 'authenticator' | 'oauth'> | null
  /** The settings that the operator has set, or null. */
  readonly settings: WrittenOAuthSettings | null
  readonly merged: WrittenOAuthSettings | null
  readonly secretNames: readonly string[]
  readonly refusalOf: ProviderRequests['refusalOf']
}

/** Warnings for the operator. The settings are saved and used anyway. */
export function warnOfOAuthSettings(judged: SettingsToJudge): OAuthWarning[] {
  const { manifest, settings, merged, secretNames, refusalOf } = judged
  const mode = manifest?.authenticator ?? 'OAUTH'
  if (mode !== 'OAUTH') return settings === null ? [] : [notUsed(mode)]
  if (merged === null) {
    const message = 'OAuth is not configured, so users cannot sign in. Add the OAuth settings.'
    return [{ code: 'incomplete', message }]
  }
  const checked = tryConfiguration(merged, placeOf(manifest?.oauth ?? null, settings), refusalOf)
  if (typeof checked === 'string') return [{ code: 'incomplete', message: checked }]
  const name = checked.apiSecret === null ? null : secretNameOf(checked.apiSecret)
  if (name === null || secretNames.includes(name)) return []
  return [
    {
      code: 'secret_missing',
      message: `The solution has no secret ${name}. Set the secret, and allow it for the token endpoint's host.`,
    },
  ]
}

function notUsed(mode: string): OAuthWarning {
  const why =
    mode === 'OAUTH_AUTHENTICATOR'
      ? 'which uses only the settings that its getOAuthConfig returns'
      : 'which does not use OAuth settings'
  return {
    code: 'not_used',
    message: `These settings have no effect: the active version has the authenticator ${mode}, ${why}.`,
  }
}

/** @returns the configuration, or an error message */
export function tryConfiguration(
  settings: WrittenOAuthSettings,
  where: string,
  refusalOf: ProviderRequests['refusalOf'],
): OAuthConfiguration | string {
  try {
    return checkConfiguration(settings, where, refusalOf)
  } catch (error) {
    if (error instanceof OAuthProblem) return error.message
    throw error
  }
}
