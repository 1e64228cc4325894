import type { Logger } from 'pino'
import { holdHome } from '../base/backup/home-lock.ts'
import { openPlatformKey, type PlatformKey } from '../base/config/platform-key.ts'
import { type Database, openDatabase } from '../base/database/open.ts'
import { publicNames } from '../base/tls/expiry.ts'
import { type HostCertificate, watchCertificate } from '../base/tls/watch-certificate.ts'
import { type AdminAccount, type NewPassword, openAdminAccount } from './access/account.ts'
import type { Settings } from './config/settings.ts'
import { createTelemetry, type Telemetry } from './telemetry/telemetry.ts'
import { watchQueries } from './telemetry/watch.ts'

/** What all other parts of a host stand on. */
export type Platform = {
  readonly telemetry: Telemetry
  /** Settled when telemetry is told: nothing is loaded unless something is. */
  readonly telling: Promise<void>
  /** What it is given is told to a collector too. */
  readonly log: Logger
  /** Null: the host serves no TLS. */
  readonly certificate: HostCertificate | null
  readonly db: Database
  readonly key: PlatformKey
  readonly account: AdminAccount
  /** Null: the admin's password was there before. */
  readonly made: NewPassword | null
}

export type PlatformOptions = {
  readonly settings: Settings
  readonly log: Logger
  readonly version: string
  /** Whether somebody reads the output. */
  readonly terminal: boolean
}

/** @param started gets what must be ended, also when a later part cannot start */
export async function openPlatform(options: PlatformOptions, started: AsyncDisposableStack): Promise<Platform> {
  const { settings, version, terminal } = options
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
  started.defer(() => telemetry.stop())
  // While the rest starts.
  const telling = telemetry.start()
  telling.catch(() => {})
  const db = await openDatabase(settings, watchQueries(telemetry))
  started.defer(() => db.destroy())
  const key = await openPlatformKey(db, home, settings.platformKey)
  const { adminName: name, adminPassword: password } = settings
  const { account, made } = await openAdminAccount(db, { name, password, home, terminal })
  return { telemetry, telling, log, certificate, db, key, account, made }
}
