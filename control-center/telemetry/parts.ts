import type { Logger } from 'pino'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import type { CenterDatabase } from '../database/tables.ts'
import { openTelemetry, type Telemetry } from './telemetry.ts'
import type { CenterTelemetrySettings } from './telemetry-settings.ts'

/** Opens the telemetry of all environments in the control center's database. @throws the errors of `openDatabase` */
export function openCenterTelemetry(
  db: CenterDatabase,
  settings: Pick<ServiceSettings, 'home' | 'database' | 'databaseServers' | 'limits'> & {
    readonly telemetry: CenterTelemetrySettings
  },
  log: Logger,
): Promise<Telemetry> {
  return openTelemetry({
    where: settings,
    settings: settings.telemetry,
    queue: settings.limits.TELEMETRY_QUEUE,
    log,
    async originOf({ organisation, name }) {
      const row = await db.selectFrom('organisations').select('name').where('id', '=', organisation).executeTakeFirst()
      return { organisation: row?.name ?? '', environment: name }
    },
    async environments() {
      const rows = await db.selectFrom('environments').select('id').execute()
      return rows.map(({ id }) => id)
    },
  })
}
