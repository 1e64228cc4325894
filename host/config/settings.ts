import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'
import { createLimits, LIMITS, type LimitName, type Limits, parseQuantity, quantityForm } from '../../runtime/limits.ts'
import type { DatabaseServer, KindName } from '../database/kind.ts'
import type { DatabaseServers } from '../database/open.ts'
import { type Environment, NOT_YET, PROPERTIES, type Property, type SolutionOrigin } from './properties.ts'

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
  readonly defaultSolution: string | null
  readonly trustedProxies: readonly string[]
  readonly allowedHosts: readonly string[]
  /** `host:port` entries. */
  readonly httpAllowedHosts: readonly string[]
  readonly oauthAllowedHosts: readonly string[]
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
  readonly adminName: string
  /** Empty: the one whose hash lies in the platform's database, or a new one. */
  readonly adminPassword: string
  readonly timeZone: string
  readonly environment: Environment
  /** In bytes: `RUNTIME_XMS` and `RUNTIME_XMX`. */
  readonly memory: { readonly minimum: number; readonly maximum: number }
  readonly limits: Limits
}

/**
 * Reads the settings from environment properties.
 * @throws ERR_SETTINGS_INVALID with one line per fault: the property, what it must be, and (secrets excepted) what it is
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const faults: string[] = []
  const values = new Map<string, unknown>()
  for (const [name, property] of Object.entries(PROPERTIES) as [string, Property][]) {
    const text = readText(name, property, environment, faults)
    const value = property.read(text)
    if (value === undefined) faults.push(faultLine(name, property, text))
    values.set(name, value)
  }
  const overrides = readLimits(environment, faults)
  for (const name of NOT_YET) {
    const text = environment[name]?.trim() ?? ''
    if (text !== '' && text !== 'false')
      faults.push(`${name} is set, but this version does not support it yet: unset it`)
  }
  if (faults.length > 0) {
    throw new PlatformError(
      'ERR_SETTINGS_INVALID',
      `Solhost cannot start, since these settings are wrong:\n${faults.map((line) => `  ${line}`).join('\n')}`,
    )
  }
  return settingsOf((name) => values.get(name), createLimits(overrides))
}

function settingsOf(value: (name: keyof typeof PROPERTIES) => unknown, limits: Limits): Settings {
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
    defaultSolution: value('DEFAULT_SOLUTION') as string | null,
    trustedProxies: value('TRUSTED_PROXIES') as string[],
    allowedHosts: value('ALLOWED_HOSTS') as string[],
    httpAllowedHosts: value('HTTP_ALLOWED_HOSTS') as string[],
    oauthAllowedHosts: value('OAUTH_ALLOWED_HOSTS') as string[],
    logLevel: value('LOG_LEVEL') as Settings['logLevel'],
    adminName: value('SERVLET_USERNAME') as string,
    adminPassword: value('SERVLET_PASSWORD') as string,
    timeZone: value('TIMEZONE') as string,
    environment: value('ENVIRONMENT') as Environment,
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
): string {
  const file = property.secret ? environment[`${name}_FILE`] : undefined
  if (file === undefined || file === '') return environment[name]?.trim() ?? property.default
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    faults.push(`${name}_FILE names a file that cannot be read (${(error as NodeJS.ErrnoException).code})`)
    return property.default
  }
}

function readLimits(
  environment: Readonly<Record<string, string | undefined>>,
  faults: string[],
): Partial<Record<LimitName, number>> {
  const overrides: Partial<Record<LimitName, number>> = {}
  for (const name of Object.keys(LIMITS) as LimitName[]) {
    const text = environment[name]
    if (text === undefined || text === '') continue
    const { kind } = LIMITS[name]
    const quantity = parseQuantity(kind, text)
    if (quantity === null || quantity === 0) faults.push(`${name} must be ${quantityForm(kind)}, but is "${text}"`)
    else overrides[name] = quantity
  }
  return overrides
}

function faultLine(name: string, property: Property, text: string): string {
  const given = property.secret ? `has ${text.length} characters` : `is "${text}"`
  return `${name} must be ${property.form}, but ${given}`
}
