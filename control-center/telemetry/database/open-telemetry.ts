import { join } from 'node:path'
import { Kysely } from 'kysely'
import { type DatabaseSettings, openDatabase } from '../../../base/database/open.ts'
import { TELEMETRY_MIGRATIONS, type TelemetryDatabase, type TelemetryTables, telemetryTables } from './tables.ts'
import { threadDialect } from './thread-dialect.ts'

/** The telemetry database. Reading and writing have separate connections, so reads don't wait for writes. */
export type OpenTelemetryDatabase = {
  readonly writing: TelemetryDatabase
  readonly reading: TelemetryDatabase
  close(): Promise<void>
}

/** The name of the embedded database's file in PLATFORM_HOME, without the extension. */
export const TELEMETRY_FILE = 'telemetry'

/**
 * Opens the database and migrates its schema. An embedded database is a separate file, with one thread for writing and
 * one for reading. On a server, the tables are in the control center's database, with separate connections.
 * @throws the errors of `openDatabase`
 */
export async function openTelemetryDatabase(where: DatabaseSettings): Promise<OpenTelemetryDatabase> {
  if (where.database.kind !== 'embedded') {
    const db = telemetryTables(await openDatabase(where, undefined, [TELEMETRY_MIGRATIONS]))
    return { writing: db, reading: db, close: () => db.destroy() }
  }
  const embedded = { ...where, database: { kind: 'embedded', name: TELEMETRY_FILE } } as const
  await (await openDatabase(embedded, undefined, [TELEMETRY_MIGRATIONS])).destroy()
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
