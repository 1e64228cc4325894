import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'
import { createLimits, LIMITS, type LimitName, type Limits, parseQuantity, quantityForm } from '../../runtime/limits.ts'
import type { DatabaseServer, KindName } from '../database/kind.ts'
import type { DatabaseServers } from '../database/open.ts'
import { isLoopback } from '../http/sites.ts'
import { type TelemetrySettings, telemetryFault, telemetrySettingsOf } from '../telemetry/telemetry-settings.ts'
import { type CertificateSource, readCertificate } from '../tls/certificate.ts'
import { type Environment, PROPERTIES, type Property, type SolutionOrigin } from './properties.ts'
import { type ReadSetting, type ShownSetting, showSettings } from './shown-settings.ts'
import { unreadSecret } from './unread-secret.ts'

/** All settings of the host, read and checked. */
export type Settings = {
  readonly port: number
  readonly host: string
  readonly adminPort: number
  readonly adminHost: string
  readonly publicUrl: URL | null
  readonly solutionOrigin: SolutionOrigin | null
  /** An absolute path. */
  readonly home: string
  /** Empty: made once and kept in `home`. */
  readonly platformKey: string
  /** Where the platform keeps its data, and under which name. */
  readonly database: { readonly kind: KindName; readonly name: string }
  readonly databaseServers: DatabaseServers
  /** Null: the host serves no TLS. */
  readonly certificate: CertificateSource | null
  /** Of the port that leads to https; null: there is none. */
  readonly httpRedirectPort: number | null
  /** In ms. */
  readonly hstsMaxAge: number
  readonly defaultSolution: string | null
  readonly trustedProxies: readonly string[]
  readonly allowedHosts: readonly string[]
  /** `host:port` entries. */
  readonly httpAllowedHosts: readonly string[]
  readonly oauthAllowedHosts: readonly string[]
  /** In ms. */
  readonly drainTime: number
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
  readonly adminName: string
  /** Empty: the one whose hash lies in the platform's database, or a new one. */
  readonly adminPassword: string
  readonly timeZone: string
  readonly environment: Environment
  /** `PLATFORM_TESTING_MODE` */
  readonly isTesting: boolean
  /** In bytes: `RUNTIME_XMS` and `RUNTIME_XMX`. */
  readonly memory: { readonly minimum: number; readonly maximum: number }
  readonly telemetry: TelemetrySettings
  readonly limits: Limits
  /** All of them as an operator may see them, with their sources. */
  readonly shown: readonly ShownSetting[]
}

