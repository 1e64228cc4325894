import { resolve } from 'node:path'
import type { LogLevel } from '../../base/config/properties.ts'
import { databaseServersOf } from '../../base/config/property-groups.ts'
import { readProperties, refuseFaults } from '../../base/config/read-properties.ts'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import { certificateOf, tlsFaults } from '../../base/tls/tls-settings.ts'
import { createLimits } from '../../runtime/limits.ts'
import { type MailSettings, mailFaults, mailSettingsOf } from '../mail/mail-settings.ts'
import type { BuilderSettings } from '../pipelines/builder-settings.ts'
import { type CenterTelemetrySettings, centerTelemetrySettingsOf } from '../telemetry/telemetry-settings.ts'
import { CENTER_PROPERTIES } from './properties.ts'

/** All settings of the control center, read and checked. */
export type CenterSettings = ServiceSettings &
  BuilderSettings & {
    readonly mail: MailSettings | null
    readonly telemetry: CenterTelemetrySettings
    /** `ORGANISATION_STORAGE`, in bytes. */
    readonly organisationStorage: number
  }

/** @throws ERR_SETTINGS_INVALID with one line per fault */
export function readCenterSettings(environment: Readonly<Record<string, string | undefined>>): CenterSettings {
  const { values, overrides, faults } = readProperties(CENTER_PROPERTIES, environment)
  const value = (name: string) => values.get(name)
  const certificate = certificateOf(value, environment.CERTIFICATE_PASS_FILE || null)
  faults.push(...tlsFaults(value, certificate).filter((fault) => !faults.includes(fault)))
  faults.push(...mailFaults(value))
  refuseFaults('The control center', faults)
  return {
    port: value('PORT') as number,
    host: value('HOST') as string,
    publicUrl: value('PUBLIC_URL') as URL | null,
    home: resolve(value('PLATFORM_HOME') as string),
    platformKey: value('PLATFORM_KEY') as string,
    database: {
      kind: value('PLATFORM_DATABASE') as 'embedded' | 'alpha',
      name: value('PLATFORM_DATABASE_NAME') as string,
    },
    databaseServers: databaseServersOf(value),
    certificate,
    httpRedirectPort: value('HTTP_REDIRECT_PORT') as number | null,
    hstsMaxAge: value('HSTS_MAX_AGE') as number,
    trustedProxies: value('TRUSTED_PROXIES') as string[],
    allowedHosts: value('ALLOWED_HOSTS') as string[],
    drainTime: value('DRAIN_TIME') as number,
    logLevel: value('LOG_LEVEL') as LogLevel,
    allowedRegistries: value('REGISTRY_ALLOWED_HOSTS') as string[],
    organisationStorage: value('ORGANISATION_STORAGE') as number,
    memory: { minimum: value('RUNTIME_XMS') as number, maximum: value('RUNTIME_XMX') as number },
    limits: createLimits(overrides),
    mail: mailSettingsOf(value),
    telemetry: centerTelemetrySettingsOf(value),
    builder: value('BUILDER_COMMAND') as readonly string[] | null,
  }
}
