import { join } from 'node:path'
import { Kysely } from 'kysely'
import { type DatabaseSettings, openDatabase } from '../../../base/database/open.ts'
import { TELEMETRY_SCHEMA, type TelemetryDatabase, type TelemetryTables, telemetryTables } from './tables.ts'
import { threadDialect } from './thread-dialect.ts'

/** The database of telemetry: what reads does not wait for what writes. */
export type OpenTelemetryDatabase = {
  readonly writing: TelemetryDatabase
  readonly reading: TelemetryDatabase
  close(): Promise<void>
}

/** The file of the embedded kind, in PLATFORM_HOME. */
export const TELEMETRY_FILE = 'telemetry'

/**
 * Opens it and brings its schema up to date. Embedded it is a file of its own, each side in a thread; on a server it is in the
 * control center's database, with connections of its own. @throws as `openDatabase`
 */
export async function openTelemetryDatabase(where: DatabaseSettings): Promise<OpenTelemetryDatabase> {
  if (where.database.kind !== 'embedded') {
    const db = telemetryTables(await openDatabase(where, undefined, [TELEMETRY_SCHEMA]))
    return { writing: db, reading: db, close: () => db.destroy() }
  }
  const embedded = { ...where, database: { kind: 'embedded', name: TELEMETRY_FILE } } as const
  await (await openDatabase(embedded, undefined, [TELEMETRY_SCHEMA])).destroy()
  const file = join(where.home, `${TELEMETRY_FILE}.sqlite`)
  const writing = new Kysely<TelemetryTables>({ dialect: threadDialect({ file, readOnly: false }) })
  const reading = new Kysely<TelemetryTables>({ dialect: threadDialect({ file, readOnly: true }) })
  return {
    writing,
    reading,
    async close() {
      await reading.destroy()
      await writing.destroy()
    },
  }
}
