import { resolve } from 'node:path'
import { isLoopback } from '../../base/config/host-names.ts'
import { type MailSettings, mailFaults, mailSettingsOf } from '../../base/config/mail-settings.ts'
import { type Environment, PROPERTIES, type SolutionOrigin } from '../../base/config/properties.ts'
import { serverOf, type Values } from '../../base/config/property-groups.ts'
import { readProperties, refuseFaults } from '../../base/config/read-properties.ts'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import type { DatabaseServers } from '../../base/database/open.ts'
import { certificateOf, tlsFaults } from '../../base/tls/tls-settings.ts'
import { createLimits, type Limits } from '../../runtime/limits.ts'
import { type CloudSettings, cloudSettingsOf } from './cloud-settings.ts'
import { type ShownSetting, showSettings } from './shown-settings.ts'
import { type TelemetrySettings, telemetryFault, telemetrySettingsOf } from './telemetry-settings.ts'

/** When a sign-in to the admin account needs a second factor: never, if one is set up, or always. */
export type AdminFactorMode = 'off' | 'optional' | 'required'

/** All validated settings of the host. */
export type Settings = ServiceSettings & {
  readonly databaseServers: DatabaseServers
  readonly adminPort: number
  readonly adminHost: string
  readonly solutionOrigin: SolutionOrigin | null
  readonly defaultSolution: string | null
  readonly startPage: 'list' | 'none'
  /** `PASSWORD_HELP`; empty if not set. */
  readonly passwordHelp: string
  /** The mail server and the sender; null if the host sends no email. */
  readonly mail: MailSettings | null
  /** `WORKBENCH`, the default for all solutions. `createWorkbenchModes` returns one solution's mode. */
  readonly workbench: 'edit' | 'read' | 'off'
  readonly passkeys: 'auto' | 'on' | 'off'
  /**
   * `PASSKEY_DOMAIN`: the domain that the passkeys of all solutions are bound to. If null, each solution has its own
   * domain.
   */
  readonly passkeyDomain: string | null
  /** Hosts and ports in the form `host:port`. */
  readonly httpAllowedHosts: readonly string[]
  readonly oauthAllowedHosts: readonly string[]
  /** `SOLUTIONS_FOLDER`; empty if not set. */
  readonly solutionsFolder: string
  readonly adminName: string
  /** If empty, the password stored in the platform's database is used, or a new one is generated. */
  readonly adminPassword: string
  readonly adminSecondFactor: AdminFactorMode
  readonly timeZone: string
  readonly environment: Environment
  /** `PLATFORM_TESTING_MODE` */
  readonly isTesting: boolean
  readonly telemetry: TelemetrySettings
  /** The control center that manages this host, or null. */
  readonly cloud: CloudSettings | null
  /** All settings as shown to an operator, with their sources. */
  readonly shown: readonly ShownSetting[]
}

/**
 * Reads the settings from environment variables.
 * @throws ERR_SETTINGS_INVALID with one line per error: the property, its allowed values, and its current value unless
 *   that is a secret
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const { values, read, overrides, faults } = readProperties(PROPERTIES, environment)
  const passphraseFile = environment.CERTIFICATE_PASS_FILE || null
  const certificate = certificateOf(values, passphraseFile)
  faults.push(...tlsFaults(values, certificate).filter((fault) => !faults.includes(fault)))
  if (values.PLATFORM_TESTING_MODE === true && values.ENVIRONMENT === 'onprem') {
    const isLocal = isLoopback(String(values.HOST))
    if (!isLocal)
      faults.push('PLATFORM_TESTING_MODE must not be true with ENVIRONMENT=onprem, unless HOST is a loopback address')
  }
  faults.push(...mailFaults(values))
  faults.push(...passkeyFaults(values), ...portFaults(values))
  const unconnected = telemetryFault(values)
  if (unconnected !== null) faults.push(unconnected)
  refuseFaults('Solhost', values, faults)
  const settings = settingsOf(values, createLimits(overrides))
  return { ...settings, certificate, shown: showSettings(read) }
}

function passkeyFaults({ PASSKEY_DOMAIN: domain, SOLUTION_ORIGIN: origin }: Partial<Values>): readonly string[] {
  if (typeof domain !== 'string' || origin?.suffix.endsWith(`.${domain}`)) return []
  return ['PASSKEY_DOMAIN must be the domain in SOLUTION_ORIGIN without "{name}", or one of its parent domains']
}

function portFaults({ PORT, HOST, ADMIN_PORT, ADMIN_HOST }: Partial<Values>): readonly string[] {
  if (!PORT || PORT !== ADMIN_PORT || !areSameAddress(HOST ?? '', ADMIN_HOST ?? '')) return []
  return [`ADMIN_PORT must differ from PORT, but both are "${ADMIN_PORT}"`]
}

/** Whether only one of two listeners can use a port: the addresses are the same, or one of them includes the other. */
function areSameAddress(one: string, other: string): boolean {
  const both = [one, other]
  if (one === other || both.includes('::')) return true
  return both.includes('0.0.0.0') && !both.some((address) => address.includes(':'))
}

function settingsOf(values: Values, limits: Limits): Omit<Settings, 'shown' | 'certificate'> {
  const cloud = cloudSettingsOf(values)
  return {
    port: values.PORT,
    host: values.HOST,
    adminPort: values.ADMIN_PORT,
    adminHost: values.ADMIN_HOST,
    publicUrl: values.PUBLIC_URL,
    solutionOrigin: values.SOLUTION_ORIGIN,
    home: resolve(values.PLATFORM_HOME),
    platformKey: values.PLATFORM_KEY,
    database: { kind: values.PLATFORM_DATABASE, name: values.PLATFORM_DATABASE_NAME },
    databaseServers: {
      alpha: serverOf('ALPHA', values),
      beta: serverOf('BETA', values),
      gamma: serverOf('GAMMA', values),
    },
    httpRedirectPort: values.HTTP_REDIRECT_PORT,
    hstsMaxAge: values.HSTS_MAX_AGE,
    defaultSolution: values.DEFAULT_SOLUTION,
    startPage: values.START_PAGE,
    passwordHelp: values.PASSWORD_HELP,
    mail: mailSettingsOf(values),
    workbench: values.WORKBENCH,
    passkeys: values.PASSKEYS,
    passkeyDomain: values.PASSKEY_DOMAIN,
    trustedProxies: values.TRUSTED_PROXIES,
    allowedHosts: values.ALLOWED_HOSTS,
    httpAllowedHosts: values.HTTP_ALLOWED_HOSTS,
    oauthAllowedHosts: values.OAUTH_ALLOWED_HOSTS,
    drainTime: values.DRAIN_TIME,
    logLevel: values.LOG_LEVEL,
    adminName: values.SERVLET_USERNAME,
    adminPassword: values.SERVLET_PASSWORD,
    adminSecondFactor: values.ADMIN_SECOND_FACTOR,
    timeZone: values.TIMEZONE,
    environment: values.ENVIRONMENT,
    solutionsFolder: values.SOLUTIONS_FOLDER,
    isTesting: values.PLATFORM_TESTING_MODE,
    telemetry: telemetrySettingsOf(values, cloud),
    cloud,
    memory: { minimum: values.RUNTIME_XMS, maximum: values.RUNTIME_XMX },
    limits,
  }
}
