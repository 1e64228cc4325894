import { OAUTH_SETTING_NAMES, OAUTH_SETTINGS, type PartialOAuthForm } from '../../runtime/bundle/manifest-schema.ts'
import type { z } from '../../runtime/zod.ts'
import { providerForms } from './provider-settings.ts'
import { SECRET_HOSTS } from './secret-hosts.ts'
import { secretNameOf } from './secret-name.ts'

/** OAuth settings as the author or operator wrote them. The keys are their names in the manifest. */
export type WrittenOAuthSettings = z.infer<typeof PartialOAuthForm>

type SettingValues = Readonly<Record<string, unknown>>

export type OAuthField = {
  readonly name: string
  /** The operator's value; '' if not set. */
  readonly value: string
  /** The manifest's value, used only if the manifest's provider is selected. */
  readonly ofManifest: string
  /** The providers that have the setting. */
  readonly providers: readonly string[]
  readonly requiredBy: readonly string[]
  /** The default value for each provider that has one. */
  readonly defaults: Readonly<Record<string, string>>
  /** The allowed values; null for any text. */
  readonly values: readonly string[] | null
}

const FIRST = [
  'clientId',
  'tenant',
  'domain',
  'issuer',
  'authorizationBaseUrl',
  'accessTokenEndpoint',
  'jwks_uri',
  'teamId',
  'keyId',
  'defaultScope',
] as const
const ADVANCED = [
  'code_challenge_method',
  'response_type',
  'response_mode',
  'token_endpoint_auth_method',
  'secondFactorAcr',
  'userInfoEndpoint',
  'refreshTokenEndpoint',
  'revokeTokenEndpoint',
  'login_failed_url',
] as const

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  code_challenge_method: OAUTH_SETTINGS.code_challenge_method.unwrap().options,
  response_type: OAUTH_SETTINGS.response_type.unwrap().options,
  response_mode: OAUTH_SETTINGS.response_mode.unwrap().options,
  token_endpoint_auth_method: OAUTH_SETTINGS.token_endpoint_auth_method.unwrap().options,
}

/**
 * The form for a solution's OAuth settings, filled with the operator's values.
 * @param settable the names of the settings to include in the form; default: all
 */
export function oauthForm(
  solution: string,
  ofManifest: SettingValues | null,
  ofOperator: SettingValues | null,
  settable: (name: string) => boolean = () => true,
) {
  const forms = providerForms()
  const fieldOf = (name: (typeof FIRST | typeof ADVANCED)[number]): OAuthField => {
    const value = writtenIn(ofOperator, name)
    const found = forms.flatMap(({ api, settings }) => {
      const setting = settings.find((one) => one.name === name)
      return setting === undefined ? [] : [{ api, ...setting }]
    })
    return {
      name,
      value,
      ofManifest: writtenIn(ofManifest, name),
      // A setting with a value is shown for all providers, so that it can be removed.
      providers: (value === '' ? found : forms).map(({ api }) => api),
      requiredBy: found.filter(({ required }) => required === 'yes').map(({ api }) => api),
      defaults: Object.fromEntries(found.flatMap((one) => (one.default === null ? [] : [[one.api, one.default]]))),
      values: CHOICES[name] ?? null,
    }
  }
  return {
    api: writtenIn(ofOperator, 'api'),
    apiOfManifest: writtenIn(ofManifest, 'api'),
    providers: forms.map(({ api, title }) => ({ api, title })),
    first: FIRST.filter(settable).map(fieldOf),
    advanced: ADVANCED.filter(settable).map(fieldOf),
    secret: {
      name: secretOf(ofOperator),
      usual: secretOf(ofManifest) || suggestedName(solution),
      isInManifest: writtenIn(ofManifest, 'apiSecret') !== '',
      requiredBy: forms.flatMap(({ api, settings }) =>
        settings.some(({ name, required }) => name === 'apiSecret' && required === 'yes') ? [api] : [],
      ),
    },
    secretHosts: SECRET_HOSTS,
    parameters: Object.entries(ofOperator ?? {})
      .filter(([name]) => !OAUTH_SETTING_NAMES.has(name))
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
  }
}

function writtenIn(settings: SettingValues | null, name: string): string {
  return settings !== null && Object.hasOwn(settings, name) ? String(settings[name] ?? '') : ''
}

function secretOf(settings: SettingValues | null): string {
  return secretNameOf(writtenIn(settings, 'apiSecret')) ?? ''
}

function suggestedName(solution: string): string {
  const letters = solution.toUpperCase().replaceAll('-', '_')
  return `${/^[A-Z]/.test(letters) ? '' : 'S_'}${letters}`.slice(0, 57).concat('_SECRET')
}
