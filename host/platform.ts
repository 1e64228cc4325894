import type { Logger } from 'pino'
import type { HashCost } from '../base/accounts/passwords.ts'
import { holdHome } from '../base/backup/home-lock.ts'
import { checkHomeVersion, noteHomeVersion } from '../base/backup/home-version.ts'
import { openPlatformKey, type PlatformKey } from '../base/config/platform-key.ts'
import { publicNames } from '../base/tls/expiry.ts'
import { type HostCertificate, watchCertificate } from '../base/tls/watch-certificate.ts'
import { type AdminAccount, type NewPassword, openAdminAccount } from './access/account.ts'
import type { Settings } from './config/settings.ts'
import { openHostDatabase } from './database/open.ts'
import type { HostDatabase } from './database/tables.ts'
import { createTelemetry, type Telemetry } from './telemetry/telemetry.ts'
import { watchQueries } from './telemetry/watch.ts'

/** The parts that all other parts of a host depend on. */
export type Platform = {
  readonly telemetry: Telemetry
  /** Settles when telemetry export has started, or immediately if telemetry is not configured. */
  readonly telemetryStarted: Promise<void>
  /** The platform's log, whose lines are also sent to the telemetry collector. */
  readonly log: Logger
  /** Null if TLS is off. */
  readonly certificate: HostCertificate | null
  readonly db: HostDatabase
  readonly key: PlatformKey
  readonly account: AdminAccount
  /** Null if the admin password already existed. */
  readonly newPassword: NewPassword | null
}

export type PlatformOptions = {
  readonly settings: Settings
  readonly log: Logger
  readonly version: string
  /** Whether the output is a terminal. */
  readonly terminal: boolean
  /** See `HostOptions`. */
  readonly passwordCost?: HashCost | undefined
}

/** @param started collects the cleanup of the started parts, in case a later part fails to start */
export async function openPlatform(options: PlatformOptions, started: AsyncDisposableStack): Promise<Platform> {
  const { settings, version, terminal, passwordCost } = options
  const { limits, home } = settings
  const telemetry = createTelemetry({
    settings: settings.telemetry,
    environment: settings.environment,
    version,
    home,
    bound: limits.TELEMETRY_QUEUE,
    log: options.log,
  })
  const log = telemetry.records.tapPlatform(options.log)
  const names = publicNames(settings)
  const certificate = settings.certificate && watchCertificate(settings.certificate, { log, names })
  if (certificate !== null) started.defer(() => certificate.stop())
  const homeLock = holdHome(home)
  started.defer(() => homeLock.release())
  if (!homeLock.isFirst) {
    log.warn(
      { home },
      'another host or control center uses this PLATFORM_HOME: give each its own (docs/several-nodes.md)',
    )
  }
  const lastVersion = checkHomeVersion(home, version)
  started.defer(() => telemetry.stop())
  // Don't wait for telemetry: the other parts can start in parallel.
  const telemetryStarted = telemetry.start()
  telemetryStarted.catch(() => {})
  const db = await openHostDatabase(settings, watchQueries(telemetry))
  started.defer(() => db.destroy())
  const key = await openPlatformKey(db, home, settings.platformKey)
  const { adminName: name, adminPassword: password } = settings
  const { account, newPassword } = await openAdminAccount(db, { name, password, home, terminal, passwordCost })
  const change = noteHomeVersion(home, version, lastVersion)
  if (change !== null) log.info(change)
  return { telemetry, telemetryStarted, log, certificate, db, key, account, newPassword }
}
