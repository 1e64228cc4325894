import { type Kysely, sql } from 'kysely'
import { PlatformError } from '../../runtime/errors.ts'
import { type Migrations, PLATFORM_MIGRATIONS } from './migrations.ts'
import type { Tables } from './tables.ts'

/** Returns the schema versions that were applied to a database, in order. Empty if it has no platform tables. */
export async function readSchema(
  db: Kysely<Tables>,
  { migrationTableName }: Migrations = PLATFORM_MIGRATIONS,
): Promise<readonly string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some(({ name }) => name === migrationTableName)) return []
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(migrationTableName)}`.execute(db)
  return rows.map(({ name }) => name).sort()
}

/**
 * @param what the beginning of the error message, such as `The database "platform" of …`
 * @throws ERR_DATABASE_VERSION if a newer version of the platform created the schema
 */
export function refuseNewerSchema(applied: readonly string[], what: string, { versions } = PLATFORM_MIGRATIONS): void {
  const known = Object.keys(versions)
  const newer = applied.filter((name) => !known.includes(name)).at(-1)
  if (newer === undefined) return
  throw new PlatformError(
    'ERR_DATABASE_VERSION',
    `${what} was written by a newer version of Solhost (schema version "${newer}"). This version supports schema versions ` +
      `up to "${known.at(-1)}". Start the newer version again, or restore a backup from before the upgrade.`,
  )
}
