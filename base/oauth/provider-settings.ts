import { OAUTH_SETTINGS } from '../../runtime/bundle/manifest-schema.ts'
import { PROVIDERS, type ProviderName, type ProviderRow } from './providers.ts'

type SettingName = keyof typeof OAUTH_SETTINGS

/** A provider's setting, as shown in a form. */
export type ProviderSetting = {
  readonly name: SettingName
  readonly title: string
  readonly description: string
  /** `issuer`: required unless an issuer is given. */
  readonly required: 'yes' | 'no' | 'issuer'
  /** The default; null if there is none, or if the discovery document provides it. */
  readonly default: string | null
  /** The allowed values; null if the setting is free text. */
  readonly values: readonly string[] | null
}

export type ProviderForm = {
  readonly api: ProviderName
  readonly title: string
  /** The issuer to use for discovery by default; null if the settings must contain it. */
  readonly issuer: string | null
  readonly settings: readonly ProviderSetting[]
}

/** The providers with their settings, from the same table that sign-ins use. */
export function providerForms(): readonly ProviderForm[] {
  return (Object.keys(PROVIDERS) as ProviderName[]).map((api) => {
    const row = PROVIDERS[api]
    const names = Object.keys(OAUTH_SETTINGS) as SettingName[]
    return {
      api,
      title: row.title ?? api,
      issuer: row.places({})?.issuer ?? null,
      settings: names.filter((name) => name !== 'api' && isOf(name, api, row)).map((name) => settingOf(name, api, row)),
    }
  })
}

/** The URL settings. They are shown only for `Custom`, since the other providers' URLs are built in. */
const ADDRESSES: readonly SettingName[] = [
  'authorizationBaseUrl',
  'accessTokenEndpoint',
  'refreshTokenEndpoint',
  'revokeTokenEndpoint',
  'jwks_uri',
  'userInfoEndpoint',
]
/** Settings that can be left empty: sign-ins work without them. */
const OPTIONAL: readonly SettingName[] = ['userInfoEndpoint', 'refreshTokenEndpoint', 'revokeTokenEndpoint']
const OWN: readonly SettingName[] = ['tenant', 'domain', 'teamId', 'keyId']

function isOf(name: SettingName, api: ProviderName, { settings }: ProviderRow): boolean {
  if (OWN.includes(name)) return (settings as readonly string[]).includes(name)
  if (ADDRESSES.includes(name)) return api === 'Custom'
  return name !== 'issuer' || api === 'Custom' || api === 'Okta'
}

function settingOf(name: SettingName, api: ProviderName, row: ProviderRow): ProviderSetting {
  const { title = name, description = '' } = OAUTH_SETTINGS[name].meta() ?? {}
  return { name, title, description, required: needOf(name, api, row), ...choiceOf(name, row) }
}

function needOf(name: SettingName, api: ProviderName, row: ProviderRow): ProviderSetting['required'] {
  if (name === 'clientId' || (name === 'apiSecret' && row.needsSecret)) return 'yes'
  if (api === 'Custom') return ADDRESSES.includes(name) && !OPTIONAL.includes(name) ? 'issuer' : 'no'
  return api === 'Okta' && name === 'domain' ? 'issuer' : 'no'
}

function choiceOf(name: SettingName, row: ProviderRow): Pick<ProviderSetting, 'default' | 'values'> {
  switch (name) {
    case 'defaultScope':
      return { default: row.scope, values: null }
    case 'code_challenge_method':
      return { default: row.pkce, values: ['S256', 'plain'] }
    case 'response_type':
      return { default: row.responseTypes[0] ?? null, values: row.responseTypes }
    case 'response_mode':
      return { default: null, values: row.responseModes }
    default:
      return { default: null, values: null }
  }
}
