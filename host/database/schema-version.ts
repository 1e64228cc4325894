import type { Kysely } from 'kysely'
import { DEFAULT_MIGRATION_TABLE } from 'kysely/migration'
import { PlatformError } from '../../runtime/errors.ts'
import { SCHEMA_VERSIONS } from './migrations.ts'
import type { Database } from './open.ts'

type MigrationTable = { [DEFAULT_MIGRATION_TABLE]: { name: string } }

/** The versions of the schema that a database went through, in order; none where it has no tables of the platform. */
export async function readSchema(db: Database): Promise<readonly string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some(({ name }) => name === DEFAULT_MIGRATION_TABLE)) return []
  const migrations = (db as unknown as Kysely<MigrationTable>).selectFrom(DEFAULT_MIGRATION_TABLE)
  return (await migrations.select('name').execute()).map(({ name }) => name).sort()
}

/**
 * @param what the beginning of the sentence, such as `The database "platform" of …`
 * @throws ERR_DATABASE_VERSION when a newer version of the platform made the schema
 */
export function refuseNewerSchema(applied: readonly string[], what: string): void {
  const newer = applied.filter((name) => !SCHEMA_VERSIONS.includes(name)).at(-1)
  if (newer === undefined) return
  throw new PlatformError(
    'ERR_DATABASE_VERSION',
    `${what} was written by a newer version of Solhost: its schema is "${newer}", and this version knows those up to ` +
      `"${SCHEMA_VERSIONS.at(-1)}". Start that newer version again, or restore a backup that was made before the upgrade.`,
  )
}
