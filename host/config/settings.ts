import { resolve } from 'node:path'
import { type CloudSettings, cloudSettingsOf } from '../../base/config/cloud-settings.ts'
import { isLoopback } from '../../base/config/host-names.ts'
import { type Environment, PROPERTIES, type SolutionOrigin } from '../../base/config/properties.ts'
import { databaseServersOf, type Value } from '../../base/config/property-groups.ts'
import { readProperties, refuseFaults } from '../../base/config/read-properties.ts'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import { type ShownSetting, showSettings } from '../../base/config/shown-settings.ts'
import { type TelemetrySettings, telemetryFault, telemetrySettingsOf } from '../../base/config/telemetry-settings.ts'
import type { KindName } from '../../base/database/kind.ts'
import { certificateOf, tlsFaults } from '../../base/tls/tls-settings.ts'
import { createLimits, type Limits } from '../../runtime/limits.ts'

/** All settings of the host, read and checked. */
export type Settings = ServiceSettings & {
  readonly adminPort: number
  readonly adminHost: string
  readonly solutionOrigin: SolutionOrigin | null
  readonly defaultSolution: string | null
  /** `host:port` entries. */
  readonly httpAllowedHosts: readonly string[]
  readonly oauthAllowedHosts: readonly string[]
  /** `SOLUTIONS_FOLDER`; empty: none. */
  readonly solutionsFolder: string
  readonly adminName: string
  /** Empty: the one whose hash lies in the platform's database, or a new one. */
  readonly adminPassword: string
  readonly timeZone: string
  readonly environment: Environment
  /** `PLATFORM_TESTING_MODE` */
  readonly isTesting: boolean
  readonly telemetry: TelemetrySettings
  /** The control center that manages this host; null: none. */
  readonly cloud: CloudSettings | null
  /** All of them as an operator may see them, with their sources. */
  readonly shown: readonly ShownSetting[]
}

/**
 * Reads the settings from environment properties.
 * @throws ERR_SETTINGS_INVALID with one line per fault: the property, what it must be, and (secrets excepted) what it is
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const { values, read, overrides, faults } = readProperties(PROPERTIES, environment)
  const passphraseFile = environment.CERTIFICATE_PASS_FILE || null
  const certificate = certificateOf((name) => values.get(name), passphraseFile)
  faults.push(...tlsFaults((name) => values.get(name), certificate).filter((fault) => !faults.includes(fault)))
  if (values.get('PLATFORM_TESTING_MODE') === true && values.get('ENVIRONMENT') === 'onprem') {
    const isLocal = isLoopback(String(values.get('HOST')))
    if (!isLocal) faults.push('PLATFORM_TESTING_MODE must not be true with ENVIRONMENT=onprem, unless HOST is loopback')
  }
  const unconnected = telemetryFault((name) => values.get(name))
  if (unconnected !== null) faults.push(unconnected)
  refuseFaults('Solhost', faults)
  const settings = settingsOf((name) => values.get(name), createLimits(overrides))
  return { ...settings, certificate, shown: showSettings(read) }
}

function settingsOf(value: Value, limits: Limits): Omit<Settings, 'shown' | 'certificate'> {
  return {
    port: value('PORT') as number,
    host: value('HOST') as string,
    adminPort: value('ADMIN_PORT') as number,
    adminHost: value('ADMIN_HOST') as string,
    publicUrl: value('PUBLIC_URL') as URL | null,
    solutionOrigin: value('SOLUTION_ORIGIN') as SolutionOrigin | null,
    home: resolve(value('PLATFORM_HOME') as string),
    platformKey: value('PLATFORM_KEY') as string,
    database: { kind: value('PLATFORM_DATABASE') as KindName, name: value('PLATFORM_DATABASE_NAME') as string },
    databaseServers: databaseServersOf(value),
    httpRedirectPort: value('HTTP_REDIRECT_PORT') as number | null,
    hstsMaxAge: value('HSTS_MAX_AGE') as number,
    defaultSolution: value('DEFAULT_SOLUTION') as string | null,
    trustedProxies: value('TRUSTED_PROXIES') as string[],
    allowedHosts: value('ALLOWED_HOSTS') as string[],
    httpAllowedHosts: value('HTTP_ALLOWED_HOSTS') as string[],
    oauthAllowedHosts: value('OAUTH_ALLOWED_HOSTS') as string[],
    drainTime: value('DRAIN_TIME') as number,
    logLevel: value('LOG_LEVEL') as Settings['logLevel'],
    adminName: value('SERVLET_USERNAME') as string,
    adminPassword: value('SERVLET_PASSWORD') as string,
    timeZone: value('TIMEZONE') as string,
    environment: value('ENVIRONMENT') as Environment,
    solutionsFolder: value('SOLUTIONS_FOLDER') as string,
    isTesting: value('PLATFORM_TESTING_MODE') as boolean,
    telemetry: telemetrySettingsOf(value),
    cloud: cloudSettingsOf(value),
    memory: { minimum: value('RUNTIME_XMS') as number, maximum: value('RUNTIME_XMX') as number },
    limits,
  }
}
