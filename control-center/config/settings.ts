import { resolve } from 'node:path'
import { type MailSettings, mailFaults, mailSettingsOf } from '../../base/config/mail-settings.ts'
import { serverOf } from '../../base/config/property-groups.ts'
import { readProperties, refuseFaults } from '../../base/config/read-properties.ts'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import type { DatabaseServers } from '../../base/database/open.ts'
import { certificateOf, tlsFaults } from '../../base/tls/tls-settings.ts'
import { createLimits } from '../../runtime/limits.ts'
import type { BuilderSettings } from '../pipelines/builder-settings.ts'
import { type CenterTelemetrySettings, centerTelemetrySettingsOf } from '../telemetry/telemetry-settings.ts'
import { CENTER_PROPERTIES } from './properties.ts'

/** The control center's settings, parsed and validated. */
export type CenterSettings = ServiceSettings &
  BuilderSettings & {
    readonly databaseServers: Pick<DatabaseServers, 'alpha'>
    readonly mail: MailSettings | null
    readonly telemetry: CenterTelemetrySettings
    /** The value of `ORGANISATION_STORAGE`, in bytes. */
    readonly organisationStorage: number
  }

/** @throws ERR_SETTINGS_INVALID with one line per error */
export function readCenterSettings(environment: Readonly<Record<string, string | undefined>>): CenterSettings {
  const { values, overrides, faults } = readProperties(CENTER_PROPERTIES, environment)
  const certificate = certificateOf(values, environment.CERTIFICATE_PASS_FILE || null)
  faults.push(...tlsFaults(values, certificate).filter((fault) => !faults.includes(fault)))
  faults.push(...mailFaults(values))
  refuseFaults('The control center', values, faults)
  return {
    port: values.PORT,
    host: values.HOST,
    publicUrl: values.PUBLIC_URL,
    home: resolve(values.PLATFORM_HOME),
    platformKey: values.PLATFORM_KEY,
    database: { kind: values.PLATFORM_DATABASE, name: values.PLATFORM_DATABASE_NAME },
    databaseServers: { alpha: serverOf('ALPHA', values) },
    certificate,
    httpRedirectPort: values.HTTP_REDIRECT_PORT,
    hstsMaxAge: values.HSTS_MAX_AGE,
    trustedProxies: values.TRUSTED_PROXIES,
    allowedHosts: values.ALLOWED_HOSTS,
    drainTime: values.DRAIN_TIME,
    logLevel: values.LOG_LEVEL,
    allowedRegistries: values.REGISTRY_ALLOWED_HOSTS,
    organisationStorage: values.ORGANISATION_STORAGE,
    memory: { minimum: values.RUNTIME_XMS, maximum: values.RUNTIME_XMX },
    limits: createLimits(overrides),
    mail: mailSettingsOf(values),
    telemetry: centerTelemetrySettingsOf(values),
    builder: values.BUILDER_COMMAND,
  }
}