/**
 * Reads the settings from environment properties.
 * @throws ERR_SETTINGS_INVALID with one line per fault: the property, what it must be, and (secrets excepted) what it is
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const faults: string[] = []
  const values = new Map<string, unknown>()
  const read = new Map<string, ReadSetting>()
  for (const [name, property] of Object.entries(PROPERTIES) as [string, Property][]) {
    const one = readText(name, property, environment, faults)
    const { text } = one
    read.set(name, one)
    const value = property.read(text)
    if (value === undefined) faults.push(faultLine(name, property, text))
    values.set(name, value)
  }
  const overrides = readLimits(environment, read, faults)
  const passphraseFile = environment.CERTIFICATE_PASS_FILE || null
  const certificate = certificateOf((name) => values.get(name), passphraseFile)
  faults.push(...tlsFaults((name) => values.get(name), certificate).filter((fault) => !faults.includes(fault)))
  if (values.get('PLATFORM_TESTING_MODE') === true && values.get('ENVIRONMENT') === 'onprem') {
    const isLocal = isLoopback(String(values.get('HOST')))
    if (!isLocal) faults.push('PLATFORM_TESTING_MODE must not be true with ENVIRONMENT=onprem, unless HOST is loopback')
  }
  const unconnected = telemetryFault((name) => values.get(name))
  if (unconnected !== null) faults.push(unconnected)
  if (faults.length > 0) {
    throw new PlatformError(
      'ERR_SETTINGS_INVALID',
      `Solhost cannot start, since these settings are wrong:\n${faults.map((line) => `  ${line}`).join('\n')}`,
    )
  }
  const settings = settingsOf((name) => values.get(name), createLimits(overrides))
  return { ...settings, certificate, shown: showSettings(read) }
}

type Value = (name: keyof typeof PROPERTIES) => unknown

function certificateOf(value: Value, passphraseFile: string | null): CertificateSource | null {
  const [name, folder, passphrase] = [value('CERTIFICATE_NAME'), value('CERTIFICATE_FOLDER'), value('CERTIFICATE_PASS')]
  if (typeof name !== 'string' || typeof folder !== 'string' || typeof passphrase !== 'string' || name === '')
    return null
  return { file: resolve(folder, name), passphrase, passphraseFile }
}

/** What is wrong with TLS: a file that cannot be served, and settings that contradict it. */
function tlsFaults(value: Value, certificate: CertificateSource | null): string[] {
  if (certificate === null) {
    if (value('CERTIFICATE_NAME') !== '') return []
    // Somebody who set these expects TLS; to go on without it would be unsafe.
    return [
      value('CERTIFICATE_PASS') ? 'CERTIFICATE_PASS is set, but CERTIFICATE_NAME is not: set both, or none' : '',
      typeof value('HTTP_REDIRECT_PORT') === 'number'
        ? 'HTTP_REDIRECT_PORT needs CERTIFICATE_NAME: without TLS here there is nothing to lead to'
        : '',
    ].filter((fault) => fault !== '')
  }
  const faults: string[] = []
  const addresses = { PUBLIC_URL: value('PUBLIC_URL'), SOLUTION_ORIGIN: value('SOLUTION_ORIGIN') }
  for (const [name, address] of Object.entries(addresses) as [string, { protocol: string } | null | undefined][]) {
    if (address?.protocol === 'http:') faults.push(`${name} must begin with https:// where CERTIFICATE_NAME is set`)
  }
  const redirectPort = value('HTTP_REDIRECT_PORT') as number | null | undefined
  if (redirectPort && [value('PORT'), value('ADMIN_PORT')].includes(redirectPort)) {
    faults.push(`HTTP_REDIRECT_PORT must be another port than PORT and ADMIN_PORT, but is "${redirectPort}"`)
  }
  try {
    readCertificate(certificate)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    faults.push(error.message)
  }
  return faults
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
    databaseServers: {
      alpha: serverOf('ALPHA', value),
      beta: serverOf('BETA', value),
      gamma: serverOf('GAMMA', value),
    },
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
    isTesting: value('PLATFORM_TESTING_MODE') as boolean,
    telemetry: telemetrySettingsOf(value),
    memory: { minimum: value('RUNTIME_XMS') as number, maximum: value('RUNTIME_XMX') as number },
    limits,
  }
}

function serverOf(kind: 'ALPHA' | 'BETA' | 'GAMMA', value: (name: keyof typeof PROPERTIES) => unknown): DatabaseServer {
  return {
    host: value(`DB_${kind}_SERVER`) as string,
    port: value(`DB_${kind}_PORT`) as number,
    username: value(`DB_${kind}_USERNAME`) as string,
    password: value(`DB_${kind}_PASSWORD`) as string,
    tls: value(`DB_${kind}_TLS`) as DatabaseServer['tls'],
  }
}

/** The property's text: from the environment, for secrets also from the file that `NAME_FILE` names. */
function readText(
  name: string,
  property: Property,
  environment: Readonly<Record<string, string | undefined>>,
  faults: string[],
): ReadSetting {
  const usual = { text: property.default, source: 'default' } as const
  const file = property.secret ? environment[`${name}_FILE`] : undefined
  if (file === undefined || file === '') {
    const text = environment[name]?.trim()
    return text === undefined ? usual : { text, source: 'environment' }
  }
  try {
    return { text: readFileSync(file, 'utf8').trim(), source: 'file' }
  } catch (error) {
    faults.push(unreadSecret(name, error))
    return usual
  }
}

function readLimits(
  environment: Readonly<Record<string, string | undefined>>,
  read: Map<string, ReadSetting>,
  faults: string[],
): Partial<Record<LimitName, number>> {
  const overrides: Partial<Record<LimitName, number>> = {}
  for (const name of Object.keys(LIMITS) as LimitName[]) {
    const text = environment[name]
    if (text === undefined || text === '') continue
    const { kind } = LIMITS[name]
    const quantity = parseQuantity(kind, text)
    if (quantity === null || quantity === 0) faults.push(`${name} must be ${quantityForm(kind)}, but is "${text}"`)
    else {
      overrides[name] = quantity
      read.set(name, { text: text.trim(), source: 'environment' })
    }
  }
  return overrides
}

function faultLine(name: string, property: Property, text: string): string {
  const given = property.secret ? `has ${text.length} characters` : `is "${text}"`
  return `${name} must be ${property.form}, but ${given}`
}
